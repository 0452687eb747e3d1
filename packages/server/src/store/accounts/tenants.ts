import type { Quota } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { IN_FORCE } from '../sessions/write-functions.js'

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

export interface TenantRow {
  tenantId: string
  name: string
  quota: Quota
  verified: boolean
  activeKeys: number
  createdAt: Date
}

/** Oldest first. */
export function listTenants(sql: Queryable): Promise<TenantRow[]> {
  return sql<TenantRow[]>`
    ${across(sql, 'all tenants')} select t.tenant_id, t.name, t.quota, t.verified_at is not null as verified, t.created_at,
      (select count(*) from api_keys k where k.tenant_id = t.tenant_id and ${sql.unsafe(IN_FORCE)}) as active_keys
    from tenants t order by t.created_at, t.tenant_id`
}

/** Counts from the next request on. */
export async function setQuota(tx: Queryable, tenantId: string, quota: Quota): Promise<void> {
  await tx`update tenants set quota = ${quota} where tenant_id = ${tenantId}`
}

/** Holds the tenant's row until the transaction ends. False when there is no such tenant. */
export async function lockTenant(tx: Queryable, tenantId: string): Promise<boolean> {
  const rows = await tx`select 1 from tenants where tenant_id = ${tenantId} for update`
  return rows.length === 1
}
