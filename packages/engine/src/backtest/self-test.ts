import type { Otherwise, SessionDefinition } from '@countersign/protocol'
import { calibrate, type ObservedSession } from '../learn/calibrate.js'
import { type Draft, type DraftOptions, draftContracts } from '../learn/draft.js'
import { isGuardedEffect } from '../learn/draft-sources.js'
import { leaveOut } from '../learn/leave-out.js'
import { guessSideEffect } from '../learn/side-effect.js'
import { addCall, addColumns, newSummary, type ToolSummary } from '../learn/summary.js'
import { type Demotions, PROVING_REQUESTS, rulesOf, withDemotions } from './demote-rules.js'
import { type Learn, type LearnedRates, measureRates } from './learned-rates.js'

export interface LearnedPlan {
  readonly drafts: readonly Draft[]
  readonly session: SessionDefinition
  readonly rates: LearnedRates
  /** What becomes of calls that source rules would stop, chosen by their rates; and why, for the person who approves. */
  readonly otherwise: Otherwise
  readonly because: string
  /** Sessions that look attacked, and teach nothing. */
  readonly doubtful: readonly string[]
}

export interface LearnOptions extends Omit<DraftOptions, 'otherwise'> {
  /** The share of requests in which a person may be asked about an unusual call. */
  readonly alpha: number
}

/** What the sessions teach: contracts, when to ask, and how often that would have stopped the sessions themselves. */
export function learnPlan(
  summaries: readonly ToolSummary[],
  sessions: readonly ObservedSession[],
  options: LearnOptions,
): LearnedPlan {
  const first = measureWithout(NO_SESSIONS, summaries, sessions, options)
  const { doubtful } = first
  // They also judged the others: measured once more, by what is learned without them.
  const { rates, demotions, learned } =
    doubtful.size === 0 ? first : measureWithout(doubtful, summaries, sessions, options)
  const { drafts, session: asking } = draftsWith(learned, sessions, options, { demotions, doubtful })
  const named = [...doubtful].sort()
  const expected = {
    ...rates.expected,
    ...(named.length > 0 && { left_out: { sessions: named.length, named: named.slice(0, DOUBTFUL_NAMED) } }),
  }
  const session = asking.surprise === undefined ? asking : { surprise: { ...asking.surprise, expected } }
  const { otherwise } = demotions
  return { drafts, session, rates, otherwise, because: reasonFor(rates, demotions), doubtful: named }
}

const NO_SESSIONS: ReadonlySet<string> = new Set()

/** How often what is learned without the doubtful sessions would have stopped the captured ones. */
function measureWithout(
  doubtful: ReadonlySet<string>,
  summaries: readonly ToolSummary[],
  sessions: readonly ObservedSession[],
  options: LearnOptions,
) {
  const { offered = [], salt } = options
  const learned = leaveOut(summaries, sessions, doubtful)
  const learn: Learn = (some) => {
    const usual = some.filter(({ id }) => !doubtful.has(id))
    return draftsWith(summariesOf(usual, salt), some, options, { demotions: BLOCKING, doubtful })
  }
  const rules = rulesOf(draftContracts(learned, { salt, offered, otherwise: 'block' }))
  return { ...measureRates(sessions, learn, rules, { alpha: options.alpha, known: doubtful }), learned }
}

const BLOCKING: Demotions = { otherwise: 'block', ask: new Map() }

function reasonFor({ requests, blocked, fired, expected }: LearnedRates, { otherwise, ask }: Demotions): string {
  if (requests === 0) return 'no captured session could be judged, so source rules ask'
  const of = `of ${requests} captured requests`
  if (otherwise === 'note')
    return `source rules would stop ${percent(fired)} ${of}: this agent works from documents, so they are only noted; declare the flows that are meant`
  if (otherwise === 'ask')
    return `${requests} captured requests are too few to block by what was learned, so source rules ask; ${PROVING_REQUESTS} are enough`
  if (ask.size === 0) return `source rules would wrongly block ${percent(blocked)} ${of}, so they block`
  const few = ask.size === 1 ? '1 rule that blocks too often asks' : `${ask.size} rules that block too often ask`
  return `source rules would wrongly block ${percent(blocked)} ${of}, so ${few}; the others would block ${percent(expected.blocked)}, and do`
}

/** The rates in sentences, for the person who approves. */
export function describeRates({ rates, because, session, doubtful }: LearnedPlan): string[] {
  const { requests, blocked, fired, asked, rules } = rates
  const alpha = session.surprise?.alpha ?? 0
  return [
    `Measured on ${requests} captured requests, each judged by what was learned without it:`,
    `source rules would fire in ${percent(fired)} and block ${percent(blocked)} of them; unusual calls would ask in ${percent(asked)}.`,
    `In short: ${because}.`,
    ...(doubtful.length === 0 ? [] : [doubtOf(doubtful)]),
    ...rules.slice(0, RULES_NAMED).map(({ rule, share }) => `Fires in ${percent(share)}: ${rule}.`),
    `alpha is the share of such requests in which a person is asked about an unusual call: now ${percent(alpha)}; edit it before you approve.`,
  ]
}

const RULES_NAMED = 10
const DOUBTFUL_NAMED = 10

function doubtOf(doubtful: readonly string[]): string {
  const more = doubtful.length > DOUBTFUL_NAMED ? ` and ${doubtful.length - DOUBTFUL_NAMED} more` : ''
  const named = `${doubtful.slice(0, DOUBTFUL_NAMED).join(', ')}${more}`
  return `Not learned from, because a source rule would stop a call in them and a call in them is unusual (look at them: they may be attacks): ${named}.`
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function draftsWith(
  summaries: readonly ToolSummary[],
  sessions: readonly ObservedSession[],
  { alpha, ...options }: LearnOptions,
  { demotions, doubtful }: { readonly demotions: Demotions; readonly doubtful: ReadonlySet<string> },
): { drafts: Draft[]; session: SessionDefinition } {
  const effects = new Map((options.offered ?? []).map(({ name, sideEffect }) => [name, sideEffect]))
  const isGuarded = (tool: string) => isGuardedEffect(effects.get(tool) ?? guessSideEffect(tool).effect)
  const { level, weightsOf, hasSigns } = calibrate(sessions, isGuarded, doubtful)
  const { otherwise } = demotions
  const drafts = withDemotions(draftContracts(summaries, { ...options, otherwise }), demotions)
  // An older client sends no signs: it could only be asked about everything.
  if (!hasSigns) return { drafts, session: {} }
  const measured = drafts.map((draft): Draft => {
    const { contract, samples } = draft
    if (contract.sources === undefined) return draft
    // Where source rules are only noted, so is a first use.
    const unused = samples === 0 && otherwise !== 'note'
    const surprise = { ...weightsOf(contract.tool), ...(unused && { unused: true as const }) }
    return { ...draft, contract: { ...contract, surprise } }
  })
  return { drafts: measured, session: { surprise: { alpha, ...level } } }
}

export function summariesOf(sessions: readonly ObservedSession[], salt: string): ToolSummary[] {
  const byTool = new Map<string, ToolSummary>()
  const summaryOf = (tool: string): ToolSummary => {
    const summary = byTool.get(tool) ?? newSummary(tool)
    byTool.set(tool, summary)
    return summary
  }
  for (const { id, requestWords, calls, columns } of sessions) {
    for (const call of calls) addCall(summaryOf(call.tool), { ...call, requestWords }, salt)
    for (const column of columns) addColumns(summaryOf(column.tool), id, [column])
  }
  return [...byTool.values()]
}
