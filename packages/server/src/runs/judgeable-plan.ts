import type { Plan } from '@countersign/engine'
import type {
  AggregateBound,
  CompiledContract,
  CompiledSession,
  Condition,
  Invariant,
  UnjudgedRule,
} from '@countersign/protocol'

/** What a captured conversation says beside its calls. */
export interface Recorded {
  /** Where every argument was seen before, of every call. */
  readonly flows: boolean
}

export interface JudgeablePlan {
  /** The plan without the rules that could only say that something was not recorded. */
  readonly compiled: CompiledSession
  /** By tool: the kinds of rules that were left out. */
  readonly unjudged: ReadonlyMap<string, readonly UnjudgedRule[]>
}

/**
 * The part of a plan that captured conversations can be judged by. They hold no results, no principal and no request: a
 * rule that reads one of these says nothing about them. A ref can still be judged where the flows are complete: they say
 * which argument was what a result had said last (`pastResults`).
 */
export function judgeablePlan(plan: CompiledSession, recorded: Recorded): JudgeablePlan {
  // Flows say what a result had said last, not for which key.
  const isTraced = ({ path, key }: Bind) => recorded.flows && key === undefined && isPlainPath(path)
  const bound = namesFrom(plan.contracts, 'binds', (bind) => !isTraced(bind))
  const established = namesFrom(plan.contracts, 'establishes', () => true)
  const fromResults = namesFrom(plan.contracts, 'binds', () => true)
  const unjudged = new Map<string, readonly UnjudgedRule[]>()
  const contracts = plan.contracts.map((contract) => {
    const cut = cutContract(contract, { bound, established, fromResults, recorded })
    const kinds: UnjudgedRule[] = [
      ...cut.kinds,
      ...(plan.session.policy === undefined ? [] : (['policy'] as const)),
      ...(plan.session.hours === undefined ? [] : (['hours'] as const)),
      ...(countsTogether(plan, contract.tool) ? (['shared_limits'] as const) : []),
    ]
    if (kinds.length > 0) unjudged.set(contract.tool, [...new Set(kinds)])
    return cut.contract
  })
  // It is unknown when the calls were made, so hours say nothing.
  const { policy: _, shared_limits: __, hours: ___, ...session } = plan.session
  return { compiled: { ...plan, session, contracts }, unjudged }
}

/** What other sessions have used of a limit is not recorded with this one. */
const countsTogether = ({ session }: CompiledSession, name: string): boolean =>
  (session.shared_limits ?? []).some(({ tool, cost }) => cost === undefined && (tool === undefined || tool === name))

/** Fixtures hold what their author wrote down: no request, and no time. */
export function requestRules({ contracts, hours, shared }: Plan): JudgeablePlan['unjudged'] {
  const unjudged = new Map<string, UnjudgedRule[]>()
  for (const [tool, contract] of contracts) {
    const kinds: UnjudgedRule[] = contract.inputInvariants.length > 0 ? ['input_invariants'] : []
    if (hours.length + contract.hours.length > 0) kinds.push('hours')
    if ((shared?.of(tool).length ?? 0) > 0) kinds.push('shared_limits')
    if (kinds.length > 0) unjudged.set(tool, kinds)
  }
  return unjudged
}

/** A path that flows name as it is: results with lists in between have many values there. */
export const isPlainPath = (path: string): boolean => /^\$(\.[A-Za-z_]\w*)*$/.test(path)

type Bind = NonNullable<CompiledContract['binds']>[number]

/** Names that contracts take from outputs which were not recorded. */
function namesFrom(
  contracts: readonly CompiledContract[],
  key: 'binds' | 'establishes',
  isUnknown: (bind: Bind) => boolean,
): ReadonlySet<string> {
  const binds = contracts.flatMap((contract) => contract[key] ?? [])
  return new Set(binds.filter((bind) => bind.from === 'output' && isUnknown(bind)).map(({ name }) => name))
}

interface Cut {
  readonly bound: ReadonlySet<string>
  readonly established: ReadonlySet<string>
  /** Bindings whose values are not known, even where it is known what equals them. */
  readonly fromResults: ReadonlySet<string>
  readonly recorded: Recorded
}

function cutContract(
  given: CompiledContract,
  { bound, established, fromResults, recorded }: Cut,
): { contract: CompiledContract; kinds: UnjudgedRule[] } {
  const contract: CompiledContract = structuredClone(given)
  const kinds: UnjudgedRule[] = []
  const keep = <T>(list: readonly T[] | undefined, wanted: (item: T) => boolean, kind: UnjudgedRule | null): T[] => {
    const left = (list ?? []).filter(wanted)
    if (kind !== null && left.length < (list?.length ?? 0)) kinds.push(kind)
    return left
  }
  const isTold = (rule: object | string): boolean => {
    const { when = [] } = rule as { readonly when?: readonly Condition[] }
    return when.every(
      ({ principal, bound: name }) => principal === undefined && !(name !== undefined && fromResults.has(name)),
    )
  }
  /** Without the rules whose conditions read what was not recorded. */
  const told = <T extends object | string>(list: readonly T[] | undefined): T[] => keep(list, isTold, 'conditions')
  const withoutRefs = <T extends Invariant>(list: readonly T[] | undefined): T[] =>
    (list ?? []).flatMap((invariant) => {
      if (invariant.ref === undefined || !bound.has(invariant.ref)) return [invariant]
      kinds.push('refs')
      const { ref: _, path, message: __, ...operators } = invariant
      const isEmpty = Object.keys(operators).every((key) => key === 'when')
      return isEmpty ? [] : [{ path, ...operators } as T]
    })
  contract.refs = keep(told(contract.refs), ({ ref }) => !bound.has(ref), 'refs')
  contract.binds = keep(contract.binds, ({ name }) => !bound.has(name), null)
  contract.envelopes = keep(told(contract.envelopes), ({ name }) => !established.has(name), 'envelopes')
  const isUnknown = (limit: AggregateBound | undefined) => typeof limit === 'object' && established.has(limit.ref)
  contract.aggregates = keep(told(contract.aggregates), ({ lte, lt }) => !isUnknown(lte) && !isUnknown(lt), 'envelopes')
  contract.establishes = keep(contract.establishes, ({ name }) => !established.has(name), null)
  contract.argument_value_invariants = withoutRefs(told(contract.argument_value_invariants))
  if (contract.assertions !== undefined) {
    const { input_invariants, output_invariants } = contract.assertions
    if (input_invariants !== undefined && input_invariants.length > 0) kinds.push('input_invariants')
    contract.assertions = { output_invariants: withoutRefs(output_invariants) }
  }
  contract.preconditions = told(contract.preconditions).map((precondition) => {
    if (!('requires_prior_tool' in precondition) || precondition.with_output === undefined) return precondition
    kinds.push('with_output')
    const { with_output: _, ...rest } = precondition
    return rest
  })
  if (contract.policy !== undefined) kinds.push('policy')
  if (contract.hours !== undefined) kinds.push('hours')
  delete contract.hours
  delete contract.policy
  contract.sources = told(contract.sources)
  contract.checkpoint = told([contract.checkpoint ?? []].flat())
  if (contract.checkpoint.length === 0) delete contract.checkpoint
  if (contract.labels !== undefined) {
    const { deny_when, adds } = contract.labels
    contract.labels = { deny_when: told(deny_when), adds: told(adds) }
  }
  if (!recorded.flows) contract.sources = keep(contract.sources, () => false, 'sources')
  return { contract, kinds }
}
