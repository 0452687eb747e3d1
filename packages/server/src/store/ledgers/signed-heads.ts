import type { LedgerHead, SignedHead } from '@countersign/protocol'
import { groupBy } from '../../base/group-by.js'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'

/** The ledger of a session or workflow. */
export interface LedgerName {
  readonly ledger: SignedHead['ledger']
  readonly tenantId: string
  readonly id: string
}

export interface SigningProgress {
  /** Events up to here have been looked at. */
  readonly until: Date
  readonly lastTenant: string
  readonly lastId: string
  readonly now: Date
}

/** How far the signing has come, locked until the transaction ends. */
export async function lockSigning(tx: Tx): Promise<SigningProgress> {
  const [row] = await tx<SigningProgress[]>`
    select until, last_tenant, last_id, statement_timestamp() as now from ledger_signing for update`
  if (row === undefined) throw new Error('the row of ledger_signing is gone')
  return row
}

export async function saveSigning(tx: Tx, { until, lastTenant, lastId }: Omit<SigningProgress, 'now'>): Promise<void> {
  await tx`update ledger_signing set until = ${until}, last_tenant = ${lastTenant}, last_id = ${lastId}`
}

/** The time of the event that comes so many events after a time, a millisecond later at least. Null: fewer came. */
export async function findLaterEvent(sql: Queryable, after: Date, events: number): Promise<Date | null> {
  const [row] = await sql<{ at: Date }[]>`
    ${across(sql, 'moved ledgers')} select greatest(date_trunc('milliseconds', at), ${after}::timestamptz + interval '1 millisecond') as at
    from (select at from session_events where at > ${after} order by at offset ${events} limit 1) as later`
  return row?.at ?? null
}

/** The time in which events moved ledgers. */
interface Period {
  readonly since: Date
  /** Null: no end. */
  readonly until: Date | null
  /** Only so many events that came last. */
  readonly newest?: number
}

/**
 * Sessions with events of a period that are newer than their signed head, and the workflows they are in; in turn between
 * the tenants, so that one that moves more than a round signs does not keep the others waiting.
 */
export async function listMovedLedgers(
  sql: Queryable,
  { since, until, newest }: Period,
  limit: number,
): Promise<LedgerName[]> {
  const moved = await sql<{ tenantId: string; sessions: string }[]>`
    ${across(sql, 'moved ledgers')} select tenant_id, json_object_agg(session_id, seq)::text as sessions from (
      -- offset 0, because PostgreSQL might otherwise go through all events in the order of their sessions, to group them.
      select tenant_id, session_id, max(seq) as seq from (
        select tenant_id, session_id, seq from session_events
        where at > ${since} ${until === null ? sql`` : sql`and at <= ${until}`}
        ${newest === undefined ? sql`` : sql`order by at desc limit ${newest}`} offset 0
      ) as newest
      group by tenant_id, session_id
    ) as e group by tenant_id`
  const unsigned: { tenantId: string; sessionId: string; workflowId: string | null; turn: number }[] = []
  for (const { tenantId, sessions } of moved) {
    const found = await sql<{ sessionId: string; workflowId: string | null }[]>`
      select e.session_id, s.workflow_id
      from json_each_text(${sessions}::text::json) as e (session_id, seq)
      join sessions s on s.tenant_id = ${tenantId} and s.session_id = e.session_id
      left join signed_heads h on h.tenant_id = ${tenantId} and h.ledger = 'session' and h.id = e.session_id
      where h.seq is null or (h.seq < e.seq::bigint and h.problem is null)
      order by e.seq::bigint - coalesce(h.seq, 0) desc, e.session_id limit ${limit}`
    unsigned.push(...found.map((one, turn) => ({ tenantId, ...one, turn })))
  }
  const rows = unsigned.sort((a, b) => a.turn - b.turn).slice(0, limit)
  const names: LedgerName[] = rows.map(({ tenantId, sessionId: id }) => ({ ledger: 'session', tenantId, id }))
  const workflows = new Map<string, LedgerName>()
  for (const { tenantId, workflowId: id } of rows)
    if (id !== null) workflows.set(`${tenantId} ${id}`, { ledger: 'workflow', tenantId, id })
  return [...names, ...workflows.values()]
}

/**
 * The ledgers that come next in the order of their names, whether they are there or were only signed once: the round in
 * which each is looked at from time to time.
 */
export function listNextLedgers(
  sql: Queryable,
  { lastTenant, lastId }: Pick<SigningProgress, 'lastTenant' | 'lastId'>,
  limit: number,
): Promise<LedgerName[]> {
  const after = sql`(${lastTenant}::text, ${lastId}::text)`
  return sql<LedgerName[]>`
    ${across(sql, 'ledgers in turn')} select ledger, tenant_id, id from (
      (select 'session' as ledger, tenant_id, session_id as id from session_heads
        where (tenant_id, session_id) > ${after} order by tenant_id, session_id limit ${limit})
      union
      (select 'workflow', tenant_id, workflow_id from workflows
        where (tenant_id, workflow_id) > ${after} order by tenant_id, workflow_id limit ${limit})
      union
      (select ledger, tenant_id, id from signed_heads
        where (tenant_id, id) > ${after} order by tenant_id, id fetch first ${limit} rows with ties)
    ) as found
    order by tenant_id, id fetch first ${limit} rows with ties`
}

