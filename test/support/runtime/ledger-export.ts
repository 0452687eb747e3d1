import type { LedgerExport } from '@countersign/protocol'
import { expectStatus } from './governed-session.js'
import type { Api } from './runtime.js'

/** The whole ledger of a session, read page by page. */
export async function exportOf(api: Api, sessionId: string, limit = 500): Promise<LedgerExport> {
  const page = async (after: number) =>
    expectStatus(
      await api.exportEvents({
        params: { session_id: sessionId },
        query: { after: String(after), limit: String(limit) },
      }),
      200,
    ).body as LedgerExport
  const first = await page(0)
  const events = [...first.events]
  for (let next = first.next; next !== null; ) {
    const more = await page(next)
    events.push(...more.events)
    next = more.next
  }
  return { ...first, events, next: null }
}
