import { setTimeout } from 'node:timers/promises'
import type { Log } from '../base/log.js'
import type { Sql } from '../postgres/sql.js'
import { readClock } from '../store/clock.js'

/** A process may differ from the database by this much: sign-ins live for minutes, and time servers keep within seconds. */
export const CLOCK_BOUND_SECONDS = 120

export interface ClockWatch {
  /** What is wrong with this process's clock, or null. It is wrong until a later comparison finds it right. */
  problem(): string | null
  /** How far this process is ahead of the database; NaN before the first comparison. */
  skewSeconds(): number
  /** Compares the clocks now. */
  compare(): Promise<void>
  /** Compares them now and then. */
  start(everyMs?: number): void
  close(): Promise<void>
}

export interface ClockWatchParts {
  readonly sql: Sql
  readonly clock: () => Date
  readonly log: Log
}

/**
 * Whatever deletes or expires goes by the database's clock. A process whose own clock is far from it is misconfigured, and
 * the few things that still go by its clock would be wrong: it must do nothing until the clock is right (decision 0016).
 */
export function createClockWatch({ sql, clock, log }: ClockWatchParts): ClockWatch {
  const closing = new AbortController()
  let skew = Number.NaN
  let isWrong = false
  let watching: Promise<void> = Promise.resolve()

  const problem = () =>
    `the clock of this instance is ${Math.round(Math.abs(skew))} seconds ${skew > 0 ? 'ahead of' : 'behind'} the database's; ` +
    `more than ${CLOCK_BOUND_SECONDS} are not allowed: set the clocks of both machines by a time server`

  const compare = async () => {
    const askedAt = clock().getTime()
    const asked = performance.now()
    const theirs = await readClock(sql)
    const doubt = (performance.now() - asked) / 2_000
    skew = (askedAt - theirs.getTime()) / 1_000 + doubt
    const wasWrong = isWrong
    // The answer was on its way for an unknown part of the time, which is not held against the clock.
    isWrong = Math.abs(skew) - doubt > CLOCK_BOUND_SECONDS
    if (isWrong && !wasWrong)
      log.error({ skew_seconds: skew }, `${problem()}. Until then this instance refuses requests and does no jobs`)
    if (wasWrong && !isWrong) log.info({ skew_seconds: skew }, 'the clock of this instance is right again')
  }

  const watch = async (everyMs: number) => {
    while (!closing.signal.aborted) {
      // A database that is away says nothing here; the requests that need it report it.
      await compare().catch(() => {})
      await setTimeout(everyMs, undefined, { ref: false, signal: closing.signal }).catch(() => {})
    }
  }

  return {
    problem: () => (isWrong ? problem() : null),
    skewSeconds: () => skew,
    compare,
    start: (everyMs = 5_000) => {
      watching = watch(everyMs)
    },
    close: async () => {
      closing.abort()
      await watching
    },
  }
}
