import type { Contract, Otherwise } from '@countersign/protocol'
import type { Draft } from '../learn/draft.js'

/** A captured session that was judged by what was learned without it: which source rules would stop what in it. */
export interface JudgedSession {
  readonly request: string
  /** By `ruleName`. */
  readonly blocking: ReadonlySet<string>
  readonly asking: ReadonlySet<string>
}

/** What becomes of calls that source rules would stop: of most rules, and of those that fire too often. */
export interface Demotions {
  readonly otherwise: Otherwise
  /** Rules that ask where others block, and the share of captured requests that each would block wrongly. */
  readonly ask: ReadonlyMap<string, number>
}

/** Rules that block more of their own captures than this ask instead. */
export const MOST_BLOCKED = 0.02
/** If they fire in more than this, the agent works from documents, and all of them are only noted. */
export const MOST_FIRED = 0.25
/** Below this many requests a share of at most `MOST_BLOCKED` can only be none, which proves little. */
export const PROVING_REQUESTS = 1 / MOST_BLOCKED

export const ruleName = (tool: string, path: string): string => `${tool} ${path}`

/** The rule that judges an argument: its own, or the one for all arguments of the tool. */
export type RuleOf = (tool: string, path: string) => string

export function rulesOf(drafts: readonly Draft[]): RuleOf {
  const names = new Set(
    drafts.flatMap(({ contract: { tool, sources = [] } }) => sources.map(({ path }) => ruleName(tool, path))),
  )
  return (tool, path) => {
    const own = ruleName(tool, path)
    return names.has(own) ? own : ruleName(tool, '$')
  }
}

/**
 * Rules that would block too often ask instead, the worst first, until the others block rarely enough: one rule that
 * does not fit an agent does not switch off those that do.
 */
export function demoteRules(sessions: readonly JudgedSession[]): Demotions {
  const all = sessions.map(({ request, blocking, asking }) => ({ request, rules: new Set([...blocking, ...asking]) }))
  if (shareOfRequests(all, fires) > MOST_FIRED) return { otherwise: 'note', ask: new Map() }
  const requests = new Set(sessions.map(({ request }) => request)).size
  if (requests < PROVING_REQUESTS) return { otherwise: 'ask', ask: new Map() }
  const blocking = sessions.map(({ request, blocking: rules }) => ({ request, rules }))
  return { otherwise: 'block', ask: worstRules(blocking, MOST_BLOCKED) }
}

interface Firing {
  readonly request: string
  readonly rules: ReadonlySet<string>
}

const fires = ({ rules }: Firing): boolean => rules.size > 0

/** A request weighs 1, and its sessions share that. */
export function shareOfRequests<Session extends { readonly request: string }>(
  sessions: readonly Session[],
  happens: (session: Session) => boolean,
): number {
  const byRequest = new Map<string, { sessions: number; hits: number }>()
  for (const session of sessions) {
    const count = byRequest.get(session.request) ?? { sessions: 0, hits: 0 }
    byRequest.set(session.request, count)
    count.sessions++
    if (happens(session)) count.hits++
  }
  let sum = 0
  for (const { sessions: all, hits } of byRequest.values()) sum += hits / all
  return byRequest.size === 0 ? 0 : sum / byRequest.size
}

function worstRules(sessions: readonly Firing[], most: number): Map<string, number> {
  const worst = new Map<string, number>()
  const weights = weightsOf(sessions)
  let left = sessions
  while (shareOfRequests(left, fires) > most) {
    const shares = new Map<string, number>()
    for (const { request, rules } of left) {
      for (const rule of rules) shares.set(rule, (shares.get(rule) ?? 0) + (weights.get(request) ?? 0))
    }
    const [name, share] = [...shares].reduce((a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] < a[0]) ? b : a))
    worst.set(name, share)
    left = left.map(({ request, rules }) => ({ request, rules: new Set([...rules].filter((rule) => rule !== name)) }))
  }
  return worst
}

/** What one session of each request weighs. */
function weightsOf(sessions: readonly Firing[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { request } of sessions) counts.set(request, (counts.get(request) ?? 0) + 1)
  return new Map([...counts].map(([request, count]) => [request, 1 / count / counts.size]))
}

/** The drafts with each demoted rule asking, and a line that says so. */
export function withDemotions(drafts: readonly Draft[], { ask }: Demotions): Draft[] {
  if (ask.size === 0) return [...drafts]
  return drafts.map((draft) => {
    const { tool, sources } = draft.contract
    if (sources === undefined) return draft
    const demoted: string[] = []
    const rules = sources.map((rule) => {
      const share = ask.get(ruleName(tool, rule.path))
      if (share === undefined) return rule
      demoted.push(`${rule.path} would wrongly block ${percent(share)} of the captured requests, so it asks`)
      return asking(rule)
    })
    return demoted.length === 0 ? draft : { ...draft, demoted, contract: { ...draft.contract, sources: rules } }
  })
}

type WrittenRule = NonNullable<Contract['sources']>[number]

const asking = (rule: WrittenRule): WrittenRule => ({
  ...rule,
  ...(rule.dictated === 'block' && { dictated: 'ask' as const }),
  otherwise: 'ask',
})

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
