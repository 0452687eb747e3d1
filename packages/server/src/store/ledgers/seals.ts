import type { Seal } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'

const sealOf = ({ at, ...seal }: Omit<Seal, 'at' | 'prev_digest' | 'key_id'> & StoredNames): Seal => ({
  number: seal.number,
  at: at.toISOString(),
  digest: seal.digest,
  prev_digest: seal.prevDigest,
  key_id: seal.keyId,
  signature: seal.signature,
})

interface StoredNames {
  at: Date
  prevDigest: string
  keyId: string
}

export async function findLastSeal(sql: Queryable): Promise<Seal | null> {
  const [row] = await sql<Parameters<typeof sealOf>>`
    select number, at, digest, prev_digest, key_id, signature from ledger_seals order by number desc limit 1`
  return row === undefined ? null : sealOf(row)
}

export async function insertSeal(tx: Tx, seal: Seal): Promise<void> {
  await tx`
    insert into ledger_seals (number, at, digest, prev_digest, key_id, signature)
    values (${seal.number}, ${seal.at}::text::timestamptz, ${seal.digest}, ${seal.prev_digest}, ${seal.key_id}, ${seal.signature})`
}

/** Oldest first. */
export async function listSealsAfter(sql: Queryable, after: number, limit: number): Promise<Seal[]> {
  const rows = await sql<Parameters<typeof sealOf>>`
    select number, at, digest, prev_digest, key_id, signature from ledger_seals
    where number > ${after} order by number limit ${limit}`
  return rows.map(sealOf)
}

/** Removes seals from more than `days` ago, all but the newest: the next one names it. Returns how many went. */
export async function deleteOldSeals(sql: Queryable, days: number, limit: number): Promise<number> {
  const rows = await sql`
    delete from ledger_seals where number in (
      select number from ledger_seals
      where at < ${daysAgo(sql, days)} and number < (select max(number) from ledger_seals) order by number limit ${limit}
    ) returning 1`
  return rows.length
}
