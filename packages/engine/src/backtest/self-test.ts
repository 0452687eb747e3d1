import type { Contract, JsonValue, Otherwise, SessionDefinition } from '@countersign/protocol'
import { compilePlan } from '../compile/compile-plan.js'
import type { Plan } from '../contract/plan.js'
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
  const { drafts, session } = draftsWith(summaries, sessions, options, otherwise)
  return { drafts, session, rates, otherwise, because: reasonFor(rates, otherwise) }
}

/** Below this many requests a share of at most `MOST_BLOCKED` can only be none, which proves little. */
const PROVING_REQUESTS = 1 / MOST_BLOCKED

function outcomeFor({ requests, blocked, fired }: LearnedRates): Otherwise {
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
  const tally = new Map<string, { sessions: number; blocked: number; fired: number; asked: number }>()
  const byRule = new Map<string, Set<string>>()
  for (let part = 0; parts > 1 && part < parts; part++) {
    const isOwn = ({ id }: ObservedSession) => partOf.get(requests.get(id) ?? id) === part
    const others = sessions.filter((session) => !isOwn(session))
    const plan = compiled(draftsWith(summariesOf(others, options.salt), others, options, 'block'))
    if (plan === null) continue
    for (const session of sessions.filter(isOwn)) {
      const request = requests.get(session.id) ?? session.id
      const counts = tally.get(request) ?? { sessions: 0, blocked: 0, fired: 0, asked: 0 }
      tally.set(request, counts)
      count(counts, backtestSession(pastSession(session), { plan, unmatchedPolicy: 'allow' }), (rule) => {
        byRule.set(rule, (byRule.get(rule) ?? new Set()).add(request))
      })
    }
  }
  const share = (of: 'blocked' | 'fired' | 'asked') =>
    mean([...tally.values()].map((counts) => counts[of] / counts.sessions))
  const rules = [...byRule].map(([rule, hit]) => ({ rule, share: hit.size / tally.size }))
  return {
    requests: tally.size,
    blocked: share('blocked'),
    fired: share('fired'),
    asked: share('asked'),
    rules: rules.sort((a, b) => b.share - a.share || (a.rule < b.rule ? -1 : 1)).slice(0, MOST_RULES),
  }
}

const MOST_RULES = 50

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

function count(
  counts: { sessions: number; blocked: number; fired: number; asked: number },
  comparisons: readonly CallComparison[],
  fires: (rule: string) => void,
): void {
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
