import type { CallFlow, CallSigns, Surprise, SurpriseLevel } from '@countersign/protocol'
import { spendOnJudging } from '../text/judging-budget.js'

/** The signs of a call as bins: 0 is usual, 1 somewhat and 2 very unlike the sessions learned from. */
export type Bin = 0 | 1 | 2
export interface Bins {
  readonly mandate: Bin
  readonly odd: Bin
  readonly imperative: Bin
}
export const SIGNS = ['mandate', 'odd', 'imperative'] as const

/** Text this many times as long as its column ever held is odd, and very odd. */
const ODD_FROM = [1.2, 2] as const
/** Turns of phrase in one text that tell the reader what to do: some, and many. */
const IMPERATIVE_FROM = [1, 3] as const

/** The longest text that a column ever held; null if nobody knows. */
export type LongestOf = (tool: string, path: string) => number | null

export interface ReadSigns extends Bins {
  /** The text that is longest for its column. */
  readonly oddest: { readonly tool: string; readonly path: string; readonly ratio: number } | null
}

export function readSigns({ mandate, imperative, texts }: CallSigns, longestOf: LongestOf): ReadSigns {
  let oddest: ReadSigns['oddest'] = null
  for (const { tool, path, length } of texts) {
    spendOnJudging(STEPS_OF_TEXT)
    const longest = longestOf(tool, path)
    if (longest === null) continue
    const ratio = length / Math.max(longest, SHORTEST_COLUMN)
    if (oddest === null || ratio > oddest.ratio) oddest = { tool, path, ratio }
  }
  return {
    mandate: mandate as Bin,
    odd: binOf(oddest?.ratio ?? 0, ODD_FROM),
    imperative: binOf(imperative, IMPERATIVE_FROM),
    oddest,
  }
}

const STEPS_OF_TEXT = 4
/** A column of short texts is not odd because one of them is a word longer. */
const SHORTEST_COLUMN = 40

function binOf(value: number, [first, second]: readonly [number, number]): Bin {
  if (value >= second) return 2
  return value >= first ? 1 : 0
}

export const scoreOf = (bins: Bins, weights: Surprise): number =>
  SIGNS.reduce((sum, sign) => sum + (bins[sign] === 0 ? 0 : (weights[sign][bins[sign] - 1] ?? 0)), 0)

/** How much an even spread of scores counts against the requests seen. */
const PRIOR_WEIGHT = 2

/** Share of requests with at least this score: those seen, and what three independent signs would give (Fisher). */
export function shareAbove(score: number, scores: readonly number[]): number {
  const prior = Math.exp(-score) * (1 + score + (score * score) / 2)
  const seen = scores.filter((other) => other >= score - EPSILON).length
  return (seen + PRIOR_WEIGHT * prior) / (scores.length + PRIOR_WEIGHT)
}

/** Sums of the same weights in another order differ in the last digits. */
const EPSILON = 1e-9

/** The lowest score that asks: at most `alpha` of the requests seen have it. */
export function askFrom({ alpha, scores }: SurpriseLevel): number {
  let [low, high] = [0, 100]
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2
    if (shareAbove(middle, scores) <= alpha) high = middle
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
  const read = readSigns(signs, longestOf)
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
