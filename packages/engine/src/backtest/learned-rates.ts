import type { Contract, ExpectedRates, JsonValue, SessionDefinition } from '@countersign/protocol'
import { compilePlan } from '../compile/compile-plan.js'
import type { Plan } from '../contract/plan.js'
import { askFrom, unusualCall } from '../contract/surprise.js'
import { type ObservedSession, requestsOf } from '../learn/calibrate.js'
import type { Draft } from '../learn/draft.js'
import { backtestSession, type CallComparison, type PastSession } from './backtest.js'
import {
  type Demotions,
  demoteRules,
  type JudgedSession,
  type RuleOf,
  ruleName,
  shareOfRequests,
} from './demote-rules.js'

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

/** What is learned from some of the sessions, with every source rule blocking. */
export type Learn = (sessions: readonly ObservedSession[]) => { drafts: readonly Draft[]; session: SessionDefinition }

/** Parts into which the requests are split: each part is judged by what was learned from the others. */
const PARTS = 10
/** What a person may choose from when approving; any other share can be written into session.yaml. */
const CHOICES = [0.02, 0.05, 0.1, 0.2] as const
const MOST_RULES = 50
/** As the schema of contracts takes them. */
const MOST_DEMOTED = 64
const MOST_RULE_NAME = 400

export function measureRates(
  sessions: readonly ObservedSession[],
  learn: Learn,
  ruleOf: RuleOf,
  { alpha, known }: { readonly alpha: number; readonly known: ReadonlySet<string> },
): { rates: LearnedRates; demotions: Demotions; doubtful: ReadonlySet<string> } {
  const judged = judgeParts(sessions, learn, ruleOf)
  // A session that both stages find odd is no evidence of what the agent does.
  // Of fewer requests than one in such a share, every one is odd.
  const tells = new Set(judged.map(({ request }) => request)).size * alpha >= 1
  const isDoubtful = ({ id, isAsked, blocking, asking }: Judged) =>
    known.has(id) || (tells && isAsked && blocking.size + asking.size > 0)
  const demotions = demoteRules(judged.filter((session) => !isDoubtful(session)))
  // Where values come from documents as a rule, that one did tells nothing against a session.
  const doubtful = new Set(demotions.otherwise === 'note' ? known : judged.filter(isDoubtful).map(({ id }) => id))
  const doneBy = (session: Judged) => outcomesOf(session, demotions)
  const asksAtAny = (session: Judged) => session.isAskedAnyway || doneBy(session).has('ask')
  const shareOf = (happens: (session: Judged) => boolean) => shareOfRequests(judged, happens)
  const rules = [...new Set(judged.flatMap(({ rules: fired }) => [...fired]))].map((rule) => ({
    rule,
    share: shareOf(({ rules: fired }) => fired.has(rule)),
  }))
  const rates: LearnedRates = {
    requests: new Set(judged.map(({ request }) => request)).size,
    blocked: shareOf(({ blocking, isBlockedOtherwise }) => blocking.size > 0 || isBlockedOtherwise),
    fired: shareOf(({ blocking, asking, isBlockedOtherwise }) => blocking.size + asking.size > 0 || isBlockedOtherwise),
    asked: shareOf(({ isAsked }) => isAsked),
    expected: {
      blocked: rounded(shareOf((session) => session.isBlockedOtherwise || doneBy(session).has('block'))),
      by_sources: rounded(shareOf(asksAtAny)),
      ...(demotions.ask.size > 0 && {
        demoted: [...demotions.ask]
          .slice(0, MOST_DEMOTED)
          .map(([rule, share]) => ({ rule: rule.slice(0, MOST_RULE_NAME).toWellFormed(), share: rounded(share) })),
      }),
      asked: CHOICES.map((alpha, at) => ({
        alpha,
        share: rounded(shareOf((session) => session.unusual[at] === true || asksAtAny(session))),
      })),
    },
    rules: rules.sort((a, b) => b.share - a.share || (a.rule < b.rule ? -1 : 1)).slice(0, MOST_RULES),
  }
  return { rates, demotions, doubtful }
}

