import type { Input, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import { pendingCalls, sessionView } from '../change/session-view.js'
import type { Context } from '../context/context.js'

/** Loads the runtime view of a session and, when asked, its pending work. */
export async function loadSession(
  ctx: Context,
  { params, query }: Input<Routes['loadSession']>,
): Promise<Reply<Routes['loadSession']>> {
  const { session, plan } = await loadForDecision(ctx, params.session_id)
  return {
    session: sessionView(session, plan),
    ...(query.include === 'pending' ? { pending: pendingCalls(session) } : {}),
    ledger: session.head.ledger,
  }
}
