import { createAdmissionLimit } from '../base/work/admission-limit.js'
import { type ConnectOptions, connect, LOCK_TIMEOUT_MS } from './connect.js'
import { DatabaseBusy, DatabaseUnreachable } from './gave-up.js'
import { createHosts } from './hosts.js'
import type { Sql, Statement, Tx } from './sql.js'

export interface DatabaseOptions extends ConnectOptions {
  /** Connections of this process, all pools together. */
  poolSize: number
}

export interface WorkOptions {
  /** Waits this long for a row lock instead of the pool's default. */
  lockTimeoutMs?: number
}

export interface Database {
  /** For short statements of the process itself. No request uses it: what a tenant or a stranger asks has a share. */
  readonly sql: Sql
  /**
   * For statements that let a request in, on the connections of `sql`: they wait neither for a row lock of `transaction` nor
   * for what a tenant reads. A sender of many at once, a tenant or a network, has half of them.
   */
  enter<T>(sender: string, fn: (sql: Sql) => Promise<T>): Promise<T>
  /** For what is read of a tenant, which may be long: lists and pages. A tenant reads on half of the connections. */
  read<T>(tenantId: string, fn: (sql: Sql) => Promise<T>): Promise<T>
  /** Runs `fn` in one transaction on one connection. A tenant holds at most half of the working connections. */
  transaction<T>(tenantId: string, fn: (tx: Tx) => Promise<T>, options?: WorkOptions): Promise<T>
  /** For a write that is one statement: the tenant's share of connections without BEGIN and COMMIT. */
  single<T>(tenantId: string, fn: (sql: Sql) => Promise<T>): Promise<T>
  /** For what a request needs of its tenant by key: among the writes, so that a kill does not wait for lists of the tenant. */
  find<T>(tenantId: string, fn: (sql: Sql) => Promise<T>): Promise<T>
  /** What `/metrics` shows of the pool. */
  readonly load: () => { active: number; waiting: number; size: number }
  close(): Promise<void>
}

/**
 * Writes find their rows by key. Without this a plan made while a table was small would read that table from end to end
 * until statistics are gathered again.
 */
const BY_KEY = { enable_seqscan: 'off' }

/** How long statements wait for others of the same tenant or address. */
const ENTER_WAIT_MS = 3_000
const READ_WAIT_MS = 10_000

export function createDatabase(options: DatabaseOptions): Database {
  // Three pools, so that authentication never queues behind a write that waits for a row lock, nor behind a long list.
  const quickSize = Math.ceil(options.poolSize / 7)
  const readSize = Math.max(1, Math.floor(options.poolSize / 6))
  const workSize = Math.max(2, options.poolSize - quickSize - readSize)
  const hosts = createHosts(options.url)
  const quick = connect({ ...options, name: 'entrance' }, { max: quickSize }, hosts)
  const reading = connect({ ...options, name: 'reading' }, { max: readSize }, hosts)
  const work = connect({ ...options, name: 'work' }, { max: workSize, settings: BY_KEY }, hosts)
  const pools = [quick, reading, work]
  const isHeard = () => pools.some((pool) => pool.isHeard())
  const shareOf = (slots: number, wait: number) =>
    createAdmissionLimit({
      slots,
      perTenant: Math.ceil(slots / 2),
      waitMs: wait,
      timedOut: (waitMs) => noConnection(isHeard(), waitMs),
    })
  const admission = shareOf(workSize, options.lockTimeoutMs ?? LOCK_TIMEOUT_MS)
  const entrance = shareOf(quickSize, ENTER_WAIT_MS)
  const readers = shareOf(readSize, READ_WAIT_MS)
  return {
    sql: quick,
    enter: (sender, fn) => entrance.run(sender, () => fn(quick)),
    read: (tenantId, fn) => readers.run(tenantId, () => fn(reading)),
    transaction: (tenantId, fn, { lockTimeoutMs: lockFor } = {}) =>
      admission.run(tenantId, () =>
        work.begin(async (tx) => {
          if (lockFor !== undefined) await tx`select set_config('lock_timeout', ${String(lockFor)}, true)`
          return fn(tx)
        }),
      ),
    find: (tenantId, fn) => admission.run(tenantId, () => fn(work)),
    single: (tenantId, fn) => admission.run(tenantId, () => fn(work)),
    load: () => ({ ...admission.load(), size: workSize }),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: isHeard() ? 5 : 0.1 })))
    },
  }
}

/** Turns off statement, lock and idle timeouts for this transaction. */
export async function disableTimeouts(tx: Tx, lockTimeoutMs = 0): Promise<void> {
  tx.waitForAnswers()
  await tx`
    select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
}

/** Why a statement got no connection: others have them all, or there are none to be had. */
const noConnection = (isHeard: boolean, waitedMs: number): Error =>
  isHeard ? new DatabaseBusy(waitedMs) : new DatabaseUnreachable(`PostgreSQL was not heard within ${waitedMs} ms`)

/**
 * Gives a statement up after `ms`. One that has a connection is not cancelled: that takes another connection, and its own
 * timeout ends it anyway.
 */
export async function within<Rows>(ms: number, sql: Sql, statement: Statement<Rows>): Promise<Rows> {
  let timer: NodeJS.Timeout | undefined
  const givenUp = new Promise<never>((_, fail) => {
    timer = setTimeout(() => {
      statement.isGivenUp = true
      fail(noConnection(sql.isHeard() && !statement.isSent, ms))
    }, ms)
  })
  try {
    return await Promise.race([statement.execute(), givenUp])
  } finally {
    clearTimeout(timer)
  }
}
