import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { runView } from '../../runs/start.js'
import { listRuns as listStoredRuns } from '../../store/runs.js'
import { pageByTime, readTimeCursor } from '../../time-cursor.js'

/** Runs newest first, page by page. */
export async function listRuns(
  ctx: UserContext,
  { query }: Input<Routes['listRuns']>,
): Promise<Reply<Routes['listRuns']>> {
  const runs = await listStoredRuns(ctx.sql, {
    tenantId: ctx.tenantId,
    below: readTimeCursor(query.cursor),
    limit: query.limit + 1,
  })
  return pageByTime(runs, query.limit, { view: runView, id: ({ runId }) => runId })
}
