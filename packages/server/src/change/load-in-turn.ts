import { runToEnd } from '@countersign/engine'
import type { WorkflowDefinition } from '@countersign/protocol'
import { asOneStep } from '../base/work/in-turns.js'
import type { Context } from '../context/context.js'
import { largeStates, type Places } from '../context/places.js'
import { inFind, inOwedTurns, inPieces, inTransaction } from '../context/work.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Tx } from '../postgres/sql.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { findSession, IS_LARGE, MOST_BYTES, readSession } from '../store/sessions/sessions.js'
import { findDefinition } from '../store/workflows/workflows.js'

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

/** How a transaction reads what it has locked and may be large. */
export interface LockedReads {
  /** Null when the tenant has none by this id. */
  session(sessionId: string): Promise<SessionRow | null>
  definition(workflowId: string): Promise<WorkflowDefinition>
}

/** Undoes a transaction that met something large without a place for it. */
class NeedsPlace extends Error {}

/**
 * A transaction that reads sessions and workflows behind their locks. Where one is large, all is undone, and done again once
 * the request has one of the places: nobody waits for a place while others wait for its locks.
 */
export async function inTransactionOnSessions<T>(
  ctx: Context,
  fn: (tx: Tx, reads: LockedReads) => Promise<T>,
  { places = largeStates, ...options }: WorkOptions & { readonly places?: Places } = {},
): Promise<T> {
  const { tenantId } = ctx.tenant
  const run = (mostBytes?: number) => inTransaction(ctx, (tx) => fn(tx, lockedReads(tx, tenantId, mostBytes)), options)
  if (!places.isTaken(ctx.request)) {
    try {
      return await run(SMALL_STATE)
    } catch (error) {
      if (!(error instanceof NeedsPlace)) throw error
    }
  }
  await places.take(ctx)
  return run()
}

/** Parses in pieces, because others wait for the locks; whatever its size where none is given. */
export const lockedReads = (tx: Tx, tenantId: string, mostBytes = MOST_BYTES): LockedReads => ({
  session: async (sessionId) => {
    const row = await findSession(tx, { tenantId, sessionId }, mostBytes)
    if (row === IS_LARGE) throw new NeedsPlace()
    return row === null ? null : inPieces(tenantId, readSession(row))
  },
  definition: async (workflowId) => {
    const text = await findDefinition(tx, { tenantId, workflowId }, mostBytes)
    if (text === null) throw new NeedsPlace()
    return inPieces(
      tenantId,
      asOneStep(() => JSON.parse(text)),
    )
  },
})
