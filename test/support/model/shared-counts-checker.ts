import { addDecimals, compareDecimals, subtractDecimals } from '@countersign/engine'
import type { LedgerDraw, LedgerExport, SessionEvent } from '@countersign/protocol'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'

/** What the ledgers of sessions say was used of shared limits, by id: taken by proposals and not given back. */
export function countsInLedgers(exports: readonly LedgerExport[]): Map<string, string> {
  const used = new Map<string, string>()
  const add = ({ id, amount }: LedgerDraw) => used.set(id, addDecimals(used.get(id) ?? '0', amount))
  for (const { events } of exports) {
    const open = new Map<string, { draws: readonly LedgerDraw[]; rollsBack: boolean }>()
    for (const event of events as unknown as SessionEvent[]) {
      if (event.type === 'proposal') {
        event.body.draws?.forEach(add)
        for (const { pending_call_id, draws = [], rolls_back } of event.body.calls) {
          if (pending_call_id === null) continue
          open.set(pending_call_id, { draws, rollsBack: rolls_back })
          draws.forEach(add)
        }
      }
      if (event.type !== 'receipts') continue
      for (const { pending_call_id, outcome, late } of event.body.receipts) {
        const call = open.get(pending_call_id)
        if (late || call === undefined) continue
        open.delete(pending_call_id)
        if (outcome !== 'not_executed' && !(outcome === 'failed' && call.rollsBack)) continue
        for (const { id, amount } of call.draws) used.set(id, subtractDecimals(used.get(id) ?? '0', amount))
      }
    }
  }
  return used
}

/** What is stored of the limits that these ledgers use must be what they say. Returns what is not, in words. */
export async function checkSharedCounts(sql: Sql, exports: readonly LedgerExport[]): Promise<string[]> {
  const rows = await sql<{ id: string; used: string }[]>`
    select id, (select coalesce(sum(a), 0) from unnest(amounts) a)::text as used from shared_limit_counts`
  const stored = new Map(rows.map(({ id, used }) => [id, used]))
  return [...countsInLedgers(exports)].flatMap(([id, used]) => {
    const found = stored.get(id) ?? '0'
    return compareDecimals(found, used) === 0 ? [] : [`${found} is stored of ${id}, the ledgers say ${used}`]
  })
}
