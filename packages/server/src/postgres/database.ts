import postgres from 'postgres'
import { forOneHost, isPooled } from '../base/database-address.js'
import { isoTime } from '../base/iso-time.js'
import { createAdmissionLimit } from '../base/work/admission-limit.js'
import { begin } from './begin.js'
import { appendRows } from './driver/append-rows.js'
import { createPoolSockets, keepIdleListShort, type PoolSockets } from './driver/idle-connections.js'
import { readTextArray, writeTextArray } from './driver/text-array.js'
import { DatabaseBusy, DatabaseUnreachable } from './gave-up.js'
import { createPostgresSockets, type PostgresAddress, type PostgresSockets } from './postgres-sockets.js'
import type { Sql, Tx } from './sql.js'
import { createStayAwake } from './stay-awake.js'
import { createWarmConnections } from './warm-connections.js'

export interface DatabaseOptions {
  url: string
  /** Connections of this process, all pools together. */
  poolSize: number
  statementTimeoutMs?: number
  lockTimeoutMs?: number
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
   * for what a tenant reads. Whoever sends many at once, a tenant or a network, has half of them.
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

export const STATEMENT_TIMEOUT_MS = 15_000
export const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 10_000
/** How long statements wait for others of the same tenant or address. */
const ENTER_WAIT_MS = 3_000
const READ_WAIT_MS = 10_000

export function createDatabase(options: DatabaseOptions): Database {
  const lockTimeoutMs = options.lockTimeoutMs ?? LOCK_TIMEOUT_MS
  // Three pools, so that authentication never queues behind a write that waits for a row lock, nor behind a long list.
  const quickSize = Math.ceil(options.poolSize / 7)
  const readSize = Math.max(1, Math.floor(options.poolSize / 6))
  const workSize = Math.max(2, options.poolSize - quickSize - readSize)
  const sockets = createPostgresSockets(options.url)
  const quick = connect(options, { max: quickSize, max_pipeline: 1 }, sockets)
  const reading = connect(options, { max: readSize, max_pipeline: 1 }, sockets)
  const work = createWarmConnections(workSize, () => connect(options, { max: 1, connection: FIXED_PLANS }, sockets))
  const stopTidying = [quick, reading].map((pool) => keepIdleListShort(pool, socketsOf(pool)))
  const shareOf = (pool: Sql, slots: number, wait: number) =>
    createAdmissionLimit({
      slots,
      perTenant: Math.ceil(slots / 2),
      waitMs: wait,
      timedOut: (waitMs) => noConnection(pool, waitMs),
    })
  const admission = shareOf(work.any, workSize, lockTimeoutMs)
  const entrance = shareOf(quick, quickSize, ENTER_WAIT_MS)
  const readers = shareOf(reading, readSize, READ_WAIT_MS)
  const stayAwake = createStayAwake()
  return {
    sql: quick,
    enter: (sender, fn) => entrance.run(sender, () => fn(quick)),
    read: (tenantId, fn) => readers.run(tenantId, () => fn(reading)),
    transaction: (tenantId, fn, { lockTimeoutMs: lockFor } = {}) =>
      admission.run(tenantId, () =>
        work.use((sql) =>
          begin(sql, async (tx) => {
            if (lockFor !== undefined) await tx`select set_config('lock_timeout', ${String(lockFor)}, true)`
            return fn(tx)
          }),
        ),
      ),
    find: (tenantId, fn) => admission.run(tenantId, () => work.use(fn)),
    single: (tenantId, fn) => admission.run(tenantId, () => work.use((sql) => stayAwake.while(fn(sql)))),
    load: () => ({ ...admission.load(), size: workSize }),
    close: async () => {
      for (const stop of stopTidying) stop()
      // The driver would wait for connections that it is still trying to make.
      const timeout = sockets.isHeard() ? 5 : 0.1
      await Promise.all([quick.end({ timeout }), reading.end({ timeout }), work.end(timeout)])
    },
  }
}

/**
 * Writes find their rows by key, so one plan serves every value and is made once. Without the second setting a plan made
 * while a table was small would read that table from end to end until statistics are gathered again.
 */
const FIXED_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }

