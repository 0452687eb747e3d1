import { setImmediate, setTimeout } from 'node:timers/promises'
import postgres from 'postgres'
import { databaseTrouble } from './database-error.js'
import type { Sql, Tx } from './sql.js'

/**
 * Runs `fn` in one transaction on one connection.
 *
 * The driver sends ROLLBACK after every failure, and whatever else `fn` asks for, also over a connection that has closed:
 * there its write fails where nobody can catch it, and the process ends. So nothing reaches it from then on.
 * `mode` is what BEGIN says of the transaction, such as its isolation level.
 */
export async function begin<T>(pool: Sql, fn: (tx: Tx) => Promise<T>, mode = ''): Promise<T> {
  let result: { value: T } | undefined
  let isOver = false
  const work = async (tx: Tx): Promise<void> => {
    try {
      result = { value: await fn(refusing(tx, () => isOver)) }
    } catch (error) {
      // The driver reports a closed connection a moment after the statement that failed with it.
      await setImmediate()
      for (let waitedMs = 0; !isOver && mayHaveClosed(error) && waitedMs < CLOSING_MS; waitedMs += 10)
        await setTimeout(10)
      if (isOver) await NEVER
      throw error
    }
  }
  try {
    await pool.begin(mode, work)
  } finally {
    isOver = true
  }
  if (result === undefined) throw new Error('the transaction ended without a result')
  return result.value
}

/** For the driver alone, which has reported the end of the transaction already. */
const NEVER = new Promise<never>(() => {})

/** How long a server that has said its last word may take to close the connection. */
const CLOSING_MS = 1_000

function mayHaveClosed(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.severity === 'FATAL' || error.severity === 'PANIC'
  return databaseTrouble(error) === 'unavailable'
}

/** The same transaction, until it is over. */
function refusing(tx: Tx, isOver: () => boolean): Tx {
  const refuse = () => {
    if (isOver()) throw Object.assign(new Error('the transaction is over'), { code: 'CONNECTION_CLOSED' })
  }
  return new Proxy(tx, {
    apply: (target, self, args) => {
      refuse()
      return Reflect.apply(target as (...given: unknown[]) => unknown, self, args)
    },
    get: (target, key) => {
      refuse()
      return Reflect.get(target, key)
    },
  })
}
