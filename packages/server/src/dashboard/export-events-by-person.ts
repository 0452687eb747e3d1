import type { Input, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { exportPage } from '../ledgers/export-page.js'

/** The pages of the proof that a person downloads: the same as a program's export. */
export async function exportEventsByPerson(
  ctx: UserContext,
  { params, query }: Input<Routes['exportEventsByPerson']>,
): Promise<Reply<Routes['exportEventsByPerson']>> {
  const { session } = await loadForDecision(ctx, params.session_id)
  return inRead(ctx, (sql) => exportPage(sql, session, query))
}