/** For a transaction that takes as long as it takes, whatever the connection was set to. */
export async function takeTime(tx: Tx, lockTimeoutMs = 0): Promise<void> {
  await tx`
    select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
}

/** What each pool knows of its connections, and how long each may be silent while it has a statement to answer. */
const SOCKETS = new WeakMap<Sql, { sockets: PostgresSockets; own: PoolSockets; silenceMs: number }>()
/** More than a statement may take. */
const SILENCE_PER_STATEMENT_TIMEOUT = 1.3

/** A pool with our timeouts and types. Also used where one connection is enough (migrations, tests). */
export function connect(
  options: Omit<DatabaseOptions, 'poolSize'>,
  { connection = {}, ...pool }: { max: number; max_pipeline?: number; connection?: Readonly<Record<string, string>> },
  sockets: PostgresSockets = createPostgresSockets(options.url),
): Sql {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const own = createPoolSockets()
  const { openPrimary } = sockets
  const pooled = isPooled(options.url)
  const sql = postgres(forOneHost(options.url), {
    ...pool,
    connect_timeout: 5,
    // Short and flat: after an outage the next request finds PostgreSQL again, without a restart.
    backoff: () => 0.02,
    onnotice: () => {},
    // Columns only: `postgres.camel` would rename keys inside json as well.
    transform: { column: { from: postgres.toCamel } },
    prepare: !pooled,
    connection: {
      application_name: 'countersign',
      // A connection that others use as well has the settings of its role.
      ...(!pooled && {
        statement_timeout: statementTimeoutMs,
        lock_timeout: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
        // Pages read little, but PostgreSQL may expect much and compile the statement first, which takes longer than to run it.
        jit: 'off',
        // One statement has one process: those of a tenant would otherwise take three times its share of the processors.
        max_parallel_workers_per_gather: 0,
        ...connection,
      }),
    },
    types: TYPES,
    // The driver asks for the types of arrays on every new connection, and nobody catches it when that connection breaks.
    fetch_types: false,
    // An option of the driver that its types leave out.
    ...({
      socket: (to: PostgresAddress) => (openPrimary ? openPrimary().then(own.add) : own.add(sockets.open(to))),
    } as object),
  })
  appendRows(sql)
  SOCKETS.set(sql, { sockets, own, silenceMs: statementTimeoutMs * SILENCE_PER_STATEMENT_TIMEOUT })
  return sql
}

/** Those of one pool alone. */
export const socketsOf = (sql: Sql): PoolSockets => SOCKETS.get(sql)?.own ?? createPoolSockets()

/** Why a statement of this pool got no connection: others have them all, or there are none to be had. */
function noConnection(sql: Sql, waitedMs: number): Error {
  return SOCKETS.get(sql)?.sockets.isHeard() ? new DatabaseBusy(waitedMs) : new DatabaseUnreachable(waitedMs)
}

/**
 * Gives a statement up after `ms`. One that still waits for a connection is given up as soon as it is known that there
 * is none: the driver refuses only one waiting statement for each connection that it tries.
 */
export async function within<Rows extends readonly postgres.MaybeRow[]>(
  ms: number,
  sql: Sql,
  query: postgres.PendingQuery<Rows>,
): Promise<postgres.RowList<Rows>> {
  const sinceMs = performance.now()
  const known = SOCKETS.get(sql)
  let giveUp: (why: Error) => void = () => {}
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const refuse = () => {
    giveUp(noConnection(sql, ms))
    // One that has a connection is not cancelled: that takes another connection, and its own timeout ends it anyway.
    if (driverKnows(query).state === null) query.cancel()
  }
  const runOut = () => {
    if (driverKnows(query).active !== true) return refuse()
    giveUp(new DatabaseUnreachable(ms))
    known?.sockets.breakSilent(known.silenceMs)
  }
  const timer = setTimeout(runOut, ms)
  const forget = known?.sockets.onFailure((triedAtMs) => {
    if (triedAtMs >= sinceMs) refuse()
  })
  try {
    return await Promise.race([query, givenUp])
  } finally {
    clearTimeout(timer)
    forget?.()
  }
}

/** What the driver's types leave out: `state` is null until a statement has a connection, `active` is that it runs. */
const driverKnows = (query: object): { state?: unknown; active?: unknown } => query

const readTime = (text: string): Date => new Date(text)
const writeTime = (time: Date | string): string => isoTime(time instanceof Date ? time : new Date(time))

/**
 * In place of the driver's own: bigint (20) as number, times (1184) written by `isoTime`, json (114) and text[] (1009),
 * the only arrays that are sent or selected. No column is jsonb.
 */
const TYPES: Record<string, never> = {
  bigint: { to: 20, from: [20], serialize: String, parse: readBigint },
  date: { to: 1184, from: [1082, 1114, 1184], serialize: writeTime, parse: readTime },
  json: { to: 114, from: [114], serialize: (value: unknown) => JSON.stringify(value), parse: JSON.parse },
  texts: { to: 1009, from: [1009], serialize: writeTextArray, parse: readTextArray },
} as Record<string, postgres.PostgresType> as Record<string, never>

function readBigint(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`a bigint column holds ${text}, beyond 2^53 - 1`)
  return value
}
