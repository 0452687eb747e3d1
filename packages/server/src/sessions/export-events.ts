import type { Input, JsonValue, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { findPlan } from '../store/governance/plans.js'
import { loadEvents } from '../store/sessions/ledger.js'

/** Exports the ledger page by page; the first page holds the plan and the snapshot, so that it verifies offline. */
export async function exportEvents(
  ctx: Context,
  { params, query }: Input<Routes['exportEvents']>,
): Promise<Reply<Routes['exportEvents']>> {
  const { session } = await loadForDecision(ctx, params.session_id)
  const { tenantId, sessionId, compiledHash } = session.fixed
  const { ledger, state } = session.head
  const page = { tenantId, sessionId, after: query.after, upTo: ledger.seq, limit: query.limit }
  const events = await loadEvents(ctx.app.database.sql, page)
  const last = events.at(-1)?.seq ?? ledger.seq
  const isFirst = query.after === 0
  return {
    session_id: sessionId,
    events,
    next: last < ledger.seq ? last : null,
    head: ledger,
    compiled_hash: compiledHash,
    compiled_session: isFirst ? await findPlan(ctx.app.database.sql, tenantId, compiledHash) : null,
    state: isFirst ? (state as unknown as JsonValue) : null,
  }
}
