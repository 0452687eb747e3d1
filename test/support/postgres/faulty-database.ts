import type { Database } from '../../../packages/server/src/postgres/database.js'
import { DatabaseUnreachable } from '../../../packages/server/src/postgres/gave-up.js'

/** `before`: the write never reaches the store. `after`: it is done, and its answer is lost. */
export type Fault = 'before' | 'after'

export interface FaultyDatabase {
  wrap: (database: Database) => Database
  /** The next write fails so. */
  failNext(fault: Fault): void
  /** Writes since the last look, whether they failed or not. */
  takeWrites(): number
}

/** The mail worker looks for due mail on its own, every few seconds: that is no write of an operation. */
const MAIL_WORKER = 'mail'

/** A store that loses writes or their answers on command. Everything that an operation writes passes here. */
export function faultyDatabase(): FaultyDatabase {
  let next: Fault | null = null
  let writes = 0
  const lost = () => new DatabaseUnreachable('Connection terminated unexpectedly')
  const faulty = async <T>(run: () => Promise<T>): Promise<T> => {
    writes += 1
    const fault = next
    next = null
    if (fault === 'before') throw lost()
    const result = await run()
    if (fault === 'after') throw lost()
    return result
  }
  return {
    wrap: (database) => ({
      ...database,
      transaction: (tenantId, fn, options) =>
        tenantId === MAIL_WORKER
          ? database.transaction(tenantId, fn, options)
          : faulty(() => database.transaction(tenantId, fn, options)),
      single: (tenantId, fn) => faulty(() => database.single(tenantId, fn)),
    }),
    failNext: (fault) => {
      next = fault
    },
    takeWrites: () => {
      const seen = writes
      writes = 0
      return seen
    },
  }
}
