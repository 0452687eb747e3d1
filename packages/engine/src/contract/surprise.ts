import type { CallFlow, CallSigns, Surprise, SurpriseLevel } from '@countersign/protocol'

/** The signs of a call as bins: 0 is usual, and each step up is less like the sessions learned from. */
export type Bin = 0 | 1 | 2 | 3
export interface Bins {
  readonly mandate: Bin
  readonly odd: Bin
  readonly imperative: Bin
}
export const SIGNS = ['mandate', 'odd', 'imperative'] as const

/** Text this many times as long as its column ever held is odd, and very odd. */
const ODD_FROM = [1.2, 2] as const
/** Turns of phrase in one text that tell the reader what to do: each step is twice as many. */
const IMPERATIVE_FROM = [1, 2, 4] as const
/** Of plans that were learned with two steps. */
const IMPERATIVE_ONCE = [1, 3] as const
/** How many steps each sign has in what is learned. */
export const STEPS = { mandate: 2, odd: 2, imperative: IMPERATIVE_FROM.length } as const

/** The longest text that a column ever held; null if unknown. */
export type LongestOf = (tool: string, path: string) => number | null

export interface ReadSigns extends Bins {
  /** The text that is longest for its column. */
  readonly oddest: { readonly tool: string; readonly path: string; readonly ratio: number } | null
}

export function readSigns(
  { mandate, imperative, texts }: CallSigns,
  longestOf: LongestOf,
  steps: number = STEPS.imperative,
): ReadSigns {
  let oddest: ReadSigns['oddest'] = null
  for (const { tool, path, length } of texts) {
    const longest = longestOf(tool, path)
    if (longest === null) continue
    const ratio = length / Math.max(longest, SHORTEST_COLUMN)
    if (oddest === null || ratio > oddest.ratio) oddest = { tool, path, ratio }
  }
  return {
    mandate: mandate as Bin,
    odd: binOf(oddest?.ratio ?? 0, ODD_FROM),
    imperative: binOf(imperative, steps < IMPERATIVE_FROM.length ? IMPERATIVE_ONCE : IMPERATIVE_FROM),
    oddest,
  }
}

/** A column of short texts is not odd because one of them is a word longer. */
const SHORTEST_COLUMN = 40

/** How many of the steps the value reaches. */
function binOf(value: number, steps: readonly number[]): Bin {
  let bin = 0
  while (bin < steps.length && value >= (steps[bin] ?? Number.POSITIVE_INFINITY)) bin++
  return bin as Bin
}

export const scoreOf = (bins: Bins, weights: Surprise): number =>
  SIGNS.reduce((sum, sign) => sum + (bins[sign] === 0 ? 0 : (weights[sign][bins[sign] - 1] ?? 0)), 0)

/** How much an even spread of scores counts against the requests seen. */
const PRIOR_WEIGHT = 2

/** Share of requests with at least this score: those seen, and what three independent signs would give (Fisher). */
export function shareAbove(score: number, level: Omit<SurpriseLevel, 'alpha'>): number {
  const { scores, shares } = level
  const prior = Math.exp(-score) * (1 + score + (score * score) / 2)
  const requests = requestsIn(level)
  let seen = 0
  for (const [at, other] of scores.entries()) {
    if (other < score - EPSILON) continue
    seen = shares === undefined ? seen + 1 : Math.max(seen, (shares[at] ?? 0) * requests)
  }
  return (seen + PRIOR_WEIGHT * prior) / (requests + PRIOR_WEIGHT)
}

/** Of how many requests the scores are. */
const requestsIn = ({ scores, requests }: Omit<SurpriseLevel, 'alpha'>): number => requests ?? scores.length

/** Sums of the same weights in another order differ in the last digits. */
const EPSILON = 1e-9

/** The lowest score that asks: at most `alpha` of the requests seen have it. */
export function askFrom(level: SurpriseLevel): number {
  let [low, high] = [0, 100]
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2
    if (shareAbove(middle, level) <= level.alpha) high = middle
    else low = middle
  }
  return high
}

/** Why a person should look at the call, in one sentence; null if it is like those learned from. */
export function unusualCall(
  tool: string,
  weights: Surprise,
  { flow, threshold, longestOf }: { flow: CallFlow | null; threshold: number; longestOf: LongestOf },
): string | null {
  const signs = flow?.signs
  if (signs === undefined) return `unusual call: the client did not say how ${tool} fits the request`
  const read = readSigns(signs, longestOf, weights.imperative.length)
  const isUnnamed = weights.unused === true && read.mandate > 0
  if (!isUnnamed && scoreOf(read, weights) < threshold - EPSILON) return null
  return `unusual call: ${describe(tool, read, isUnnamed)}`
}

function describe(tool: string, { mandate, odd, imperative, oddest }: ReadSigns, isUnnamed: boolean): string {
  const reasons: string[] = []
  if (isUnnamed) reasons.push(`no session that was learned from used ${tool}`)
  if (mandate === 2) reasons.push(`the user's words name neither what ${tool} does nor what it does it to`)
  if (mandate === 1) reasons.push(`the user's words name only part of what ${tool} does`)
  if (odd > 0 && oddest !== null) {
    const times = oddest.ratio.toFixed(1)
    reasons.push(`the text at ${oddest.path} of the result of ${oddest.tool} is ${times} times as long as ever before`)
  }
  if (imperative > 0) reasons.push('a result that was read before tells its reader what to do, or cannot be read')
  return reasons.join('; ')
}
