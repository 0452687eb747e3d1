import type { CompiledContract, CompiledSession, LabelRule } from '@countersign/protocol'
import { CONDITION_CHECKS } from './condition-remarks.js'
import type { PlanRemark } from './plan-remark.js'
import { NumberSet, reachOf } from './reach.js'

/** Finds rules that never fire, contradict each other or open too easily, beyond what compilation refuses or warns about. */
export function analyzePlan(plan: CompiledSession): PlanRemark[] {
  const around = aroundOf(plan)
  const remarks = plan.contracts.map((contract) => CHECKS.flatMap((check) => check(contract, around)))
  for (const ofOne of remarks) ofOne.sort((a, b) => compare(a.code, b.code) || compare(a.message, b.message))
  return remarks.flat().sort((a, b) => compare(a.tool ?? '', b.tool ?? ''))
}

/** What the checks of one contract look up about all of them. Tools go by their number, in the order of their names. */
interface Around {
  readonly session: CompiledSession['session']
  readonly byTool: ReadonlyMap<string, CompiledContract>
  readonly tools: readonly string[]
  readonly numberOf: ReadonlyMap<string, number>
  /** By number: the tools that must have been called before, directly or through others. */
  readonly neededBy: readonly NumberSet[]
  readonly gated: NumberSet
  setOf(tools: Iterable<string>): NumberSet
  /** By tool: the tools after which it is forbidden. */
  readonly forbiddenBy: ReadonlyMap<string, ReadonlySet<string>>
  /** By label, of those that deny a tool: the tools that add it. */
  readonly addersOf: ReadonlyMap<string, NumberSet>
  /** By binding, of those that are compared with: the tools without which no call sets it. */
  readonly neededToBind: ReadonlyMap<string, NumberSet>
}

function aroundOf({ session, contracts }: CompiledSession): Around {
  const byTool = new Map(contracts.map((contract) => [contract.tool, contract]))
  const tools = [...byTool.keys()].sort()
  const numberOf = new Map(tools.map((tool, at) => [tool, at]))
  const numbers = (names: Iterable<string>) => [...names].flatMap((name) => numberOf.get(name) ?? [])
  const all = tools.map((tool) => byTool.get(tool) as CompiledContract)
  const neededBy = reachOf(all.map((contract) => numbers(requiredBy(contract))))
  const forbiddenBy = grouped(all.flatMap(({ tool, forbids_after = [] }) => forbids_after.map((name) => [name, tool])))
  const denying = new Set(all.flatMap(({ labels }) => alwaysIn(labels?.deny_when)))
  const adders = grouped(
    all.flatMap(({ tool, labels }) =>
      alwaysIn(labels?.adds).flatMap((name) => (denying.has(name) ? [[name, tool]] : [])),
    ),
  )
  const compared = new Set(all.flatMap(({ refs }) => (refs ?? []).map(({ ref }) => ref)))
  const binders = grouped(
    all.flatMap(({ tool, binds }) => (binds ?? []).flatMap(({ name }) => (compared.has(name) ? [[name, tool]] : []))),
  )
  const setOf = (names: Iterable<string>) => NumberSet.of(tools.length, numbers(names))
  return {
    session,
    byTool,
    tools,
    numberOf,
    neededBy,
    setOf,
    gated: setOf(tools.filter((tool) => byTool.get(tool)?.gate === 'block')),
    forbiddenBy,
    addersOf: new Map([...adders].map(([label, names]) => [label, setOf(names)])),
    neededToBind: new Map([...binders].map(([name, binding]) => [name, neededByAll(numbers(binding), neededBy)])),
  }
}

const requiredBy = ({ preconditions = [] }: CompiledContract): Set<string> =>
  new Set(
    preconditions
      .filter(isUnconditional)
      .flatMap((item) => ('requires_prior_tool' in item ? [item.requires_prior_tool] : [])),
  )

/** Only rules that always apply make a tool uncallable. */
const isUnconditional = ({ when }: { readonly when?: readonly unknown[] | undefined }): boolean => when === undefined

const alwaysIn = (list: readonly LabelRule[] = []): string[] =>
  list.flatMap((item) => (typeof item === 'string' ? [item] : []))

function grouped(entries: readonly (readonly string[])[]): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>()
  for (const [name = '', item = ''] of entries) groups.set(name, (groups.get(name) ?? new Set()).add(item))
  return groups
}

function neededByAll(tools: readonly number[], neededBy: readonly NumberSet[]): NumberSet {
  const needed = NumberSet.below(neededBy.length)
  tools.forEach((tool, at) => {
    const own = neededBy[tool] as NumberSet
    if (at === 0) needed.addAll(own)
    else needed.keepOnly(own)
  })
  return needed
}

type Check = (contract: CompiledContract, around: Around) => PlanRemark[]

const neverCallable = (tool: string, why: string): PlanRemark => ({
  tool,
  code: 'never_callable',
  message: `${tool} can never be called: ${why}`,
})

/** Of the tools that make one tool uncallable for one reason, so many are named: the first by name. */
const MOST_NAMED = 5

