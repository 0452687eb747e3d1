import { expect } from 'vitest'

export interface CloseRace {
  /** Starts both, each round so that the one which won the last round has a harder time, and waits for both. */
  run<A, B>(round: Round<A, B>): Promise<[A, B]>
  readonly wins: { first: number; second: number }
}

interface Round<A, B> {
  first: () => Promise<A>
  second: () => Promise<B>
  firstWon: (first: A, second: B) => boolean
}

const STEP_MS = 0.25
const MAX_STEP_MS = 256

/**
 * A race that stays close on any machine. Started at the same moment, the shorter way would always win, and a fixed head
 * start would decide for the other: so the head start follows the outcome, in larger steps while one side keeps winning,
 * and in smaller ones once the other has won.
 */
export function closeRace(): CloseRace {
  const wins = { first: 0, second: 0 }
  /** Of the first; below zero it is the second's. */
  let headStartMs = 0
  let stepMs = STEP_MS
  let lastWinner: 'first' | 'second' | null = null
  return {
    wins,
    async run({ first, second, firstWon }) {
      let results: Promise<[Awaited<ReturnType<typeof first>>, Awaited<ReturnType<typeof second>>]>
      if (headStartMs >= 0) {
        const early = first()
        await pass(headStartMs)
        results = Promise.all([early, second()])
      } else {
        const early = second()
        await pass(-headStartMs)
        results = Promise.all([first(), early])
      }
      const [a, b] = await results
      const winner = firstWon(a, b) ? 'first' : 'second'
      wins[winner]++
      stepMs = winner === lastWinner ? Math.min(stepMs * 2, MAX_STEP_MS) : Math.max(stepMs / 4, STEP_MS)
      lastWinner = winner
      headStartMs += winner === 'first' ? -stepMs : stepMs
      return [a, b]
    },
  }
}

/** Finer than timers are. */
async function pass(ms: number): Promise<void> {
  const end = performance.now() + ms
  while (performance.now() < end) await new Promise((done) => setImmediate(done))
}

/** Both sides won at least a tenth of the rounds; otherwise there was no race, and its test shows nothing. */
export function expectBoth({ wins }: CloseRace, first: string, second: string): void {
  console.log(`${first} came first ${wins.first} times, ${second} ${wins.second} times`)
  expect(Math.min(wins.first, wins.second)).toBeGreaterThanOrEqual((wins.first + wins.second) / 10)
}
