import type { Queryable, Tx } from '../../postgres/sql.js'

/** A person as a provider names them: the subject never changes, the address may. */
export interface Identity {
  readonly tenantId: string
  readonly issuer: string
  readonly subject: string
}

export async function findIdentity(sql: Queryable, identity: Identity): Promise<string | undefined> {
  const [row] = await sql<{ userId: string }[]>`
    select user_id from identities
    where tenant_id = ${identity.tenantId} and issuer = ${identity.issuer} and subject = ${identity.subject}`
  return row?.userId
}

export async function insertIdentity(tx: Tx, identity: Identity, userId: string): Promise<void> {
  await tx`
    insert into identities (tenant_id, issuer, subject, user_id)
    values (${identity.tenantId}, ${identity.issuer}, ${identity.subject}, ${userId})`
}

/** A removed member has no identity at the provider either. */
export async function deleteIdentitiesOf(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  await tx`delete from identities where tenant_id = ${tenantId} and user_id = ${userId}`
}