/** A remark for each tool that the contract needs and that is in the set. */
function neededAmong(
  { tool }: CompiledContract,
  { tools, numberOf, neededBy }: Around,
  among: NumberSet,
  words: { why(needed: string): string; others: string },
): PlanRemark[] {
  const found = neededBy[numberOf.get(tool) as number]?.common(among, MOST_NAMED + 1) ?? []
  const named = found.slice(0, MOST_NAMED).map((at) => neverCallable(tool, words.why(tools[at] as string)))
  return found.length <= MOST_NAMED ? named : [...named, neverCallable(tool, words.others)]
}

const needsWhatIsBlocked: Check = (contract, around) =>
  neededAmong(contract, around, around.gated, {
    why: (needed) => `it requires a call of ${needed}, which is gated`,
    others: 'it requires calls of other tools that are gated',
  })

/** Compilation warns about the direct case. */
const forbiddenByWhatItNeeds: Check = (contract, around) => {
  const direct = requiredBy(contract)
  const forbidding = [...(around.forbiddenBy.get(contract.tool) ?? [])].filter((tool) => !direct.has(tool))
  if (forbidding.length === 0) return []
  return neededAmong(contract, around, around.setOf(forbidding), {
    why: (needed) => `it requires a call of ${needed}, after which it is forbidden`,
    others: 'it requires calls of other tools after which it is forbidden',
  })
}

const deniedByWhatItNeeds: Check = (contract, around) => {
  const added = alwaysIn(contract.labels?.deny_when).flatMap((label) => {
    const tools = around.addersOf.get(label)
    return tools === undefined ? [] : [{ label, tools }]
  })
  if (added.length === 0) return []
  const adders = NumberSet.below(around.tools.length)
  for (const { tools } of added) adders.addAll(tools)
  return neededAmong(contract, around, adders, {
    why: (needed) => {
      const number = around.numberOf.get(needed) as number
      const label = added.find(({ tools }) => tools.has(number))?.label
      return `it requires a call of ${needed}, which adds the label ${label} that denies it`
    },
    others: 'it requires calls of other tools that add labels that deny it',
  })
}

const boundByWhatNeedsIt: Check = (contract, { numberOf, neededToBind }) =>
  (contract.refs ?? [])
    .filter(isUnconditional)
    .flatMap(({ ref }) =>
      neededToBind.get(ref)?.has(numberOf.get(contract.tool) as number) === true
        ? [neverCallable(contract.tool, `the binding ${ref} is only set by calls that require this one first`)]
        : [],
    )

const limitedToNothing: Check = ({ tool }, { session }) =>
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
  const ofArguments = [...(contract.binds ?? []), ...(contract.establishes ?? [])].filter(
    ({ each }) => each === undefined,
  )
  const kept = [ofArguments, contract.refs, contract.envelopes, contract.aggregates]
  paths.push(...kept.flatMap((list) => (list ?? []).flatMap(({ key }) => (key === undefined ? [] : [key]))))
  return [...new Set(paths)].flatMap((path) => {
    const field = /^\$\.([A-Za-z_]\w*)/.exec(path)?.[1]
    if (field === undefined || fields.has(field)) return []
    const message = `a rule of ${contract.tool} reads ${path}, which its arguments schema does not allow`
    return [{ tool: contract.tool, code: 'never_fires', message }]
  })
}

/** A sum that is kept per key starts anew with another spelling of the key. */
const keyedSums: Check = (contract) => {
  const keyed = (contract.aggregates ?? []).filter(({ lte, lt }) => typeof lte !== 'object' && typeof lt !== 'object')
  if (keyed.length === 0) return []
  const isPinned = pinnedIn(contract)
  return keyed.flatMap(({ name, key }) => {
    if (key === undefined || isPinned(key)) return []
    const message =
      `"${name}" of ${contract.tool} starts anew with every way to write ${key}: ` +
      `bound its form with a pattern or list, or compare it with \`refs\``
    return [{ tool: contract.tool, code: 'key_not_bounded', message }]
  })
}

/** Whether something other than a sum bounds what its key may be. */
function pinnedIn({ arguments: schema, refs, sources, argument_value_invariants: rules }: CompiledContract) {
  const compared = (rules ?? []).filter(({ regex, one_of, equals }) => (regex ?? one_of ?? equals) !== undefined)
  const paths = new Set([...(refs ?? []), ...(sources ?? []), ...compared].map(({ path }) => path))
  const properties = typeof schema === 'object' ? schema.properties : undefined
  return (key: string): boolean => {
    if (paths.has(key)) return true
    const field = /^\$\.([A-Za-z_]\w*)$/.exec(key)?.[1]
    const described =
      field !== undefined && typeof properties === 'object' && properties !== null && !Array.isArray(properties)
        ? properties[field]
        : undefined
    return (
      typeof described === 'object' &&
      described !== null &&
      !Array.isArray(described) &&
      ['pattern', 'enum', 'const'].some((word) => described[word] !== undefined)
    )
  }
}

/** The program's word opens the tool: an error that it reports as a result would do. */
const opensOnReport: Check = (contract, { byTool }) =>
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
  ...CONDITION_CHECKS,
]

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
