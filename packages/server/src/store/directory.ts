import { sha256 } from '../base/crypto/secrets.js'
import type { Fragment, Queryable } from '../postgres/sql.js'
import { findSome } from './delete-some.js'

/**
 * The directory says which tenant a key, an address or a token belongs to, by its hash. An entry is made in the transaction
 * of what it leads to, before it, so that no two tenants have the same; it goes with it, and is never changed.
 */
type Kind = 'key' | 'email' | 'sign_in' | 'mail' | 'invitation'

/** What no tenant has as its id: who looks for a stranger sends the same statements as who looks for a member. */
const NO_TENANT = ''

export const directoryEntry = (sql: Queryable, kind: Kind, hash: Buffer) => sql<{ tenantId: string }[]>`
  select tenant_id from directory where kind = ${kind} and hash = ${hash}`

/** The tenant that a token leads to; none that there is where it leads nowhere. */
export async function findTenant(sql: Queryable, kind: Kind, hash: Buffer): Promise<string> {
  const [entry] = await directoryEntry(sql, kind, hash)
  return entry?.tenantId ?? NO_TENANT
}

/** The same of the address that a member has. */
export const findTenantOf = (sql: Queryable, emailKey: string): Promise<string> =>
  findTenant(sql, 'email', sha256(emailKey))

/** False when it is taken. */
export async function enterDirectory(tx: Queryable, kind: Kind, hash: Buffer, tenantId: string): Promise<boolean> {
  const rows = await tx`
    insert into directory (kind, hash, tenant_id) values (${kind}, ${hash}, ${tenantId}) on conflict do nothing returning 1`
  return rows.length === 1
}

export async function leaveDirectory(tx: Queryable, kind: Kind, hashes: readonly Uint8Array[]): Promise<void> {
  const written = hashes.map((hash) => `\\x${Buffer.from(hash).toString('hex')}`)
  if (written.length > 0)
    await tx`delete from directory where kind = ${kind} and hash = any (${written}::text[]::bytea[])`
}

const TABLES = { sign_in: 'refresh_tokens', mail: 'mail_tokens', invitation: 'invitations' } as const

/** Deletes at most `limit` tokens with their entries. Returns how many went. */
export async function deleteTokens(
  tx: Queryable,
  kind: keyof typeof TABLES,
  condition: Fragment,
  limit: number,
): Promise<number> {
  const table = TABLES[kind]
  let deleted = 0
  for (const isFound of await findSome(tx, table, condition, limit)) {
    const rows = await tx<{ tokenHash: Uint8Array | null }[]>`
      delete from ${tx(table)} where ${isFound} and ${condition} returning token_hash`
    await leaveDirectory(
      tx,
      kind,
      rows.flatMap(({ tokenHash }) => tokenHash ?? []),
    )
    deleted += rows.length
  }
  return deleted
}
