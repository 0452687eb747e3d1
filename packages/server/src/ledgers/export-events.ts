import type { Input, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { exportPage } from './export-page.js'

/** Exports the ledger page by page; the first page holds the plan and the snapshot, so that it verifies offline. */
export async function exportEvents(
  ctx: Context,
  { params, query }: Input<Routes['exportEvents']>,
): Promise<Reply<Routes['exportEvents']>> {
  const { session } = await loadForDecision(ctx, params.session_id)
  return inRead(ctx, (sql) => exportPage(sql, session, query))
}
