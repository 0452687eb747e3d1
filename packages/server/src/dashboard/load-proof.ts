import { verifyExport } from '@countersign/engine'
import type { ChainedEvent, Input, JsonValue, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { UserContext } from '../context/context.js'
import { findPlan } from '../store/governance/plans.js'
import { loadEvents } from '../store/sessions/ledger.js'

const BATCH = 1_000

/** The whole ledger of a session, verified here, and with everything that it takes to verify it elsewhere. */
export async function loadProof(
  ctx: UserContext,
  { params }: Input<Routes['loadProof']>,
): Promise<Reply<Routes['loadProof']>> {
  const { session } = await loadForDecision(ctx, params.session_id)
  const { tenantId, sessionId, compiledHash } = session.fixed
  const { ledger, state } = session.head
  const events: ChainedEvent[] = []
  while (events.length < ledger.seq) {
    const page = await loadEvents(ctx.app.database.sql, {
      tenantId,
      sessionId,
      after: events.length,
      upTo: ledger.seq,
      limit: BATCH,
    })
    if (page.length === 0) break
    events.push(...page)
  }
  const exported = {
    session_id: sessionId,
    events,
    next: null,
    head: ledger,
    compiled_hash: compiledHash,
    compiled_session: await findPlan(ctx.app.database.sql, tenantId, compiledHash),
    state: state as unknown as JsonValue,
  }
  const check = verifyExport(exported)
  return {
    verified: check.ok,
    events: events.length,
    head: ledger,
    problem: check.ok ? null : `event ${check.brokenAt}: ${check.problem}`,
    export: exported,
  }
}
