import type { Input, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import { sessionView } from '../change/session-view.js'
import type { Context } from '../context/context.js'
import { NotInPlace } from '../context/in-place.js'
import { inFind } from '../context/work.js'
import { withArgumentsInDoubt } from '../ledgers/calls-in-doubt.js'
import { findSessionByIds } from '../store/sessions/findable-ids.js'

/** Loads the runtime view of a session and, when asked, its pending work. */
export async function loadSession(
  ctx: Context,
  { params, query: { include } }: Input<Routes['loadSession']>,
): Promise<Reply<Routes['loadSession']>> {
  const { session, plan, query } = await loadForDecision(ctx, params.session_id)
  const isInDoubt = session.head.state.open?.calls.some(({ state }) => state === 'in_doubt')
  // Their arguments are shown, which may have megabytes.
  if (include === 'pending' && isInDoubt && ctx.app.isInPlace) throw new NotInPlace()
  return {
    session: sessionView(session, plan),
    ...(include === 'pending' && { pending: await withArgumentsInDoubt(query, session) }),
    ledger: session.head.ledger,
  }
}

/** Finds the session that a conversation belongs to. Another tenant's, agent's or environment's is not found. */
export async function findSession(
  ctx: Context,
  { body: { agent, environment, ids } }: Input<Routes['findSession']>,
): Promise<Reply<Routes['findSession']>> {
  const scope = { tenantId: ctx.tenant.tenantId, agent, environment }
  return { session_id: await inFind(ctx, (sql) => findSessionByIds(sql, scope, ids)) }
}
