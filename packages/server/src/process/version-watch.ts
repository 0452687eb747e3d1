import { setTimeout } from 'node:timers/promises'
import type { Log } from '../base/log.js'
import type { Sql } from '../postgres/sql.js'
import { oldestVersion } from '../schema/migrate.js'

export interface VersionWatch {
  /** What is wrong once a newer instance has brought the database to a version beside which this code must not work; for good. */
  problem(): string | null
  /** Looks now and then, from the version on that this code knows. `onOutdated` is called once. */
  start(options: { known: number; onOutdated: () => void; everyMs?: number }): void
  close(): Promise<void>
}

const PROBLEM =
  'the database is newer than this instance; use another one, or stop this one and start the newer version'

/**
 * At the start a database that is newer than the code is refused. One that becomes newer while an instance runs must be
 * refused as well, unless its migrations say that this version may work beside them: old code would read new rows by old
 * rules, and write some that newer code takes for its own.
 */
export function createVersionWatch({ sql, log }: { sql: Sql; log: Log }): VersionWatch {
  const closing = new AbortController()
  let outdated = false
  let watching: Promise<void> = Promise.resolve()

  const watch = async (known: number, onOutdated: () => void, everyMs: number) => {
    while (!closing.signal.aborted && !outdated) {
      // A database that is away says nothing here; the requests that need it report it.
      const found = await oldestVersion(sql).catch(() => known)
      if (found > known) {
        outdated = true
        log.error({ found, known }, 'the database is newer than this instance, which refuses all requests: stop it')
        onOutdated()
        return
      }
      await setTimeout(everyMs, undefined, { ref: false, signal: closing.signal }).catch(() => {})
    }
  }

  return {
    problem: () => (outdated ? PROBLEM : null),
    start: ({ known, onOutdated, everyMs = 1_000 }) => {
      watching = watch(known, onOutdated, everyMs)
    },
    close: async () => {
      closing.abort()
      await watching
    },
  }
}
