import { ApiError, unauthenticated } from '../base/api-error.js'
import { TaskFailed } from '../base/work/worker-thread.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { holdSignIn } from '../store/accounts/refresh-tokens.js'
import type { Context, RequestScope } from './context.js'
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

/** Whose work it is. */
export interface WorkOwner {
  readonly tenantId: string
  /** Accepted already, so that it is not refused: the next part of a request. */
  readonly isOwed: boolean
}

/** Requests whose first long work was accepted: the rest of it is not refused halfway. */
const accepted = new WeakSet<RequestScope>()

export function workOwner({ tenant, request }: Context): WorkOwner {
  const isOwed = accepted.has(request)
  accepted.add(request)
  return { tenantId: tenant.tenantId, isOwed }
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

type PlanTask = 'compilePack' | 'comparePlans' | 'describePack' | 'findDrift' | 'judgePlayground'

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
    const detail = `the plan could not be read or compared: ${error.why}; write fewer or shorter files and rules`
    throw new ApiError('PLAN_INVALID', { detail, problems: [detail] })
  }
}
