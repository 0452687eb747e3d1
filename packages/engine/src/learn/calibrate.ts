import type { Column, Surprise } from '@countersign/protocol'
import { type Bins, type LongestOf, readSigns, SIGNS, scoreOf } from '../contract/surprise.js'
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
  /** Of each request, judged by what was learned without it. */
  readonly scores: readonly number[]
  /** Without signs of any call, nothing is known about what is unusual. */
  readonly hasSigns: boolean
  weightsOf(tool: string): Surprise
}

/** Counts that stand for what nobody has seen yet: of a tool against all tools, and of all tools against the prior. */
const LAMBDA = 2
const MU = 4
/** Shares of calls in at least the first and the second bin. */
const PRIOR = [0.35, 0.12] as const

/** The request that stands for each session: requests that are the same in other words are one. */
export function requestsOf(sessions: readonly ObservedSession[]): Map<string, string> {
  const words = new Map<string, string | undefined>()
  for (const { id, request, requestWords } of sessions)
    words.set(request ?? id, requestWords ?? words.get(request ?? id))
  const leader = groupRequests(words)
  return new Map(sessions.map(({ id, request }) => [id, leader.get(request ?? id) ?? id]))
}

/** Learns how usual the signs of calls are. Every request weighs 1, however many sessions and calls it has. */
export function calibrate(sessions: readonly ObservedSession[], isGuarded: (tool: string) => boolean): Calibration {
  const requests = requestsOf(sessions)
  const lengths = lengthsOf(sessions, requests)
  const all = new Tails()
  const byTool = new Map<string, Tails>()
  const calls: { tool: string; request: string; bins: Bins }[] = []
  for (const session of sessions) {
    const request = requests.get(session.id) ?? session.id
    const longestOf: LongestOf = (tool, path) => lengths.without(request, tool, path)
    for (const { tool, flow } of session.calls) {
      if (flow?.signs === undefined || !isGuarded(tool)) continue
      const bins = readSigns(flow.signs, longestOf)
      const own = byTool.get(tool) ?? new Tails()
      byTool.set(tool, own)
      all.add(request, bins)
      own.add(request, bins)
      calls.push({ tool, request, bins })
    }
  }
  const weights = (tool: string, without: string | null): Surprise => weightsFrom(byTool.get(tool), all, without)
  const scores = new Map<string, number>()
  const kept = new Map<string, Surprise>()
  for (const { tool, request, bins } of calls) {
    const key = JSON.stringify([tool, request])
    const own = kept.get(key) ?? weights(tool, request)
    kept.set(key, own)
    scores.set(request, Math.max(scores.get(request) ?? 0, scoreOf(bins, own)))
  }
  // A request without a call that changes something is one about which nobody is asked.
  for (const request of new Set(requests.values())) if (!scores.has(request)) scores.set(request, 0)
  return {
    scores: [...scores.values()]
      .map((score) => Number(score.toFixed(6)))
      .sort((a, b) => b - a)
      .slice(0, MOST_SCORES),
    hasSigns: calls.length > 0,
    weightsOf: (tool) => weights(tool, null),
  }
}

const MOST_SCORES = 1_024

function weightsFrom(own: Tails | undefined, all: Tails, without: string | null): Surprise {
  const weights = {} as Record<(typeof SIGNS)[number], [number, number]>
  for (const sign of SIGNS) {
    const surprise = ([1, 2] as const).map((bin) => {
      const pooled = all.share(sign, bin, without, { weight: MU, share: PRIOR[bin - 1] ?? 1 })
      const share = own === undefined ? pooled : own.share(sign, bin, without, { weight: LAMBDA, share: pooled })
      return Number(Math.max(0, -Math.log(share)).toFixed(6))
    })
    weights[sign] = surprise as [number, number]
  }
  return weights
}

interface Cases {
  calls: number
  atLeast: Record<(typeof SIGNS)[number], [number, number]>
}

/** How many calls of each request were in which bins. */
class Tails {
  readonly #byRequest = new Map<string, Cases>()

  add(request: string, bins: Bins): void {
    const cases = this.#byRequest.get(request) ?? {
      calls: 0,
      atLeast: { mandate: [0, 0], odd: [0, 0], imperative: [0, 0] },
    }
    this.#byRequest.set(request, cases)
    cases.calls++
    for (const sign of SIGNS) for (let bin = 0; bin < bins[sign]; bin++) cases.atLeast[sign][bin as 0 | 1]++
  }

  /** Share of requests in at least this bin, with what stands for those not seen. */
  share(
    sign: (typeof SIGNS)[number],
    bin: 1 | 2,
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
