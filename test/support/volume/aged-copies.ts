import { chainEvent } from '@countersign/engine'
import type { LedgerHead, SessionEvent } from '@countersign/protocol'
import type { Sql, Tx } from '../../../packages/server/src/postgres/sql.js'
import { insertRows } from './insert-rows.js'

export interface AgedCopies {
  readonly tenantId: string
  /** An ended session of the tenant, in no workflow. It stays as it is. */
  readonly original: string
  readonly ids: readonly string[]
  /** What the copies have in place of the original's content; null: the same. */
  readonly content?: ((id: string) => string) | null
  /** The plan that each copy has; null: the original's. It must be stored, and start with the same state. */
  readonly compiledHash?: ((id: string) => string) | null
}

type Differences = Required<Pick<AgedCopies, 'content' | 'compiledHash'>>

type Row = Record<string, unknown>

/** In which an ended session has rows. */
const TABLES = [
  'sessions',
  'session_heads',
  'session_events',
  'receipts',
  'content',
  'session_facets',
  'blocked_proposals',
]

/** Copies of one statement of each table. */
const AT_ONCE = 50

export const AGED = '2020-01-01T00:00:00.123456Z'

/**
 * Copies an ended session under other ids, as if nobody had touched it for years: old enough to archive. The hash chains are
 * made anew, so that the copies verify; their events keep their times.
 */
export async function storeAgedCopies(
  sql: Sql,
  { tenantId, original, ids, content = null, compiledHash = null }: AgedCopies,
): Promise<void> {
  const rows = new Map<string, Row[]>()
  for (const table of TABLES) {
    const found = await sql<{ row: Row }[]>`
      select to_json(t) as row from ${sql(table)} t where tenant_id = ${tenantId} and session_id = ${original}`
    rows.set(
      table,
      found.map(({ row }) => row),
    )
  }
  for (let at = 0; at < ids.length; at += AT_ONCE)
    await sql.begin((tx) => storeSome(tx, rows, ids.slice(at, at + AT_ONCE), { content, compiledHash }))
}

async function storeSome(
  tx: Tx,
  originals: ReadonlyMap<string, readonly Row[]>,
  ids: readonly string[],
  { content, compiledHash }: Differences,
): Promise<void> {
  const copies = new Map(TABLES.map((table) => [table, [] as string[]]))
  for (const id of ids) {
    const hash = compiledHash?.(id) ?? null
    const { events, head } = chained(originals.get('session_events') ?? [], id, hash)
    for (const [table, rows] of originals) {
      const copied =
        table === 'session_events' ? events : rows.map((row) => aged(table, row, { id, head, content, hash }))
      copies.get(table)?.push(...copied.map((row) => JSON.stringify(row)))
    }
  }
  for (const [table, rows] of copies) await insertRows(tx, table, rows)
}

function aged(
  table: string,
  row: Row,
  { id, head, content, hash }: { id: string; head: LedgerHead; hash: string | null } & Pick<Differences, 'content'>,
): Row {
  const copy = { ...row, session_id: id }
  if (table === 'sessions') return { ...copy, created_at: AGED, ...(hash !== null && { compiled_hash: hash }) }
  if (table === 'content' && content) return { ...copy, body: { text: content(id) } }
  if (table !== 'session_heads') return copy
  const facts = { ...JSON.parse(String(row.facts)), ledger: head, updatedAt: '2020-01-01T00:00:00.000Z' }
  return { ...copy, facts: JSON.stringify(facts), revision: head.hash, lease_until: '2020-01-01T00:00:00Z' }
}

function chained(
  rows: readonly Row[],
  id: string,
  compiledHash: string | null,
): { readonly events: Row[]; readonly head: LedgerHead } {
  let head: LedgerHead | null = null
  const events = rows
    .toSorted((a, b) => Number(a.seq) - Number(b.seq))
    .map((row): Row => {
      const { type, at } = row
      const body =
        type === 'created' && compiledHash !== null
          ? JSON.stringify({ ...JSON.parse(String(row.body)), compiled_hash: compiledHash })
          : String(row.body)
      const event = { type, at: new Date(String(at)).toISOString(), body: JSON.parse(body) }
      const { seq, prev_hash, hash } = chainEvent(head, id, event as unknown as SessionEvent)
      head = { seq, hash }
      return { ...row, session_id: id, body, prev_hash, hash }
    })
  if (head === null) throw new Error(`${id} would have no events`)
  return { events, head }
}
