import type { LedgerHead, SignedHead } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'

/** What is left of a session or workflow whose rows were moved into a file. */
export interface ArchivedLedger {
  readonly ledger: SignedHead['ledger']
  readonly id: string
  readonly archivedAt: Date
  readonly file: string
  readonly digest: string
}

interface Name {
  readonly tenantId: string
  readonly ledger: SignedHead['ledger']
  readonly id: string
}

/** Null: it is there, or never was. */
export async function findArchivedLedger(
  sql: Queryable,
  { tenantId, ledger, id }: Name,
): Promise<ArchivedLedger | null> {
  const [row] = await sql<ArchivedLedger[]>`
    select ledger, id, archived_at, file, digest from archived_ledgers
    where tenant_id = ${tenantId} and id = ${id} and ledger = ${ledger}`
  return row ?? null
}

/** Whether the session or workflow is in its table. */
export async function isStored(sql: Queryable, { tenantId, ledger, id }: Name): Promise<boolean> {
  const rows =
    ledger === 'session'
      ? await sql`select 1 from sessions where tenant_id = ${tenantId} and session_id = ${id}`
      : await sql`select 1 from workflows where tenant_id = ${tenantId} and workflow_id = ${id}`
  return rows.length > 0
}

/** Whether anything that is archived needs the file with this digest. */
export async function isFileNeeded(
  sql: Queryable,
  { tenantId, ids, digest }: { readonly tenantId: string; readonly ids: readonly string[]; readonly digest: string },
): Promise<boolean> {
  const [row] = await sql<{ needed: boolean }[]>`
    select exists (
      select from archived_ledgers
      where tenant_id = ${tenantId} and id = any (${[...ids]}::text[]) and digest = ${digest}
    ) as needed`
  return row?.needed ?? true
}

export interface LedgerToArchive {
  readonly ledger: SignedHead['ledger']
  readonly id: string
  readonly head: LedgerHead
}

export async function insertArchivedLedgers(
  tx: Tx,
  { tenantId, file, digest }: { readonly tenantId: string; readonly file: string; readonly digest: string },
  ledgers: readonly LedgerToArchive[],
): Promise<void> {
  const rows = ledgers.map(({ ledger, id, head: { seq, hash } }) => ({ ledger, id, seq, hash }))
  await tx`
    insert into archived_ledgers (tenant_id, ledger, id, archived_at, file, digest, seq, hash)
    select ${tenantId}, l.ledger, l.id, statement_timestamp(), ${file}, ${digest}, l.seq, l.hash
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as l (ledger text, id text, seq bigint, hash text)`
}
