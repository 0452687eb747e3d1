import type { Input, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listSessions as listStoredSessions } from '../store/dashboard/session-list.js'
import { sessionRow } from './session-row.js'

/** Sessions by their start, filtered, page by page: for people and for programs of the tenant. */
export async function listSessions(
  ctx: Context,
  { query }: Pick<Input<Routes['listSessions']>, 'query'>,
): Promise<Reply<Routes['listSessions']>> {
  const filter = {
    tenantId: ctx.tenant.tenantId,
    search: query.q === undefined || query.q === '' ? null : query.q,
    agent: query.agent ?? null,
    environment: query.environment ?? null,
    status: query.status ?? null,
    reason: query.reason ?? null,
    label: query.label ?? null,
    from: query.from === undefined ? null : new Date(query.from),
    to: query.to === undefined ? null : new Date(query.to),
    activity: query.activity ?? null,
    workflowId: query.workflow_id ?? null,
    oldestFirst: query.order === 'oldest',
    below: readTimeCursor(query.cursor),
    limit: query.limit + 1,
  }
  const { rows, stopped, isCut } = await inRead(ctx, (sql) => listStoredSessions(sql, filter))
  return pageByTime(rows, query.limit, { view: sessionRow, id: ({ sessionId }) => sessionId, stopped, isCut })
}
