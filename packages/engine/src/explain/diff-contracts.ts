import {
  type ArgumentRule,
  type CompiledContract,
  type CompiledSession,
  type Contract,
  type LabelRule,
  labelOf,
} from '@countersign/protocol'
import {
  compareAggregates,
  compareCheckpoints,
  compareEnvelopes,
  comparePreconditions,
  compareResources,
  type RuleOf,
} from './compare-rules.js'
import { bare, compareConditional } from './compare-when.js'
import type { Comparison } from './comparison.js'
import { describePart, type Part } from './describe-contract.js'
import { diffArguments } from './diff-arguments.js'
import { diffColumns, diffSurprise } from './diff-learned.js'
import { diffSources } from './diff-sources.js'
import { EFFECT_OF, namesApart, type PlanChange, pairs, type Say } from './plan-change.js'
import { compareConditions, type Strength, same } from './rule-strength.js'

type Risks = NonNullable<CompiledSession['session']['risk_defaults']>

/** What changes for one tool that has a contract before and after. */
export function diffContracts(
  was: CompiledContract,
  is: CompiledContract,
  risks: { readonly was: Risks; readonly is: Risks },
  comparison: Comparison,
): PlanChange[] {
  const { tool } = is
  const say: Say = (effect, text) => ({ tool, effect, text: `${tool}: ${text}` })
  const bounds = (part: Part, before: readonly ArgumentRule[] = [], after: readonly ArgumentRule[] = []) =>
    diffBounds(before, after, (list) => wordsOf(part, nest(part, list)), { say, comparison })
  return [
    ...diffRisk(riskOf(was, risks.was), riskOf(is, risks.is), say),
    ...diffArguments(was.arguments, is.arguments, say, comparison),
    ...diffSources(was.sources ?? [], is.sources ?? [], say, comparison),
    ...diffColumns(was.columns, is.columns, say),
    ...diffSurprise(was.surprise, is.surprise, say),
    ...RULES.flatMap((list) => diffRules(was, is, list, { say, comparison })),
    ...bounds('argument_value_invariants', was.argument_value_invariants, is.argument_value_invariants),
    ...bounds(
      'execution_constraints.arguments',
      was.execution_constraints?.arguments,
      is.execution_constraints?.arguments,
    ),
    ...bounds('assertions.input_invariants', was.assertions?.input_invariants, is.assertions?.input_invariants),
    ...bounds('assertions.output_invariants', was.assertions?.output_invariants, is.assertions?.output_invariants),
    ...diffEvidence(was, is, say),
    ...diffNames('phase', 'allowed in', was.transitions?.valid_in_phases, is.transitions?.valid_in_phases, say),
    ...diffDenials(was.labels?.deny_when ?? [], is.labels?.deny_when ?? [], { say, comparison }),
    ...diffPolicy(was.policy, is.policy, say),
    ...diffHours(was.hours, is.hours, { say, comparison }),
    ...diffOthers(was, is, say),
  ]
}

/** Rules of one part of a contract in words, without a full stop at the end. */
function wordsOf(part: Part, rules: Partial<Contract>): string {
  const words = describePart(part, rules).join(' ')
  return words.endsWith('.') ? words.slice(0, -1) : words
}

const nest = (part: Part, value: unknown): Partial<Contract> =>
  part.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Partial<Contract>

/** What happens to a call that breaks no other rule. */
export type Risk = 'allow' | 'checkpoint' | 'block'

/** As compilation decides it: a contract's own gate, else the default of its side effect. */
export function riskOf({ gate, side_effect: effect }: CompiledContract, risks: Risks): Risk {
  if (gate !== undefined) return gate
  return risks[effect] ?? (effect === 'admin' || effect === 'financial' ? (risks.destructive ?? 'allow') : 'allow')
}

const RISKS: readonly Risk[] = ['block', 'checkpoint', 'allow']
const RISK_WORDS = {
  block: 'gated: every call is blocked',
  checkpoint: 'a person is asked before every call',
  allow: 'calls that satisfy the rules are allowed',
} as const

function diffRisk(was: Risk, is: Risk, say: Say): PlanChange[] {
  if (was === is) return []
  const effect = RISKS.indexOf(is) > RISKS.indexOf(was) ? 'allows' : 'blocks'
  return [say(effect, was === 'block' ? `no longer gated: ${RISK_WORDS[is]}` : RISK_WORDS[is])]
}

interface Telling {
  readonly say: Say
  readonly comparison: Comparison
}

/** All conditions on one path together, before and after. */
function diffBounds(
  was: readonly ArgumentRule[],
  is: readonly ArgumentRule[],
  words: (list: readonly ArgumentRule[]) => string,
  { say, comparison }: Telling,
): PlanChange[] {
  return pairs(was, is, ({ path }) => path).flatMap(({ before, after }) => {
    if (before.length === 0) return [say('blocks', `new bound: ${words(after)}`)]
    if (after.length === 0) return [say('allows', `removed bound: ${words(before)}`)]
    const strength = strengthOfBounds(before, after, comparison)
    if (strength === 'same') return []
    return [say(EFFECT_OF[strength], `bound: ${words(after)} (was: ${words(before)})`)]
  })
}