/** Of one session, judged by what was learned without its request. */
interface Judged extends JudgedSession {
  readonly id: string
  /** Every rule that fires, also those that are no source rules. */
  readonly rules: ReadonlySet<string>
  /** Blocked by a rule that would block also if source rules asked. */
  readonly isBlockedOtherwise: boolean
  readonly isAsked: boolean
  /** By a checkpoint of a contract. */
  readonly isAskedAnyway: boolean
  /** For each choice of alpha, whether a call is unusual. */
  readonly unusual: readonly boolean[]
}

function judgeParts(sessions: readonly ObservedSession[], learn: Learn, ruleOf: RuleOf): Judged[] {
  const requests = requestsOf(sessions)
  const requestOf = ({ id }: ObservedSession) => requests.get(id) ?? id
  // In the order of the captures: that of the fingerprints depends on the client's key.
  const all = [...new Set(requests.values())]
  const parts = Math.min(PARTS, all.length)
  const partOf = new Map(all.map((request, at) => [request, at % Math.max(1, parts)]))
  const judged: Judged[] = []
  for (let part = 0; parts > 1 && part < parts; part++) {
    const isOwn = (session: ObservedSession) => partOf.get(requestOf(session)) === part
    const learned = learn(sessions.filter((session) => !isOwn(session)))
    const plan = compiled(learned)
    if (plan === null) continue
    const level = learned.session.surprise
    const thresholds = level === undefined ? [] : CHOICES.map((alpha) => askFrom({ ...level, alpha }))
    for (const session of sessions.filter(isOwn)) {
      judged.push({ id: session.id, request: requestOf(session), ...judge(session, plan, thresholds, ruleOf) })
    }
  }
  return judged
}

function judge(
  session: ObservedSession,
  plan: Plan,
  thresholds: readonly number[],
  ruleOf: RuleOf,
): Omit<Judged, 'request' | 'id'> {
  const comparisons = backtestSession(pastSession(session), { plan, unmatchedPolicy: 'allow' })
  const [blocking, asking, rules] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const { tool, reasons, questions } of comparisons) {
    for (const reason of reasons) {
      for (const { path } of reason.failures) {
        const argument = path.replace(IN_CALL, '$')
        rules.add(ruleName(tool, argument))
        if (isSource(reason)) blocking.add(ruleOf(tool, argument))
      }
    }
    for (const { id, paths } of questions) {
      for (const path of paths) rules.add(ruleName(tool, path))
      if (id.endsWith('#source')) for (const path of paths) asking.add(ruleOf(tool, path))
    }
  }
  const unusual = plan.asksFrom === null ? [] : unusualTools(session, plan, plan.asksFrom)
  for (const tool of unusual) rules.add(`${tool} unusual call`)
  return {
    blocking,
    asking,
    rules,
    isBlockedOtherwise: comparisons.some(({ reasons }) => reasons.some((reason) => !isSource(reason))),
    isAsked: unusual.length > 0,
    isAskedAnyway: comparisons.some(({ questions }) => questions.some(({ id }) => /#\d+$/.test(id))),
    unusual: thresholds.map((threshold) => unusualTools(session, plan, threshold).length > 0),
  }
}

const IN_CALL = /^\$\.tool_calls\[\d+\]\.arguments/

const isSource = ({ failures }: CallComparison['reasons'][number]): boolean =>
  failures.length > 0 && failures.every(({ operator }) => operator === 'source')

/** What source rules would do in a session after some of them were demoted. */
function outcomesOf({ blocking, asking }: JudgedSession, { otherwise, ask }: Demotions): Set<'block' | 'ask'> {
  const outcomes = new Set<'block' | 'ask'>()
  if (otherwise === 'note') return outcomes
  for (const rule of blocking) outcomes.add(ask.has(rule) ? 'ask' : otherwise)
  if (asking.size > 0) outcomes.add('ask')
  return outcomes
}

const rounded = (value: number): number => Number(value.toFixed(4))

/** The tools of the calls that are unusual from a threshold on. */
function unusualTools({ calls }: ObservedSession, plan: Plan, threshold: number): string[] {
  const longestOf = (from: string, path: string) => plan.contracts.get(from)?.longest.get(path) ?? null
  const unusual = calls.filter(({ tool, flow }) => {
    const weights = plan.contracts.get(tool)?.definition.surprise
    return weights !== undefined && unusualCall(tool, weights, { flow, threshold, longestOf }) !== null
  })
  return unusual.map(({ tool }) => tool)
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
