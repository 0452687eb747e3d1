import type { Column, Surprise, SurpriseLevel } from '@countersign/protocol'
import { type Bins, type LongestOf, readSigns, SIGNS, STEPS, scoreOf } from '../contract/surprise.js'
import { groupRequests } from '../flows/request-words.js'
import type { ObservedCall } from './summary.js'

/** A captured session: what it called, in order, and what its results contained. */
export interface ObservedSession {
  readonly id: string
  /** Fingerprint of the user's first request, and which words it has. */
  readonly request?: string | undefined
  readonly requestWords?: string | undefined
  readonly calls: readonly ObservedCall[]
  readonly columns: readonly Column[]
}

/** What is usual for an agent. */
export interface Calibration {
  /** Scores of the requests, each judged by what was learned without it. */
  readonly level: Required<Pick<SurpriseLevel, 'scores' | 'shares' | 'requests'>>
  /** Without signs of any call, nothing is known about what is unusual. */
  readonly hasSigns: boolean
  weightsOf(tool: string): Surprise
}

/** Counts that stand for what was not seen yet: of a tool against all tools, and of all tools against the prior. */
const LAMBDA = 2
const MU = 4
/** Shares of calls in at least the first, the second and the third bin: each about a third of the one before. */
const PRIOR = [0.35, 0.12, 0.04] as const

/** The request that stands for each session: requests that are the same in other words are one. */
export function requestsOf(sessions: readonly ObservedSession[]): Map<string, string> {
  const words = new Map<string, string | undefined>()
  for (const { id, request, requestWords } of sessions)
    words.set(request ?? id, requestWords ?? words.get(request ?? id))
  const leader = groupRequests(words)
  return new Map(sessions.map(({ id, request }) => [id, leader.get(request ?? id) ?? id]))
}

/**
 * Learns how usual the signs of calls are. Every request weighs 1, however many sessions and calls it has. Doubtful
 * sessions do not make their signs usual, but count like others in the share of requests that would be asked about.
 */
export function calibrate(
  sessions: readonly ObservedSession[],
  isGuarded: (tool: string) => boolean,
  doubtful: ReadonlySet<string> = new Set(),
): Calibration {
  const requests = requestsOf(sessions)
  const lengths = lengthsOf(
    sessions.filter(({ id }) => !doubtful.has(id)),
    requests,
  )
  const all = new Tails()
  const byTool = new Map<string, Tails>()
  const calls: { tool: string; session: string; request: string; bins: Bins }[] = []
  for (const session of sessions) {
    const request = requests.get(session.id) ?? session.id
    const longestOf: LongestOf = (tool, path) => lengths.without(request, tool, path)
    for (const { tool, flow } of session.calls) {
      if (flow?.signs === undefined || !isGuarded(tool)) continue
      const bins = readSigns(flow.signs, longestOf)
      if (!doubtful.has(session.id)) {
        const own = byTool.get(tool) ?? new Tails()
        byTool.set(tool, own)
        all.add(request, bins)
        own.add(request, bins)
      }
      calls.push({ tool, session: session.id, request, bins })
    }
  }
  const weights = (tool: string, without: string | null): Surprise => weightsFrom(byTool.get(tool), all, without)
  const scores = new Map<string, number>()
  const kept = new Map<string, Surprise>()
  for (const { tool, session, request, bins } of calls) {
    const key = JSON.stringify([tool, request])
    const own = kept.get(key) ?? weights(tool, request)
    kept.set(key, own)
    scores.set(session, Math.max(scores.get(session) ?? 0, scoreOf(bins, own)))
  }
  return {
    level: levelOf(scores, requests),
    hasSigns: calls.length > 0,
    weightsOf: (tool) => weights(tool, null),
  }
}

/**
 * The share of requests above each score. A request weighs 1 and its sessions share that: one odd session of a request
 * that came a hundred times is a hundredth. A session without a call that changes something asks no question.
 */