/** Those without conditions are compared together, and any others only one with one. */
function strengthOfBounds(
  before: readonly ArgumentRule[],
  after: readonly ArgumentRule[],
  comparison: Comparison,
): Strength {
  if ([...before, ...after].every(({ when }) => when === undefined)) return compareConditions(before, after, comparison)
  if (same(before, after)) return 'same'
  const [old, next] = [before[0], after[0]]
  if (before.length + after.length > 2 || old === undefined || next === undefined) return 'different'
  return compareConditional(old, next, comparison, () => compareConditions(before, after, comparison))
}

type ListKey = 'preconditions' | 'refs' | 'aggregates' | 'envelopes' | 'forbids_after' | 'resources' | 'checkpoint'
interface ListRule {
  readonly key: ListKey
  readonly name: string
  /** Two rules with the same key are about the same thing, so that one replaces the other. */
  keyOf(item: never): string
  compare(was: never, is: never, comparison: Comparison): Strength
}

const rule = <T>(
  key: ListKey,
  name: string,
  keyOf: (item: T) => string,
  compare: (was: T, is: T, comparison: Comparison) => Strength = asWritten,
): ListRule => ({ key, name, keyOf, compare })

/** Rules whose conditions are compared apart from what they demand. */
const conditionalRule = <T extends object>(
  key: ListKey,
  name: string,
  keyOf: (item: T) => string,
  compare: (was: T, is: T, comparison: Comparison) => Strength = asWritten,
): ListRule =>
  rule<T>(key, name, keyOf, (was, is, comparison) =>
    compareConditional(was, is, comparison, (old, next) => compare(old, next, comparison)),
  )

const asWritten = (was: unknown, is: unknown): Strength =>
  same(withoutWhen(was), withoutWhen(is)) ? 'same' : 'different'

const withoutWhen = (rule: unknown): unknown => (typeof rule === 'object' && rule !== null ? bare(rule) : rule)

/** Lists of rules: adding one narrows, removing one widens, and a changed one is compared by meaning. */
const RULES: readonly ListRule[] = [
  conditionalRule<RuleOf<'preconditions'>>(
    'preconditions',
    'precondition',
    (item) => ('requires_prior_tool' in item ? item.requires_prior_tool : ''),
    comparePreconditions,
  ),
  conditionalRule<RuleOf<'refs'>>('refs', 'ref', ({ path, ref }) => `${ref} ${path}`),
  conditionalRule<RuleOf<'aggregates'>>(
    'aggregates',
    'aggregate',
    (item) => `${item.name} ${item.function} ${item.path ?? ''}`,
    compareAggregates,
  ),
  conditionalRule<RuleOf<'envelopes'>>(
    'envelopes',
    'envelope',
    ({ name, path }) => `${name} ${path}`,
    compareEnvelopes,
  ),
  rule<string>('forbids_after', 'tool forbidden afterwards', (tool) => tool),
  rule<RuleOf<'resources'>>('resources', 'resource', ({ key }) => key, compareResources),
  rule<RuleOf<'checkpoint'>>('checkpoint', 'checkpoint', ({ reason }) => reason, compareCheckpoints),
]

function diffRules(
  was: CompiledContract,
  is: CompiledContract,
  { key, name, keyOf, compare }: ListRule,
  { say, comparison }: Telling,
): PlanChange[] {
  const list = (contract: CompiledContract) => [contract[key] ?? []].flat() as never[]
  return pairs(list(was), list(is), keyOf).flatMap(({ before, after }) => {
    const [old, next] = [before[0], after[0]]
    const tell = (item: never) => wordsOf(key, { [key]: [item] })
    if (before.length === 1 && after.length === 1 && old !== undefined && next !== undefined) {
      const strength = compare(old, next, comparison)
      return strength === 'same' ? [] : [say(EFFECT_OF[strength], `${name}: ${tell(next)} (was: ${tell(old)})`)]
    }
    return [
      ...comparison.missing(after, before).map((item) => say('blocks', `new ${name}: ${tell(item)}`)),
      ...comparison.missing(before, after).map((item) => say('allows', `removed ${name}: ${tell(item)}`)),
    ]
  })
}

function diffEvidence(was: CompiledContract, is: CompiledContract, say: Say): PlanChange[] {
  if (was.commit_requirement === is.commit_requirement) return []
  return is.commit_requirement === 'executed'
    ? [say('blocks', 'a call counts as done only if its wrapper ran it (was: if the program reports it)')]
    : [say('allows', 'a call counts as done if the program reports it (was: only if its wrapper ran it)')]
}

