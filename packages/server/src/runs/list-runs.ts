import type { Input, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listRuns as listStoredRuns } from '../store/runs/runs.js'
import { runView } from './enqueue-run.js'

/** Runs newest first, page by page. */
export async function listRuns(
  ctx: UserContext,
  { query }: Input<Routes['listRuns']>,
): Promise<Reply<Routes['listRuns']>> {
  const runs = await inRead(ctx, (sql) =>
    listStoredRuns(sql, {
      tenantId: ctx.tenant.tenantId,
      compiledHash: query.compiled_hash ?? null,
      below: readTimeCursor(query.cursor),
      limit: query.limit + 1,
    }),
  )
  return pageByTime(runs, query.limit, {
    view: runView,
    id: ({ runId }) => runId,
    isCut: (runs[0]?.inPage ?? 0) > runs.length,
  })
}
