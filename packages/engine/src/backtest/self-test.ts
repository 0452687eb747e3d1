import type { Contract, ExpectedRates, JsonValue, Otherwise, SessionDefinition } from '@countersign/protocol'
import { compilePlan } from '../compile/compile-plan.js'
import type { Plan } from '../contract/plan.js'
import { askFrom, unusualCall } from '../contract/surprise.js'
import { calibrate, type ObservedSession, requestsOf } from '../learn/calibrate.js'
import { type Draft, type DraftOptions, draftContracts } from '../learn/draft.js'
import { isGuardedEffect } from '../learn/draft-sources.js'
import { guessSideEffect } from '../learn/side-effect.js'
import { addCall, addColumns, newSummary, type ToolSummary } from '../learn/summary.js'
import { backtestSession, type CallComparison, type PastSession } from './backtest.js'

/** How often what was learned would have stopped its own captures, each request judged by what was learned without it. */
export interface LearnedRates {
  /** Distinct requests that were judged. */
  readonly requests: number
  /** Shares of them in which the source rules would block, or fire at all; and in which a person would be asked. */
  readonly blocked: number
  readonly fired: number
  readonly asked: number
  /** What the plan promises: with what becomes of source rules by these rates. */
  readonly expected: ExpectedRates
  /** Of each rule that fires: `tool path`, and the share of requests. */
  readonly rules: readonly { readonly rule: string; readonly share: number }[]
}

export interface LearnedPlan {
  readonly drafts: readonly Draft[]
  readonly session: SessionDefinition
  readonly rates: LearnedRates
  /** What becomes of calls that source rules would stop, chosen by their rates; and why, for the person who approves. */
  readonly otherwise: Otherwise
  readonly because: string
}

/** A rule that blocks more of its own captures than this asks instead; one that fires in more is only noted. */
export const MOST_BLOCKED = 0.02
export const MOST_FIRED = 0.25
/** Parts into which the requests are split: each part is judged by what was learned from the others. */
const PARTS = 10

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
  const rates = measureRates(sessions, options)
  const otherwise = outcomeFor(rates)
  const { drafts, session: asking } = draftsWith(summaries, sessions, options, otherwise)
  const { expected } = rates
  const session = asking.surprise === undefined ? asking : { surprise: { ...asking.surprise, expected } }
  return { drafts, session, rates, otherwise, because: reasonFor(rates, otherwise) }
}

/** Below this many requests a share of at most `MOST_BLOCKED` can only be none, which proves little. */
const PROVING_REQUESTS = 1 / MOST_BLOCKED

function outcomeFor({ requests, blocked, fired }: Pick<LearnedRates, 'requests' | 'blocked' | 'fired'>): Otherwise {
  if (fired > MOST_FIRED) return 'note'
  return requests >= PROVING_REQUESTS && blocked <= MOST_BLOCKED ? 'block' : 'ask'
}

function reasonFor({ requests, blocked, fired }: LearnedRates, otherwise: Otherwise): string {
  if (requests === 0) return 'no captured session could be judged, so source rules ask'
  const of = `of ${requests} captured requests`
  if (otherwise === 'note')
    return `source rules would stop ${percent(fired)} ${of}: this agent works from documents, so they are only noted; declare the flows that are meant`
  if (otherwise === 'ask' && blocked <= MOST_BLOCKED)
    return `${requests} captured requests are too few to block by what was learned, so source rules ask; ${PROVING_REQUESTS} are enough`
  if (otherwise === 'ask') return `source rules would wrongly block ${percent(blocked)} ${of}, so they ask`
  return `source rules would wrongly block ${percent(blocked)} ${of}, so they block`
}

