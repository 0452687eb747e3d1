import { runToEnd } from '@countersign/engine'
import type { Context } from '../context/context.js'
import { largeStates, type Places } from '../context/places.js'
import { inFind, inOwedTurns } from '../context/work.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { findSession, IS_LARGE, readSession } from '../store/sessions/sessions.js'

/** About half a millisecond. */
const SMALL_STATE = 65_536

/**
 * The session as it is stored; null when the tenant has none by this id. A large state takes one of the places, and is parsed
 * in turns with the work of other tenants.
 */
export async function loadInTurn(
  ctx: Context,
  sessionId: string,
  places: Places = largeStates,
): Promise<SessionRow | null> {
  const { tenantId } = ctx.tenant
  const read = (mostBytes?: number) => inFind(ctx, (sql) => findSession(sql, { tenantId, sessionId }, mostBytes))
  const small = await read(SMALL_STATE)
  if (small === null) return null
  if (small !== IS_LARGE) return runToEnd(readSession(small))
  await places.take(ctx)
  const large = await read()
  return large === null || large === IS_LARGE ? null : inOwedTurns(tenantId, readSession(large))
}
