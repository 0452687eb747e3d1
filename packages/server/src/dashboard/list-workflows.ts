import type { Input, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listWorkflows as listStoredWorkflows } from '../store/workflows/workflow-view.js'

/** Workflows newest first, page by page. */
export async function listWorkflows(
  ctx: UserContext,
  { query }: Input<Routes['listWorkflows']>,
): Promise<Reply<Routes['listWorkflows']>> {
  const below = readTimeCursor(query.cursor)
  const found = await inRead(ctx, (sql) =>
    listStoredWorkflows(sql, {
      tenantId: ctx.tenant.tenantId,
      below,
      limit: query.limit + 1,
    }),
  )
  return pageByTime(found, query.limit, {
    view: ({ workflowId, status, activity, sessions, openHandoffs, createdAt }) => ({
      workflow_id: workflowId,
      status,
      activity,
      sessions,
      open_handoffs: openHandoffs,
      created_at: createdAt.toISOString(),
    }),
    id: ({ workflowId }) => workflowId,
  })
}
