import { databaseTrouble } from './database-error.js'
import type { Sql } from './sql.js'

/** Connections of which each does one thing at a time. The caller has made sure that one is free. */
export interface WarmConnections {
  use<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** One of them, to ask what is known of all. */
  readonly any: Sql
  end(timeoutSeconds: number): Promise<void>
}

/**
 * The one that was used last is used next: its backend has plans and pages at hand, and one that nobody needs is never
 * opened. The driver would take them in turn, so that each finds its caches cold.
 *
 * One that broke is not used again: what the driver had not sent when a connection broke stops it from sending anything
 * on the next.
 */
export function createWarmConnections(size: number, open: () => Sql): WarmConnections {
  const any = open()
  const all = new Set([any])
  while (all.size < size) all.add(open())
  const free = [...all]

  const replace = (broken: Sql): Sql => {
    all.delete(broken)
    void broken.end({ timeout: 0 }).catch(() => {})
    const sql = open()
    all.add(sql)
    return sql
  }

  return {
    any,
    use: async (work) => {
      let sql = free.pop()
      if (sql === undefined) throw new Error('more work than connections')
      try {
        return await work(sql)
      } catch (error) {
        if (databaseTrouble(error) === 'unavailable') sql = replace(sql)
        throw error
      } finally {
        free.push(sql)
      }
    },
    end: async (timeoutSeconds) => {
      await Promise.all([...all].map((sql) => sql.end({ timeout: timeoutSeconds })))
    },
  }
}
