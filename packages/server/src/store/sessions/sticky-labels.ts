import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'

/** Labels with which new sessions of a principal start from now on, and calls whose own labels are no longer open. */
export interface StickyLabels {
  /** A salted hash of the principal's id. */
  readonly owner: string
  readonly added: readonly StickyLabel[]
  /** Calls that have an outcome: what each had added is removed, and added again for good where it ran. */
  readonly settled: readonly string[]
}

export interface StickyLabel {
  readonly label: string
  /** The call that adds it, while its outcome is open; null once it has run. */
  readonly callId: string | null
}

/** What a new session needs to know of its tenant. */
export interface Beginning {
  readonly now: Date
  readonly limitSalt: string
  /** In order; empty where no principal is given. */
  readonly stickyLabels: readonly string[]
}

/** `ownerText` is hashed behind the tenant's salt; null: no labels are asked for. */
export async function loadBeginning(sql: Queryable, tenantId: string, ownerText: string | null): Promise<Beginning> {
  const [row] = await sql<Beginning[]>`
    select clock_timestamp() as now, t.limit_salt, coalesce((
      select array_agg(distinct s.label collate "C" order by s.label collate "C") from sticky_labels s
      where s.tenant_id = ${tenantId}
        and s.owner = encode(sha256(convert_to(length(t.limit_salt) || ':' || t.limit_salt || ':' || ${ownerText}, 'UTF8')), 'hex')
    ), '{}') as sticky_labels
    from tenants t where t.tenant_id = ${tenantId}`
  if (!row) throw new Error('a tenant is gone')
  return row
}

/** Removes labels that were last added more than `days` ago. Returns how many. */
export function deleteOldStickyLabels(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'sticky_labels', sql`added_at < ${daysAgo(sql, days)}`, limit)
}
