import { ROUTES, type RouteName } from '@countersign/protocol'
import type { Context, OpenContext } from '../context/context.js'
import { IN_PLACE, NotInPlace } from '../context/in-place.js'
import type { Asked, IsolatedRequest } from '../context/isolation.js'
import type { Entered } from '../entry/authorize.js'
import { checkKeyBeforeRefusal } from '../entry/recent-key.js'
import { isIsolated, isSlow } from './handlers.js'
import { type AnyHandler, operate } from './operate.js'

/** The reply as JSON: in place where that takes a few milliseconds at most, otherwise from a thread. */
export async function answer(handler: AnyHandler, ctx: Entered, asked: Asked): Promise<string | Buffer> {
  const { app, tenant } = ctx
  if (tenant === undefined) return operate(handler, ctx, asked)
  if (!isIsolated.has(asked.route) && (asked.body?.length ?? 0) <= IN_PLACE.bodyBytes) {
    try {
      return await operate(handler, ctx, asked)
    } catch (error) {
      if (!(error instanceof NotInPlace)) throw error
    }
  }
  await checkKeyBeforeRefusal(ctx.recentKey)
  const { session_id } = asked.params
  const route = ROUTES[asked.route as RouteName]
  if (session_id !== undefined && route.method !== 'GET') app.sessions.forget(session_id)
  const options = { isSlow: isSlow.has(asked.route), isAdmitted: route.throttle === 'evidence' }
  return app.isolation.answer(isolated(ctx as Context, asked), options)
}

/** What a thread needs of a request. */
function isolated({ app, tenant, signIn, request }: Context & OpenContext, asked: Asked): IsolatedRequest {
  const { tenantId, quota, keyId, userId, scope } = tenant
  const { id: requestId, clientAddress } = request
  const publicUrl = app.publicUrl()
  return { ...asked, requestId, clientAddress, publicUrl, tenant: { tenantId, quota, keyId, userId, scope }, signIn }
}
