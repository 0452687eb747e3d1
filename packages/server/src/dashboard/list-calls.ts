import type { Input, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { callRow, listCalls as listStoredCalls } from '../store/dashboard/call-list.js'

/** Judged calls newest first, filtered, page by page: the list behind every number of calls. */
export async function listCalls(
  ctx: UserContext,
  { query }: Input<Routes['listCalls']>,
): Promise<Reply<Routes['listCalls']>> {
  const { rows, stopped } = await inRead(ctx, (sql) =>
    listStoredCalls(sql, {
      tenantId: ctx.tenant.tenantId,
      agent: query.agent ?? null,
      decision: query.decision ?? null,
      reason: query.reason ?? null,
      unanswered: query.unanswered !== undefined,
      sessionId: query.session_id ?? null,
      from: query.from === undefined ? null : new Date(query.from),
      to: query.to === undefined ? null : new Date(query.to),
      below: readTimeCursor(query.cursor),
      limit: query.limit + 1,
    }),
  )
  return pageByTime(rows, query.limit, { view: callRow, id: ({ pageKey }) => pageKey, stopped })
}
