import type { Input, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { WrittenReply } from '../context/written-reply.js'
import { listRuns as listStoredRuns } from '../store/runs/runs.js'
import { runText } from './run-reply.js'

/** Runs newest first, page by page. */
export async function listRuns(
  ctx: UserContext,
  { query }: Input<Routes['listRuns']>,
): Promise<WrittenReply<Reply<Routes['listRuns']>>> {
  const runs = await inRead(ctx, (sql) =>
    listStoredRuns(sql, {
      tenantId: ctx.tenant.tenantId,
      compiledHash: query.compiled_hash ?? null,
      below: readTimeCursor(query.cursor),
      limit: query.limit + 1,
    }),
  )
  const { items, next } = pageByTime(runs, query.limit, {
    view: (run) => runText(run, run.report),
    id: ({ runId }) => runId,
    isCut: (runs[0]?.inPage ?? 0) > runs.length,
  })
  return new WrittenReply(`{"items":[${items.join(',')}],"next":${JSON.stringify(next)}}`)
}