/** The rates in sentences, for the person who approves. */
export function describeRates({ rates, because, session }: LearnedPlan): string[] {
  const { requests, blocked, fired, asked, rules } = rates
  const alpha = session.surprise?.alpha ?? 0
  return [
    `Measured on ${requests} captured requests, each judged by what was learned without it:`,
    `source rules would fire in ${percent(fired)} and block ${percent(blocked)} of them; unusual calls would ask in ${percent(asked)}.`,
    `In short: ${because}.`,
    ...rules.slice(0, RULES_NAMED).map(({ rule, share }) => `Fires in ${percent(share)}: ${rule}.`),
    `alpha is the share of such requests in which a person is asked about an unusual call: now ${percent(alpha)}; edit it before you approve.`,
  ]
}

const RULES_NAMED = 10

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function draftsWith(
  summaries: readonly ToolSummary[],
  sessions: readonly ObservedSession[],
  { alpha, ...options }: LearnOptions,
  otherwise: Otherwise,
): { drafts: Draft[]; session: SessionDefinition } {
  const effects = new Map((options.offered ?? []).map(({ name, sideEffect }) => [name, sideEffect]))
  const isGuarded = (tool: string) => isGuardedEffect(effects.get(tool) ?? guessSideEffect(tool))
  const { level, weightsOf, hasSigns } = calibrate(sessions, isGuarded)
  const drafts = draftContracts(summaries, { ...options, otherwise })
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

function measureRates(sessions: readonly ObservedSession[], options: LearnOptions): LearnedRates {
  const requests = requestsOf(sessions)
  const all = [...new Set(requests.values())].sort()
  const parts = Math.min(PARTS, all.length)
  const partOf = new Map(all.map((request, at) => [request, at % Math.max(1, parts)]))
  const tally = new Map<string, Tally>()
  const byRule = new Map<string, Set<string>>()
  for (let part = 0; parts > 1 && part < parts; part++) {
    const isOwn = ({ id }: ObservedSession) => partOf.get(requests.get(id) ?? id) === part
    const others = sessions.filter((session) => !isOwn(session))
    const learned = draftsWith(summariesOf(others, options.salt), others, options, 'block')
    const plan = compiled(learned)
    if (plan === null) continue
    const level = learned.session.surprise
    const thresholds = level === undefined ? [] : CHOICES.map((alpha) => askFrom({ ...level, alpha }))
    for (const session of sessions.filter(isOwn)) {
      const request = requests.get(session.id) ?? session.id
      const counts = tally.get(request) ?? newTally()
      tally.set(request, counts)
      const comparisons = backtestSession(pastSession(session), { plan, unmatchedPolicy: 'allow' })
      count(counts, comparisons, (rule) => {
        byRule.set(rule, (byRule.get(rule) ?? new Set()).add(request))
      })
      const fires = bySources(comparisons)
      if (isBlockedOtherwise(comparisons)) counts.blockedOtherwise++
      if (fires) counts.bySources++
      CHOICES.forEach((_, at) => {
        const unusual = isUnusual(session, plan, thresholds[at])
        if (unusual) counts.unusual[at] = (counts.unusual[at] ?? 0) + 1
        if (unusual || fires) counts.either[at] = (counts.either[at] ?? 0) + 1
      })
    }
  }
  const shareOf = (read: (counts: Tally) => number) =>
    mean([...tally.values()].map((counts) => read(counts) / counts.sessions))
  const share = (of: 'blocked' | 'fired' | 'asked') => shareOf((counts) => counts[of])
  const measured = { requests: tally.size, blocked: share('blocked'), fired: share('fired') }
  const otherwise = outcomeFor(measured)
  const asks = otherwise === 'ask'
  const rules = [...byRule].map(([rule, hit]) => ({ rule, share: hit.size / tally.size }))
  return {
    ...measured,
    asked: share('asked'),
    expected: {
      blocked: rounded(otherwise === 'block' ? measured.blocked : shareOf(({ blockedOtherwise }) => blockedOtherwise)),
      by_sources: rounded(asks ? shareOf((counts) => counts.bySources) : 0),
      asked: CHOICES.map((alpha, at) => ({
        alpha,
        share: rounded(shareOf(({ unusual, either }) => (asks ? either : unusual)[at] ?? 0)),
      })),
    },
    rules: rules.sort((a, b) => b.share - a.share || (a.rule < b.rule ? -1 : 1)).slice(0, MOST_RULES),
  }
}

const MOST_RULES = 50
/** What a person may choose from when approving; any other share can be written into session.yaml. */
const CHOICES = [0.02, 0.05, 0.1, 0.2] as const

/** Of one request: sessions, and those in which something happens; by choice of `alpha` where that decides. */
interface Tally {
  sessions: number
  blocked: number
  fired: number
  asked: number
  blockedOtherwise: number
  bySources: number
  readonly unusual: number[]
  readonly either: number[]
}

const newTally = (): Tally => ({
  sessions: 0,
  blocked: 0,
  fired: 0,
  asked: 0,
  blockedOtherwise: 0,
  bySources: 0,
  unusual: [],
  either: [],
})

const rounded = (value: number): number => Number(value.toFixed(4))

const isSource = ({ failures }: CallComparison['reasons'][number]): boolean =>
  failures.length > 0 && failures.every(({ operator }) => operator === 'source')

const bySources = (comparisons: readonly CallComparison[]): boolean =>
  comparisons.some(
    ({ reasons, questions }) => reasons.some(isSource) || questions.some(({ id }) => id.endsWith('#source')),
  )

/** Blocked by a rule that would block also if source rules asked. */
const isBlockedOtherwise = (comparisons: readonly CallComparison[]): boolean =>
  comparisons.some(({ reasons }) => reasons.some((reason) => !isSource(reason)))

function isUnusual({ calls }: ObservedSession, plan: Plan, threshold: number | undefined): boolean {
  if (threshold === undefined) return false
  const longestOf = (from: string, path: string) => plan.contracts.get(from)?.longest.get(path) ?? null
  return calls.some(({ tool, flow }) => {
    const weights = plan.contracts.get(tool)?.definition.surprise
    return weights !== undefined && unusualCall(tool, weights, { flow, threshold, longestOf }) !== null
  })
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

function count(counts: Tally, comparisons: readonly CallComparison[], fires: (rule: string) => void): void {
  counts.sessions++
  const bySource = comparisons.filter(({ questions }) => questions.some(({ id }) => id.endsWith('#source')))
  const blocked = comparisons.filter(({ decision }) => decision === 'block')
  if (blocked.length > 0) counts.blocked++
  if (blocked.length + bySource.length > 0) counts.fired++
  if (comparisons.some(({ questions }) => questions.some(({ id }) => id.endsWith('#unusual')))) counts.asked++
  for (const { tool, reasons, questions } of comparisons) {
    for (const { failures } of reasons) for (const { path } of failures) fires(`${tool} ${path.replace(IN_CALL, '$')}`)
    for (const { id, paths } of questions) {
      if (id.endsWith('#unusual')) fires(`${tool} unusual call`)
      for (const path of paths) fires(`${tool} ${path}`)
    }
  }
}

const IN_CALL = /^\$\.tool_calls\[\d+\]\.arguments/

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

/** Null if what was learned does not compile: then nothing can be measured by it. */
function compiled({ drafts, session }: { drafts: readonly Draft[]; session: SessionDefinition }): Plan | null {
  const result = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: withoutRefs(contract) })),
    session: { file: 'session.yaml', value: session },
  })
  return result.ok ? result.plan : null
}

/** Captures hold no results, so that nothing could be bound. */
function withoutRefs({ refs: _, binds: __, ...contract }: Contract): Contract {
  return contract
}

const pastSession = ({ calls }: ObservedSession): PastSession => ({
  user: [],
  turns: calls.map(({ tool, arguments: given, flow, failed }) => ({
    calls: [
      {
        name: tool,
        arguments: (given ?? {}) as JsonValue,
        ...(flow !== null && { flow }),
        ...(failed !== undefined && { failed }),
      },
    ],
  })),
})
