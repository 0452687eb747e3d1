import { setImmediate } from 'node:timers/promises'
import type { Steps } from '@countersign/engine'
import { bucketFor } from '@countersign/protocol'
import { ApiError, unauthenticated } from '../base/api-error.js'
import { takeStep } from '../base/work/held-thread.js'
import { turns, type WorkOwner } from '../base/work/in-turns.js'
import { TaskFailed } from '../base/work/worker-thread.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { chargeTokens } from '../store/accounts/buckets.js'
import { holdSignIn } from '../store/accounts/refresh-tokens.js'
import type { Context, RequestScope } from './context.js'
import type { HttpRequest } from './http-request.js'
import type { Tasks } from './tasks.js'

/** Runs `fn` in one transaction of the tenant. Everything inside uses its `tx`, no other connection. */
export function inTransaction<T>(ctx: Context, fn: (tx: Tx) => Promise<T>, options?: WorkOptions): Promise<T> {
  const { app, tenant, signIn } = ctx
  if (signIn === null) return app.database.transaction(tenant.tenantId, fn, options)
  const asSignedIn = async (tx: Tx) => {
    // A body may come slowly: a person who was signed out meanwhile writes nothing any more.
    if (!(await holdSignIn(tx, signIn))) throw unauthenticated()
    return fn(tx)
  }
  return app.database.transaction(tenant.tenantId, asSignedIn, options)
}

/** For lists and pages of a tenant: its share of the connections that read. */
export const inRead = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.read(tenant.tenantId, fn)

/** For what a request needs of its tenant by key: the tenant's share of the connections that write. */
export const inFind = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.find(tenant.tenantId, fn)

/** For a write that is one statement: the tenant's share of connections without BEGIN and COMMIT. */
export const inStatement = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.single(tenant.tenantId, fn)

/** Requests whose first long work was accepted: the rest of it is not refused halfway. */
const accepted = new WeakSet<RequestScope>()

export function workOwner({ tenant, request }: Context): WorkOwner {
  const isOwed = accepted.has(request)
  accepted.add(request)
  return { tenantId: tenant.tenantId, isOwed }
}

/** Does long work of a request in turns with that of other tenants. Throws 429 or 503 before anything is done. */
export const inTurns = async <Result>(ctx: Context, steps: Steps<Result>): Promise<Result> =>
  (await turns.run(workOwner(ctx), steps)).value

/** A request with a longer body does its work piece by piece: a megabyte is tens of milliseconds at every stage. */
const LONG_BODY_BYTES = 32 * 1024

export const isLong = ({ bodyBytes }: HttpRequest): boolean => bodyBytes > LONG_BODY_BYTES

/** Does work that was accepted already in turns with that of other tenants. It is never refused. */
export async function inOwedTurns<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  const { value } = await turns.run({ tenantId: owner, isOwed: true }, steps)
  // What follows is the next piece of as much work: requests that came meanwhile go first.
  await setImmediate()
  return value
}

/** The same for what a request brought. Where its body is short it is done at once, which mostly takes less in all. */
export const inTurnsIfLong = async <Result>(
  { tenant, request }: Context,
  steps: Steps<Result>,
  atOnce: () => Result,
): Promise<Result> => (isLong(request.http) ? inOwedTurns(tenant.tenantId, steps) : atOnce())

const PIECE_MS = 5

/** Each waits for the one before it, so that one piece is done in a turn of the event loop, however many there are. */
let lastPiece: Promise<void> = Promise.resolve()

/** Does work for which others wait at a lock: it takes no turns, and others go first after every piece. */
export async function inPieces<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  let begunMs = performance.now()
  for (;;) {
    const step = takeStep(owner, steps)
    if (step.done === true) return step.value
    if (performance.now() - begunMs < PIECE_MS) continue
    lastPiece = lastPiece.then(() => setImmediate())
    await lastPiece
    begunMs = performance.now()
  }
}

/** A larger body is read in the thread: parsing, checking and writing out a megabyte takes tens of milliseconds. */
const THREAD_BYTES = 64 * 1024

type Reading = 'readCaptures' | 'readRun'

/** What a body says: read here, or in the thread where it is large. */
export async function readBeside<Name extends Reading>(
  { app, tenant: { tenantId } }: Context,
  name: Name,
  read: (input: Tasks[Name]['input']) => Tasks[Name]['output'],
  bytes: Uint8Array,
): Promise<Tasks[Name]['output']> {
  if (bytes.length <= THREAD_BYTES) return read({ body: bytes, tenantId })
  // A copy of its own: what it came in may belong to the connection.
  const body = new Uint8Array(bytes)
  try {
    return await app.requestThread.run(tenantId, name, { body, tenantId }, { transfer: [body.buffer] })
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error
    app.log.warn({ tenant_id: tenantId, bytes: bytes.length, error }, 'a body could not be read')
    throw new ApiError('INVALID_REQUEST', {
      detail: `body: it could not be read: ${error.why}; send less in one request`,
    })
  }
}

type PlanTask = 'tryPlan' | 'compilePack' | 'comparePlans' | 'describePack' | 'findDrift' | 'judgePlayground'

/**
 * Reads, compiles or compares what people wrote, in the thread for that: a file of 200 kB takes a second, and nothing
 * divides it. Who used it least comes next. Throws 429 or 503 before anything is done, and 400 where it is too much for the thread.
 */
export async function inPlanThread<Name extends PlanTask>(
  ctx: Context,
  name: Name,
  input: Tasks[Name]['input'],
  { tenantId, isOwed }: WorkOwner = workOwner(ctx),
): Promise<Tasks[Name]['output']> {
  try {
    return await ctx.app.planThread.run(tenantId, name, input, { isOwed })
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error
    ctx.app.log.warn({ tenant_id: tenantId, error }, 'a plan was too much for the thread that reads plans')
    await chargeForTime(ctx, error.ms)
    const detail = `the plan could not be read or compared: ${error.why}; write fewer or shorter files and rules`
    throw new ApiError('PLAN_INVALID', { detail, problems: [detail] })
  }
}

/** Time that costs one request more. */
const MS_PER_TOKEN = 100

/** Counts work that was refused in the end as further requests of its tenant. */
export async function chargeForTime(ctx: Context, ms: number): Promise<void> {
  const tokens = Math.floor(ms / MS_PER_TOKEN)
  if (tokens === 0) return
  const { tenantId: owner, quota } = ctx.tenant
  const throttle = ctx.signIn === null ? 'write' : 'dashboard'
  const from = bucketFor(ctx.app.config.quotas[quota], { method: 'POST', throttle })
  if (from !== null) await inStatement(ctx, (sql) => chargeTokens(sql, { owner, bucket: from.bucket, tokens }))
}
