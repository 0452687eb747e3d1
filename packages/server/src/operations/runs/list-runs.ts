import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../../context.js'
import { runView } from '../../runs/start.js'
import { listRuns as listStoredRuns } from '../../store/runs.js'
import { readTimeCursor, writeTimeCursor } from '../../time-cursor.js'

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
  const page = runs.slice(0, query.limit)
  const last = runs.length > page.length ? page.at(-1) : undefined
  return {
    items: page.map(runView),
    next: last === undefined ? null : writeTimeCursor({ at: last.createdAt, id: last.runId }),
  }
}
