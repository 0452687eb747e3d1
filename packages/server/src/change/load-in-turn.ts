import { runToEnd } from '@countersign/engine'
import type { Context } from '../context/context.js'
import { inOwedTurns } from '../context/work.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { findSession, readSession } from '../store/sessions/sessions.js'

/** About half a millisecond. */
const SHORT_STATE = 65_536

/**
 * The session as it is stored; null when the tenant has none by this id. A long state is parsed in turns with the work of
 * other tenants, and the tenant's share of connections bounds how many of them are in memory meanwhile.
 */
export function loadInTurn(ctx: Context, sessionId: string): Promise<SessionRow | null> {
  const { tenantId } = ctx.tenant
  return ctx.app.database.find(tenantId, async (sql) => {
    const row = await findSession(sql, tenantId, sessionId)
    if (row === null) return null
    return row.state.length <= SHORT_STATE ? runToEnd(readSession(row)) : inOwedTurns(tenantId, readSession(row))
  })
}