function levelOf(scores: ReadonlyMap<string, number>, requests: ReadonlyMap<string, string>): Calibration['level'] {
  const sessionsOf = new Map<string, number>()
  for (const request of requests.values()) sessionsOf.set(request, (sessionsOf.get(request) ?? 0) + 1)
  const weightOf = new Map<number, number>()
  for (const [session, request] of requests) {
    const score = Number((scores.get(session) ?? 0).toFixed(6))
    weightOf.set(score, (weightOf.get(score) ?? 0) + 1 / (sessionsOf.get(request) ?? 1))
  }
  const highest = [...weightOf].sort(([a], [b]) => b - a).slice(0, MOST_SCORES)
  let above = 0
  const shares = highest.map(([, weight]) => {
    above += weight
    return Math.min(1, Number((above / sessionsOf.size).toFixed(6)))
  })
  return { scores: highest.map(([score]) => score), shares, requests: sessionsOf.size }
}

const MOST_SCORES = 1_024

function weightsFrom(own: Tails | undefined, all: Tails, without: string | null): Surprise {
  const weightOf = (sign: Sign, bin: number): number => {
    const pooled = all.share(sign, bin, without, { weight: MU, share: PRIOR[bin - 1] ?? 1 })
    const share = own === undefined ? pooled : own.share(sign, bin, without, { weight: LAMBDA, share: pooled })
    return Number(Math.max(0, -Math.log(share)).toFixed(6))
  }
  return {
    mandate: [weightOf('mandate', 1), weightOf('mandate', 2)],
    odd: [weightOf('odd', 1), weightOf('odd', 2)],
    imperative: [weightOf('imperative', 1), weightOf('imperative', 2), weightOf('imperative', 3)],
  }
}

type Sign = (typeof SIGNS)[number]

interface Cases {
  calls: number
  atLeast: Record<Sign, number[]>
}

const zeros = (steps: number): number[] => Array.from({ length: steps }, () => 0)

/** How many calls of each request were in which bins. */
class Tails {
  readonly #byRequest = new Map<string, Cases>()

  add(request: string, bins: Bins): void {
    const cases = this.#byRequest.get(request) ?? {
      calls: 0,
      atLeast: { mandate: zeros(STEPS.mandate), odd: zeros(STEPS.odd), imperative: zeros(STEPS.imperative) },
    }
    this.#byRequest.set(request, cases)
    cases.calls++
    for (const sign of SIGNS) {
      for (let bin = 0; bin < bins[sign]; bin++) cases.atLeast[sign][bin] = (cases.atLeast[sign][bin] ?? 0) + 1
    }
  }

  /** Share of requests in at least this bin, with what stands for those not seen. */
  share(
    sign: Sign,
    bin: number,
    without: string | null,
    prior: { readonly weight: number; readonly share: number },
  ): number {
    let [sum, requests] = [0, 0]
    for (const [request, { calls, atLeast }] of this.#byRequest) {
      if (request === without) continue
      requests++
      sum += (atLeast[sign][bin - 1] ?? 0) / calls
    }
    return (sum + prior.weight * prior.share) / (requests + prior.weight)
  }
}

/** The longest texts of every column, by request. */
function lengthsOf(sessions: readonly ObservedSession[], requests: ReadonlyMap<string, string>) {
  const columns = new Map<string, Map<string, number>>()
  for (const { id, columns: seen } of sessions) {
    const request = requests.get(id) ?? id
    for (const { tool, path, longest } of seen) {
      if (longest === undefined) continue
      const key = JSON.stringify([tool, path])
      const lengths = columns.get(key) ?? new Map<string, number>()
      columns.set(key, lengths)
      lengths.set(request, Math.max(lengths.get(request) ?? 0, longest))
    }
  }
  return {
    without(request: string, tool: string, path: string): number | null {
      let longest: number | null = null
      for (const [other, length] of columns.get(JSON.stringify([tool, path])) ?? []) {
        if (other !== request && (longest === null || length > longest)) longest = length
      }
      return longest
    },
  }
}