/** A ledger as it is stored, and what was signed of it. */
export interface LedgerToSign extends LedgerName {
  /** Null: it has no events. */
  readonly head: LedgerHead | null
  /** Null: nothing was signed yet. */
  readonly signed: SignedHead | null
  /** The hash of the event that has the number of the signed one. Null: there is none. */
  readonly hashAt: string | null
  readonly problem: string | null
}

interface Row {
  tenantId: string
  id: string
  lastSeq: number | null
  lastHash: string | null
  seq: number | null
  hash: string
  signedAt: Date
  keyId: string
  signature: string
  problem: string | null
  hashAt: string | null
}

const EVENTS = {
  session: { table: 'session_events', owner: 'session_id' },
  workflow: { table: 'workflow_events', owner: 'workflow_id' },
} as const

export async function loadLedgers(
  sql: Queryable,
  ledger: SignedHead['ledger'],
  names: readonly LedgerName[],
): Promise<LedgerToSign[]> {
  const { table, owner } = EVENTS[ledger]
  const ledgers: LedgerToSign[] = []
  for (const [tenantId, own] of groupBy(names, (name) => name.tenantId)) {
    const rows = await sql<Omit<Row, 'tenantId'>[]>`
      select k.id, l.seq as last_seq, l.hash as last_hash, h.seq, h.hash, h.signed_at, h.key_id, h.signature, h.problem,
        a.hash as hash_at
      from unnest(${own.map(({ id }) => id)}::text[]) as k (id)
      left join signed_heads h on h.tenant_id = ${tenantId} and h.ledger = ${ledger} and h.id = k.id
      left join lateral (
        select e.seq, e.hash from ${sql(table)} e where e.tenant_id = ${tenantId} and e.${sql(owner)} = k.id
        order by e.seq desc limit 1
      ) l on true
      left join ${sql(table)} a on a.tenant_id = ${tenantId} and a.${sql(owner)} = k.id and a.seq = h.seq`
    ledgers.push(...rows.map((row) => ledgerOf(ledger, { ...row, tenantId })))
  }
  return ledgers
}

const ledgerOf = (ledger: SignedHead['ledger'], row: Row): LedgerToSign => ({
  ledger,
  tenantId: row.tenantId,
  id: row.id,
  head: row.lastSeq === null || row.lastHash === null ? null : { seq: row.lastSeq, hash: row.lastHash },
  signed: row.seq === null ? null : signedOf(ledger, { ...row, seq: row.seq }),
  hashAt: row.hashAt,
  problem: row.problem,
})

const signedOf = (ledger: SignedHead['ledger'], row: Omit<Row, 'seq'> & { seq: number }): SignedHead => ({
  ledger,
  tenant_id: row.tenantId,
  id: row.id,
  seq: row.seq,
  hash: row.hash,
  signed_at: row.signedAt.toISOString(),
  key_id: row.keyId,
  signature: row.signature,
})

/** Stores heads that were just signed, in place of the earlier ones. */
export async function storeSignedHeads(sql: Queryable, heads: readonly SignedHead[]): Promise<void> {
  for (const [tenantId, own] of groupBy(heads, (head) => head.tenant_id)) {
    await sql`
      insert into signed_heads (tenant_id, ledger, id, seq, hash, signed_at, key_id, signature)
      select ${tenantId}, ledger, id, seq, hash, signed_at, key_id, signature
      from json_to_recordset(${JSON.stringify(own)}::text::json) as h (
        ledger text, id text, seq bigint, hash text, signed_at timestamptz, key_id text, signature text
      )
      on conflict (tenant_id, ledger, id) do update set seq = excluded.seq, hash = excluded.hash,
        signed_at = excluded.signed_at, key_id = excluded.key_id, signature = excluded.signature, problem = null`
  }
}

/** Notes how a ledger contradicts its signed head, or with null that it does not any more. */
export async function noteContradiction(sql: Queryable, name: LedgerName, problem: string | null): Promise<void> {
  await sql`
    update signed_heads set problem = ${problem}
    where ledger = ${name.ledger} and tenant_id = ${name.tenantId} and id = ${name.id}`
}

/** The signed head of one ledger, and the contradiction that was found. */
export async function findSignedHead(
  sql: Queryable,
  name: LedgerName,
): Promise<{ readonly signed: SignedHead; readonly problem: string | null } | null> {
  const [row] = await sql<(Omit<Row, 'seq'> & { seq: number })[]>`
    select tenant_id, id, seq, hash, signed_at, key_id, signature, problem from signed_heads
    where ledger = ${name.ledger} and tenant_id = ${name.tenantId} and id = ${name.id}`
  return row === undefined ? null : { signed: signedOf(name.ledger, row), problem: row.problem }
}

export async function countContradictions(sql: Queryable): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    ${across(sql, 'contradicted ledgers')} select count(*)::int as count from signed_heads where problem is not null`
  return row?.count ?? 0
}
