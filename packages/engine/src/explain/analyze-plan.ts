import type { CompiledContract, CompiledSession } from '@countersign/protocol'

/** A rule that cannot do what it seems to do, or less than it seems, given the other rules of the plan. */
export interface PlanRemark {
  readonly tool: string | null
  readonly code: string
  readonly message: string
}

/** Finds rules that never fire, contradict each other or open too easily, beyond what compilation refuses or warns about. */
export function analyzePlan(plan: CompiledSession): PlanRemark[] {
  const byTool = new Map(plan.contracts.map((contract) => [contract.tool, contract]))
  const remarks = plan.contracts.flatMap((contract) => CHECKS.flatMap((check) => check(contract, byTool, plan)))
  return remarks.sort(
    (a, b) => compare(a.tool ?? '', b.tool ?? '') || compare(a.code, b.code) || compare(a.message, b.message),
  )
}

type Check = (
  contract: CompiledContract,
  byTool: ReadonlyMap<string, CompiledContract>,
  plan: CompiledSession,
) => PlanRemark[]

const neverCallable = (tool: string, why: string): PlanRemark => ({
  tool,
  code: 'never_callable',
  message: `${tool} can never be called: ${why}`,
})

/** Tools that must have been called before, directly or through others. */
function neededBy(contract: CompiledContract, byTool: ReadonlyMap<string, CompiledContract>): Set<string> {
  const needed = new Set<string>()
  const waiting = [contract]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const precondition of next.preconditions ?? []) {
      if (!('requires_prior_tool' in precondition) || needed.has(precondition.requires_prior_tool)) continue
      needed.add(precondition.requires_prior_tool)
      const other = byTool.get(precondition.requires_prior_tool)
      if (other !== undefined) waiting.push(other)
    }
  }
  return needed
}

const needsWhatIsBlocked: Check = (contract, byTool) =>
  [...neededBy(contract, byTool)]
    .filter((tool) => byTool.get(tool)?.gate === 'block')
    .map((tool) => neverCallable(contract.tool, `it requires a call of ${tool}, which is gated`))

/** Compilation warns about the direct case. */
const forbiddenByWhatItNeeds: Check = (contract, byTool) =>
  [...neededBy(contract, byTool)]
    .filter(
      (tool) =>
        !contract.preconditions?.some((item) => 'requires_prior_tool' in item && item.requires_prior_tool === tool),
    )
    .filter((tool) => byTool.get(tool)?.forbids_after?.includes(contract.tool))
    .map((tool) => neverCallable(contract.tool, `it requires a call of ${tool}, after which it is forbidden`))

const deniedByWhatItNeeds: Check = (contract, byTool) =>
  [...neededBy(contract, byTool)].flatMap((tool) => {
    const added = byTool.get(tool)?.labels?.adds ?? []
    const label = contract.labels?.deny_when?.find((name) => added.includes(name))
    if (label === undefined) return []
    return [neverCallable(contract.tool, `it requires a call of ${tool}, which adds the label ${label} that denies it`)]
  })

const boundByWhatNeedsIt: Check = (contract, byTool) =>
  (contract.refs ?? []).flatMap(({ ref }) => {
    const binders = [...byTool.values()].filter(({ binds }) => binds?.some(({ name }) => name === ref))
    const stuck = binders.length > 0 && binders.every((binder) => neededBy(binder, byTool).has(contract.tool))
    return stuck
      ? [neverCallable(contract.tool, `the binding ${ref} is only set by calls that require this one first`)]
      : []
  })

const limitedToNothing: Check = ({ tool }, _, { session }) =>
  session.session_limits?.max_calls_per_tool?.[tool] === 0 ? [neverCallable(tool, 'max_calls_per_tool is 0')] : []

const rulesBehindAGate: Check = (contract) => {
  const rules = ['arguments', 'sources', 'preconditions', 'aggregates', 'envelopes', 'checkpoint', 'refs'] as const
  const idle = rules.filter((rule) => contract[rule] !== undefined)
  if (contract.gate !== 'block' || idle.length === 0) return []
  const message = `${contract.tool} is gated, so its ${idle.join(', ')} can never decide anything`
  return [{ tool: contract.tool, code: 'never_fires', message }]
}