/** A list of names that are let through; absent lets everything through. */
function diffNames(
  name: string,
  verb: string,
  was: readonly string[] | undefined,
  is: readonly string[] | undefined,
  say: Say,
): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', `only ${verb} the ${name} ${is?.join(' or ')}`)]
  if (is === undefined) return [say('allows', `${verb} every ${name}`)]
  const { added, gone } = namesApart(was, is)
  return [
    ...(added.length === 0 ? [] : [say('allows', `also ${verb} the ${name} ${added.join(', ')}`)]),
    ...(gone.length === 0 ? [] : [say('blocks', `no longer ${verb} the ${name} ${gone.join(', ')}`)]),
  ]
}

function diffDenials(was: readonly LabelRule[], is: readonly LabelRule[], { say, comparison }: Telling): PlanChange[] {
  const words = (item: LabelRule) => wordsOf('labels', { labels: { deny_when: [item] } })
  const names = (list: readonly LabelRule[]) => [...new Set(list.map(labelOf))]
  const { added, gone } = namesApart(names(was), names(is))
  const changed = pairs(was, is, labelOf).flatMap(({ before, after }) => {
    const [old, next] = [before[0], after[0]]
    if (old === undefined || next === undefined || same(before, after)) return []
    const [from, to] = [asRule(old), asRule(next)]
    const strength =
      before.length + after.length > 2 ? 'different' : compareConditional(from, to, comparison, () => 'same')
    if (strength === 'same') return []
    return [say(EFFECT_OF[strength], `${after.map(words).join('; ')} (was: ${before.map(words).join('; ')})`)]
  })
  return [
    ...changed,
    ...(added.length === 0 ? [] : [say('blocks', `not allowed in a session labelled ${added.join(' or ')}`)]),
    ...(gone.length === 0 ? [] : [say('allows', `the label ${gone.join(' or ')} no longer denies it`)]),
  ]
}

const asRule = (item: LabelRule): Exclude<LabelRule, string> => (typeof item === 'string' ? { label: item } : item)

function diffPolicy(was: unknown, is: unknown, say: Say): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', 'its new policy must allow the call')]
  return is === undefined
    ? [say('allows', 'no policy needs to allow the call')]
    : [say('changes', 'its policy changes')]
}

/** Whether other hours are more or fewer is not compared: both are shown. */
export function diffHours(
  was: CompiledContract['hours'],
  is: CompiledContract['hours'],
  { say, comparison }: Telling,
): PlanChange[] {
  if (same(was, is)) return []
  const words = (hours: CompiledContract['hours']) => wordsOf('hours', hours === undefined ? {} : { hours })
  if (is === undefined) return [say('allows', `its hours are gone (was: ${words(was)})`)]
  const [old, next] = [[was ?? []].flat(), [is].flat()]
  const isOne = old.length === 1 && next.length === 1
  const strength = isOne ? compareConditional(old[0] ?? {}, next[0] ?? {}, comparison, asWritten) : 'different'
  return [
    say(
      was === undefined ? 'blocks' : strength === 'same' ? 'changes' : EFFECT_OF[strength],
      `hours: ${words(is)}${was === undefined ? '' : ` (was: ${words(was)})`}`,
    ),
  ]
}

function addsWords(adds: readonly LabelRule[]): string {
  if (adds.length === 0) return 'it adds no label'
  if (adds.every((item) => typeof item === 'string')) return `it adds the label ${adds.join(', ')}`
  return `it adds labels: ${wordsOf('labels', { labels: { adds: [...adds] } })}`
}

/** What neither narrows nor widens by itself, or only together with other tools. */
const OTHERS = [
  'side_effect',
  'evidence_class',
  'response_format_invariants',
  'binds',
  'establishes',
  'timeouts',
  'message',
] as const

function diffOthers(was: CompiledContract, is: CompiledContract, say: Say): PlanChange[] {
  return [
    ...OTHERS.filter((key) => !same(was[key], is[key])).map((key) => say('changes', `${key} changes`)),
    ...(was.transitions?.advances_to === is.transitions?.advances_to
      ? []
      : [
          say(
            'changes',
            `it ${is.transitions?.advances_to === undefined ? 'no longer moves to another phase' : `moves to the phase ${is.transitions.advances_to}`}`,
          ),
        ]),
    ...(was.labels?.sticks_to === is.labels?.sticks_to
      ? []
      : [
          is.labels?.sticks_to === undefined
            ? say('allows', 'the labels it adds no longer stick to the principal')
            : say('blocks', 'the labels it adds stick to the principal: its new sessions start with them'),
        ]),
    ...(same(was.labels?.adds ?? [], is.labels?.adds ?? []) ? [] : [say('changes', addsWords(is.labels?.adds ?? []))]),
  ]
}
