import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { listWorkflows as listStoredWorkflows } from '../../store/workflow-view.js'
import { readCursor, writeCursor } from './session-cursor.js'

/** Workflows newest first, page by page. */
export async function listWorkflows(
  ctx: UserContext,
  { query }: Input<Routes['listWorkflows']>,
): Promise<Reply<Routes['listWorkflows']>> {
  const cursor = readCursor(query.cursor)
  const below = cursor === null ? null : { createdAt: cursor.createdAt, id: cursor.sessionId }
  const found = await listStoredWorkflows(ctx.sql, { tenantId: ctx.tenantId, below, limit: query.limit + 1 })
  const page = found.slice(0, query.limit)
  const last = page.at(-1)
  const isMore = found.length > page.length && last !== undefined
  return {
    items: page.map(({ workflowId, status, sessions, openHandoffs, createdAt }) => ({
      workflow_id: workflowId,
      status,
      sessions,
      open_handoffs: openHandoffs,
      created_at: createdAt.toISOString(),
    })),
    next: isMore ? writeCursor({ createdAt: last.createdAt, sessionId: last.workflowId }) : null,
  }
}
