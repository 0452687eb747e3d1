import type { Input, Reply, Routes, SessionDetail } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { loadForDecision } from '../change/change-session.js'
import { pendingCalls, sessionView } from '../change/session-view.js'
import { stickyOwnerText } from '../change/shared-limits.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { loadListedSession } from '../store/dashboard/session-list.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { loadBeginning } from '../store/sessions/sticky-labels.js'
import { sessionRow } from './session-row.js'

export async function loadSessionDetail(
  ctx: UserContext,
  { params }: Input<Routes['loadSessionDetail']>,
): Promise<Reply<Routes['loadSessionDetail']>> {
  const { session, plan } = await loadForDecision(ctx, params.session_id)
  const row = await inRead(ctx, (sql) => loadListedSession(sql, ctx.tenant.tenantId, params.session_id))
  if (row === undefined) throw new ApiError('NOT_FOUND')
  return {
    session: sessionView(session, plan),
    pending: pendingCalls(session),
    row: sessionRow(row),
    sticky_labels: await stickyLabels(ctx, session),
    keys: keptKeys(session.head.state),
  }
}

async function stickyLabels(ctx: UserContext, { fixed, head }: SessionRow): Promise<string[]> {
  const owner = stickyOwnerText(fixed.principal)
  const { labels } = head.state
  if (owner === null || labels.length === 0) return []
  const { stickyLabels } = await inRead(ctx, (sql) => loadBeginning(sql, ctx.tenant.tenantId, owner))
  return labels.filter((label) => stickyLabels.includes(label))
}

/** By name; values and keys are hashes, which say nothing to a reader. */
function keptKeys({ keyCounts = {}, openings = {} }: SessionRow['head']['state']): SessionDetail['keys'] {
  const named = Object.entries(keyCounts).map(([countedAs, keys]) => {
    const dot = countedAs.indexOf('.')
    return { kind: countedAs.slice(0, dot) as 'bindings', name: countedAs.slice(dot + 1), keys }
  })
  const opened = Object.entries(openings).map(([name, witnesses]) => ({
    kind: 'openings' as const,
    name,
    keys: Object.keys(witnesses).length,
  }))
  return [...named, ...opened].sort((a, b) => b.keys - a.keys || (a.name < b.name ? -1 : 1))
}