/** If a closed schema lacks the field, a rule about it never applies. */
const rulesOnAbsentFields: Check = (contract) => {
  const schema = typeof contract.arguments === 'object' ? contract.arguments : {}
  if (schema.additionalProperties !== false || typeof schema.properties !== 'object') return []
  const fields = new Set(Object.keys(schema.properties ?? {}))
  const paths = [
    ...(contract.sources ?? []),
    ...(contract.refs ?? []),
    ...(contract.argument_value_invariants ?? []),
    ...(contract.aggregates ?? []),
    ...(contract.envelopes ?? []),
  ].flatMap(({ path }) => (path === undefined ? [] : [path]))
  const kept = [contract.binds, contract.establishes, contract.refs, contract.envelopes, contract.aggregates]
  paths.push(...kept.flatMap((list) => (list ?? []).flatMap(({ key }) => (key === undefined ? [] : [key]))))
  return [...new Set(paths)].flatMap((path) => {
    const field = /^\$\.([A-Za-z_]\w*)/.exec(path)?.[1]
    if (field === undefined || fields.has(field)) return []
    const message = `a rule of ${contract.tool} reads ${path}, which its arguments schema does not allow`
    return [{ tool: contract.tool, code: 'never_fires', message }]
  })
}

/** A sum that is kept per key starts anew with another spelling of the key. */
const keyedSums: Check = (contract) =>
  (contract.aggregates ?? []).flatMap(({ name, key, lte, lt }) => {
    if (key === undefined || typeof lte === 'object' || typeof lt === 'object') return []
    if (isPinned(contract, key)) return []
    const message =
      `"${name}" of ${contract.tool} starts anew with every way to write ${key}: ` +
      `bound its form with a pattern or list, or compare it with \`refs\``
    return [{ tool: contract.tool, code: 'key_not_bounded', message }]
  })

/** True if something other than the sum bounds what the key may be. */
function isPinned(
  { arguments: schema, refs, sources, argument_value_invariants: rules }: CompiledContract,
  key: string,
) {
  const field = /^\$\.([A-Za-z_]\w*)$/.exec(key)?.[1]
  const properties = typeof schema === 'object' ? schema.properties : undefined
  const described =
    field !== undefined && typeof properties === 'object' && properties !== null && !Array.isArray(properties)
      ? properties[field]
      : undefined
  const isTyped =
    typeof described === 'object' &&
    described !== null &&
    !Array.isArray(described) &&
    ['pattern', 'enum', 'const'].some((word) => described[word] !== undefined)
  const names = (list: readonly { readonly path: string }[] | undefined) =>
    (list ?? []).some(({ path }) => path === key)
  const compared = (rules ?? []).filter(({ regex, one_of, equals }) => (regex ?? one_of ?? equals) !== undefined)
  return isTyped || names(refs) || names(sources) || names(compared)
}

/** The program's word opens the tool: an error that it reports as a result would do. */
const opensOnReport: Check = (contract, byTool) =>
  (contract.preconditions ?? []).flatMap((precondition) => {
    if (!('requires_prior_tool' in precondition)) return []
    const prior = precondition.requires_prior_tool
    if (byTool.get(prior)?.commit_requirement !== 'reported') return []
    const message =
      `${contract.tool} requires a call of ${prior}, and a result that the program reports is enough for that: ` +
      `wrap ${prior} in the option tools, or set commit_requirement: executed in its contract`
    return [{ tool: contract.tool, code: 'opens_on_report', message }]
  })

const CHECKS: readonly Check[] = [
  needsWhatIsBlocked,
  forbiddenByWhatItNeeds,
  deniedByWhatItNeeds,
  boundByWhatNeedsIt,
  limitedToNothing,
  rulesBehindAGate,
  rulesOnAbsentFields,
  keyedSums,
  opensOnReport,
]

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
