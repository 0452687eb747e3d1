import { setImmediate } from 'node:timers/promises'
import type { Steps } from '@countersign/engine'
import { ApiError, unauthenticated } from '../base/api-error.js'
import { turns, type WorkOwner } from '../base/work/in-turns.js'
import { TaskFailed } from '../base/work/worker-thread.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { holdSignIn } from '../store/accounts/refresh-tokens.js'
import type { Context, RequestScope } from './context.js'
import type { HttpRequest } from './http-request.js'
import type { Tasks } from './tasks.js'

/** Runs `fn` in one transaction of the tenant. Everything inside uses its `tx`, never `database.sql`. */
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
const LONG_BODY_BYTES = 128 * 1024

export const isLong = ({ bodyBytes }: HttpRequest): boolean => bodyBytes > LONG_BODY_BYTES

/** Does work that was accepted already in turns with that of other tenants. It is never refused. */
export async function inOwedTurns<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  const { value } = await turns.run({ tenantId: owner, isOwed: true }, steps)
  // What follows is the next piece of as much work: requests that came meanwhile go first.
  await setImmediate()
  return value
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
    return await app.requestThread.run(tenantId, name, { body, tenantId }, [body.buffer])
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error
    app.log.warn({ tenant_id: tenantId, bytes: bytes.length, error }, 'a body could not be read')
    throw new ApiError('INVALID_REQUEST', { detail: `body: ${error.message}; send less in one request` })
  }
}
