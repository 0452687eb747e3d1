import type { Queryable } from '../../postgres/sql.js'

/** Who may prove for whom the sessions of a tenant act. */
export interface NewIssuer {
  tenantId: string
  /** The claim `iss` of its tokens. */
  issuer: string
  jwksUri: string
  audience: string
  algorithms: readonly string[]
  /** The claim that lists the groups of a subject. */
  groupsClaim: string
}

export interface IssuerRow extends NewIssuer {
  createdAt: Date
}

const COLUMNS = 'tenant_id, issuer, jwks_uri, audience, algorithms, groups_claim, created_at'

/** False when the tenant has it already. The caller holds the tenant's row (`lockTenant`), so that the count holds. */
export async function insertIssuer(tx: Queryable, issuer: NewIssuer): Promise<boolean> {
  const rows = await tx`
    insert into issuers (tenant_id, issuer, jwks_uri, audience, algorithms, groups_claim)
    values (${issuer.tenantId}, ${issuer.issuer}, ${issuer.jwksUri}, ${issuer.audience}, ${[...issuer.algorithms]}::text[],
      ${issuer.groupsClaim})
    on conflict do nothing returning 1`
  return rows.length === 1
}

export function listIssuers(sql: Queryable, tenantId: string): Promise<IssuerRow[]> {
  return sql<IssuerRow[]>`
    select ${sql.unsafe(COLUMNS)} from issuers where tenant_id = ${tenantId} order by issuer collate "C"`
}

/** Null when its tokens are not taken. */
export async function findIssuer(sql: Queryable, tenantId: string, issuer: string): Promise<IssuerRow | null> {
  const [row] = await sql<IssuerRow[]>`
    select ${sql.unsafe(COLUMNS)} from issuers where tenant_id = ${tenantId} and issuer = ${issuer}`
  return row ?? null
}

/** False when the tenant has no such issuer. */
export async function deleteIssuer(tx: Queryable, tenantId: string, issuer: string): Promise<boolean> {
  const rows = await tx`delete from issuers where tenant_id = ${tenantId} and issuer = ${issuer} returning 1`
  return rows.length === 1
}
