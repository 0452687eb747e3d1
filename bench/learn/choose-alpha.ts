import type { findSuites } from './dataset.js'
import { measure, prepare } from './measure.js'

const GRID = [0.02, 0.05, 0.1, 0.2] as const
/** Benign sessions with a question that an owner would bear. */
const BEARABLE = 0.1

export interface AlphaChoice {
  readonly alpha: number
  readonly suites: readonly string[]
  readonly tried: readonly { alpha: number; asked: number; caught: number }[]
}

/** The rate that catches most on these suites and asks in at most a tenth of their benign sessions. */
export function chooseAlpha(suites: ReturnType<typeof findSuites>): AlphaChoice {
  const prepared = suites.map(({ name, read }) => ({ name, suite: prepare(read()) }))
  const tried = GRID.map((alpha) => {
    const scores = prepared.map(({ suite }) => measure(suite, { alpha, asksOnly: true }).questions)
    return {
      alpha,
      asked: mean(scores.map(({ asked }) => asked.value)),
      caught: 1 - mean(scores.map(({ unasked }) => unasked.value)),
    }
  })
  const bearable = tried.filter(({ asked }) => asked <= BEARABLE)
  const best = bearable.sort((a, b) => b.caught - a.caught || a.asked - b.asked)[0] ?? tried[0]
  return { alpha: best?.alpha ?? GRID[0], suites: prepared.map(({ name }) => name), tried }
}

function mean(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null)
  return known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length)
}
