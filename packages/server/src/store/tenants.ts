import type { Quota } from '@countersign/protocol'
import type { Queryable } from './database.js'

export interface NewTenant {
  tenantId: string
  name: string
  quota: Quota
  /** Tenants made by an operator are verified at once; those made by signup when the e-mail address is. */
  verified: boolean
}

export async function insertTenant(tx: Queryable, tenant: NewTenant): Promise<void> {
  await tx`
    insert into tenants (tenant_id, name, quota, verified_at)
    values (${tenant.tenantId}, ${tenant.name}, ${tenant.quota}, case when ${tenant.verified} then clock_timestamp() end)`
}

/** False when there is no such tenant. Requests count against the new quota from the next one on. */
export async function updateQuota(tx: Queryable, tenantId: string, quota: Quota): Promise<boolean> {
  const rows = await tx`update tenants set quota = ${quota} where tenant_id = ${tenantId} returning 1`
  return rows.length === 1
}

/** Holds the tenant's row until the transaction ends. False when there is no such tenant. */
export async function lockTenant(tx: Queryable, tenantId: string): Promise<boolean> {
  const rows = await tx`select 1 from tenants where tenant_id = ${tenantId} for update`
  return rows.length === 1
}
