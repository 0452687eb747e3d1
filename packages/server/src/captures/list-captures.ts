import type { Input, JsonValue, Reply, Routes } from '@countersign/protocol'
import { pageByTime, readTimeCursor } from '../base/time-cursor.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listCaptures as listStoredCaptures } from '../store/captures/captures.js'

/** Captures newest first, page by page, with the calls that their level stores. */
export async function listCaptures(
  ctx: UserContext,
  { query }: Input<Routes['listCaptures']>,
): Promise<Reply<Routes['listCaptures']>> {
  const { rows, stopped } = await inRead(ctx, (sql) =>
    listStoredCaptures(sql, {
      tenantId: ctx.tenant.tenantId,
      agent: query.agent ?? null,
      tool: query.tool ?? null,
      below: readTimeCursor(query.cursor),
      limit: query.limit + 1,
    }),
  )
  return pageByTime(rows, query.limit, {
    view: (capture) => ({
      capture_id: capture.captureId,
      agent: capture.agent,
      conversation_id: capture.conversationId,
      at: capture.at.toISOString(),
      tool_names: capture.toolNames,
      capture_level: capture.captureLevel,
      decision: capture.decision,
      calls: capture.calls as unknown as JsonValue,
    }),
    id: ({ captureId }) => captureId,
    isCut: (rows[0]?.inPage ?? 0) > rows.length,
    stopped,
  })
}
