import type { JsonObject, JsonValue } from '@countersign/protocol'
import type { PreparedContract, SlotUse } from '../../contract/plan.js'
import type { PreparedSource } from '../../contract/source-rule.js'
import {
  answerOf,
  appliesSurely,
  type Conditional,
  type PreparedCondition,
  type Scene,
} from '../../contract/when/condition.js'
import type { CompiledPath } from '../../json/json-path.js'
import { lookUp } from '../../json/look-up.js'
import type { SessionState } from '../../state/state.js'
import type { Tally } from '../../state/tally.js'
import { slotOfKey } from './call-keys.js'

/** What a scene is made of. */
export interface Situation {
  readonly state: SessionState
  readonly tally: Tally
  readonly principal: JsonValue | undefined
  /** Null: bound values cannot be compared here. */
  readonly salt: string | null
}

/** `args` is null where they are not known yet, or could not be read. */
export const sceneOf = ({ state, tally, principal, salt }: Situation, args: JsonObject | null): Scene => ({
  arguments: args ?? undefined,
  principal,
  salt: salt ?? '',
  hasLabel: (name) => state.labels.includes(name) || (tally.labels.has(name) ? 'unknown' : false),
  boundTo(name, key) {
    if (salt === null) return null
    if (key === null) return lookUp(state.bindings, name)
    const slot = args === null ? null : slotOfKey(name, key.first(args), salt)
    return slot === null ? null : lookUp(state.bindings, slot)
  },
})

/** Chooses among rules those that apply. */
export type Choose = <Rule extends Conditional>(rules: readonly Rule[]) => readonly Rule[]

/** Those that do not surely fail to apply, with why where that cannot be told. */
export const unlessFailing =
  (scene: Scene): Choose =>
  (rules) =>
    chosen(rules, (rule) => withReason(rule, scene))

/** Those that surely apply, whatever the arguments of a call are. */
export const ifSure =
  (scene: Scene): Choose =>
  (rules) =>
    chosen(rules, (rule) => (appliesSurely(rule, scene) ? rule : null))

/** The same list where nothing changes, so that most contracts stay as they are. */
function chosen<Rule extends Conditional>(
  rules: readonly Rule[],
  choose: (rule: Rule) => Rule | null,
): readonly Rule[] {
  let kept: Rule[] | null = null
  for (let at = 0; at < rules.length; at++) {
    const rule = rules[at] as Rule
    const own = rule.when.length === 0 ? rule : choose(rule)
    if (own !== rule) kept ??= rules.slice(0, at)
    if (kept !== null && own !== null) kept.push(own)
  }
  return kept ?? rules
}

/** A contract with the rules that apply to one call. What they count or demand only they count and demand. */
export function applicable(contract: PreparedContract, choose: Choose): PreparedContract {
  if (!contract.isConditional) return contract
  const refs = choose(contract.refs)
  const envelopes = choose(contract.envelopes)
  const aggregates = choose(contract.aggregates)
  const preconditions = choose(contract.preconditions)
  const argumentInvariants = choose(contract.argumentInvariants)
  const sources = judging(contract.sources, choose)
  const denials = choose(contract.denials)
  const addsLabels = choose(contract.addsLabels)
  const hours = choose(contract.hours)
  const others = { preconditions, argumentInvariants, sources, denials, addsLabels, hours }
  const isKept = refs === contract.refs && envelopes === contract.envelopes && aggregates === contract.aggregates
  if (isKept && NAMES.every((name) => others[name] === contract[name])) return contract
  if (isKept) return { ...contract, ...others }
  const bounds = aggregates.flatMap((aggregate) => aggregate.bounds.flatMap(({ ref }) => ref ?? []))
  const { binds, establishes } = contract
  const ofArguments = [...binds, ...establishes].filter(({ rows }) => rows === null)
  const keyed: readonly SlotUse[] = [...refs, ...envelopes, ...aggregates, ...bounds, ...ofArguments]
  const expressions = new Set(keyed.flatMap(({ key }) => key?.expression ?? []))
  const counted = new Set(aggregates.map(({ name }) => name))
  return {
    ...contract,
    refs,
    envelopes,
    aggregates,
    keys: contract.keys.filter(({ expression }) => expressions.has(expression)),
    keeps: contract.keeps.filter(({ kind, name }) => kind !== 'aggregates' || counted.has(name)),
    ...others,
  }
}

/** Lists of rules that neither keys nor what is counted depend on. */
const NAMES = ['preconditions', 'argumentInvariants', 'sources', 'denials', 'addsLabels', 'hours'] as const

/** A source rule that does not apply keeps its values: another that covers them too was not meant for them. */
function judging(sources: readonly PreparedSource[], choose: Choose): readonly PreparedSource[] {
  if (choose(sources) === sources) return sources
  return sources.map((source) => choose([source])[0] ?? { ...source, isIdle: true })
}

/** Null: the rule does not apply. With what could not be told, where something could not. */
function withReason<Rule extends Conditional>(rule: Rule, scene: Scene): Rule | null {
  let isTold = true
  for (const condition of rule.when) {
    const answer = answerOf(condition, scene)
    if (answer === 'fails') return null
    if (answer === 'unknown') isTold = false
  }
  if (isTold) return rule
  const unknown = rule.when.filter((condition) => answerOf(condition, scene) === 'unknown')
  return { ...rule, because: unknown.map((condition) => missingWords(condition, scene)).join(' and ') }
}

function missingWords(condition: PreparedCondition, scene: Scene): string {
  if (condition.subject === 'label') return `an earlier call of this response may add the label "${condition.label}"`
  if (condition.subject === 'bound') {
    const { name, key } = condition
    const forKey = key === null ? '' : ` for this ${key.expression}`
    return scene.boundTo(name, key) === undefined
      ? `"${name}" is not bound yet${forKey}`
      : `"${name}" cannot be compared${forKey}`
  }
  const { subject, path } = condition
  const value = subject === 'path' ? scene.arguments : scene.principal
  const name = subject === 'path' ? path.expression : `the principal's ${path.expression}`
  return isFound(path, value) ? `${name} is of another type` : `${name} is missing`
}

const isFound = (path: CompiledPath, value: JsonValue | undefined): boolean =>
  value !== undefined && path.first(value) !== undefined
