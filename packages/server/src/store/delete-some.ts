import type { Fragment, Queryable } from '../postgres/sql.js'
import { across } from './across-tenants.js'

/** The key of each table behind the tenant. */
const KEYS = {
  audit_entries: ['entry_id'],
  captures: ['capture_id'],
  content: ['session_id', 'kind', 'ref'],
  deliveries: ['question_id', 'kind', 'channel', 'recipient'],
  erased_sessions: ['session_id'],
  findable_ids: ['agent', 'environment', 'id'],
  handoffs: ['workflow_id', 'handoff_id'],
  invitations: ['invitation_id'],
  late_receipts: ['session_id', 'pending_call_id', 'number'],
  mail_queue: ['mail_id'],
  mail_tokens: ['token_id'],
  refresh_tokens: ['refresh_id'],
  resource_holds: ['workflow_id', 'session_id', 'pending_call_id', 'key_hash'],
  runs: ['run_id'],
  shared_limit_counts: ['name', 'id'],
  sticky_labels: ['owner', 'label', 'call_id'],
  superseded_requests: ['session_id', 'prepared_request_id'],
  unanswered_calls: ['at', 'session_id', 'seq', 'call_index'],
  used_tokens: ['issuer', 'jti_hash'],
} as const
type Table = keyof typeof KEYS

/**
 * Finds at most `limit` rows of any tenants: a condition for each tenant that says which are its own, so that they are
 * changed by a statement that names it.
 */
export async function findSome(sql: Queryable, table: Table, condition: Fragment, limit: number): Promise<Fragment[]> {
  return findRows(sql, table, sql`select * from ${sql(table)} where ${condition} limit ${limit}`)
}

/** The same of rows that are selected in another way. */
export async function findRows(sql: Queryable, table: Table, selection: Fragment): Promise<Fragment[]> {
  const key = sql(KEYS[table])
  const found = await sql<{ tenantId: string; keys: string }[]>`
    ${across(sql, 'old rows')} select tenant_id, json_agg(keys)::text as keys
    from (select tenant_id, ${key} from (${selection}) as rows) as keys group by tenant_id order by tenant_id`
  return found.map(
    ({ tenantId, keys }) => sql`tenant_id = ${tenantId} and (${key}) in (
      select ${key} from json_populate_recordset(null::${sql(table)}, ${keys}::text::json))`,
  )
}

/** Deletes at most `limit` rows, so that no statement holds many for long. Returns how many went. */
export async function deleteSome(sql: Queryable, table: Table, condition: Fragment, limit: number): Promise<number> {
  let deleted = 0
  for (const isFound of await findSome(sql, table, condition, limit)) {
    const rows = await sql`delete from ${sql(table)} where ${isFound} and ${condition} returning 1`
    deleted += rows.length
  }
  return deleted
}
