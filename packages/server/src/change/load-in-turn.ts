import { runToEnd } from '@countersign/engine'
import type { Context } from '../context/context.js'
import { largeStates, type Places } from '../context/places.js'
import { inFind, inOwedTurns } from '../context/work.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { findSession, IS_LONG, readSession } from '../store/sessions/sessions.js'

/** About half a millisecond. */
const SHORT_STATE = 65_536

/**
 * The session as it is stored; null when the tenant has none by this id. A long state takes one of the places, and is parsed
 * in turns with the work of other tenants.
 */
export async function loadInTurn(
  ctx: Context,
  sessionId: string,
  places: Places = largeStates,
): Promise<SessionRow | null> {
  const { tenantId } = ctx.tenant
  const read = (mostBytes?: number) => inFind(ctx, (sql) => findSession(sql, { tenantId, sessionId }, mostBytes))
  const short = await read(SHORT_STATE)
  if (short === null) return null
  if (short !== IS_LONG) return runToEnd(readSession(short))
  await places.take(ctx)
  const long = await read()
  return long === null || long === IS_LONG ? null : inOwedTurns(tenantId, readSession(long))
}
