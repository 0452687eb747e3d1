import type { LedgerExport } from '@countersign/protocol'
import { call } from './api.js'

/**
 * The whole ledger of a session as a file that `countersign verify FILE` reads. It is read page by page up to the head that
 * the first page names, since it may grow meanwhile, and put together as text, so that no page is held twice.
 */
export async function fetchLedger(sessionId: string): Promise<Blob> {
  const page = (after: number) =>
    call('exportEventsByPerson', { params: { session_id: sessionId }, query: { after, limit: 1_000 } })
  const { events, ...first } = await page(0)
  const parts = [`{"events":[${textOf(events)}`]
  for (let { next } = first; next !== null && next < first.head.seq; ) {
    const more = await page(next)
    parts.push(`,${textOf(more.events.filter(({ seq }) => seq <= first.head.seq))}`)
    next = more.next
  }
  const rest = JSON.stringify({ ...first, next: null })
  parts.push(`],${rest.slice(1)}\n`)
  return new Blob(parts, { type: 'application/json' })
}

const textOf = (events: LedgerExport['events']): string => events.map((event) => JSON.stringify(event)).join(',\n')
