import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { loadForDecision } from '../change/change-session.js'
import { pendingCalls, sessionView } from '../change/session-view.js'
import type { UserContext } from '../context/context.js'
import { loadListedSession } from '../store/dashboard/session-list.js'
import { sessionRow } from './session-row.js'

export async function loadSessionDetail(
  ctx: UserContext,
  { params }: Input<Routes['loadSessionDetail']>,
): Promise<Reply<Routes['loadSessionDetail']>> {
  const { session, plan } = await loadForDecision(ctx, params.session_id)
  const row = await loadListedSession(ctx.app.database.sql, ctx.tenant.tenantId, params.session_id)
  if (row === undefined) throw new ApiError('NOT_FOUND')
  return { session: sessionView(session, plan), pending: pendingCalls(session), row: sessionRow(row) }
}
