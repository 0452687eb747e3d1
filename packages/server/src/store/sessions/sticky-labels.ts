import type { Values } from '../../postgres/fixed-statement.js'
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

/** The CTEs `stuck` and `unstuck`: labels that are noted for their owner, and calls that are settled. */
export const NOTE_STICKY_LABELS = `stuck as (
    insert into sticky_labels (tenant_id, owner, label, call_id, added_at)
    select changed.tenant_id, :sticky_owner::text, label, call_id, clock_timestamp()
    from changed, unnest(:sticky_labels::text[], :sticky_calls::text[]) as added (label, call_id)
    order by label collate "C", call_id collate "C"
    on conflict (tenant_id, owner, label, call_id) do update set added_at = excluded.added_at
  ), unstuck as (
    delete from sticky_labels s using changed
    where s.tenant_id = changed.tenant_id and s.owner = :sticky_owner::text and s.call_id = any(:settled_calls::text[])
  )`

export const stickyValues = ({ owner, added, settled }: StickyLabels): Values => ({
  sticky_owner: owner,
  sticky_labels: added.map(({ label }) => label),
  sticky_calls: added.map(({ callId }) => callId ?? ''),
  settled_calls: settled,
})

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
