import type { Fragment, Queryable, Tx } from '../postgres/sql.js'
import { across } from './across-tenants.js'

/** Work that failed too often: it is not tried again by itself. */
export const SET_ASIDE_KINDS = ['capture', 'run', 'mail'] as const
export type SetAsideKind = (typeof SET_ASIDE_KINDS)[number]

export interface SetAside {
  kind: SetAsideKind
  tenantId: string
  id: string
  /** Null for mail. */
  agent: string | null
  attempts: number
  error: string
  at: Date
}

export interface SetAsideKey {
  readonly kind: SetAsideKind
  readonly tenantId: string
  readonly id: string
}

const setAside = (sql: Queryable, whose: Fragment = sql`true`) => sql`
  select 'capture' as kind, tenant_id, capture_id as id, agent, attempts, error, set_aside_at as at
  from set_aside_captures where ${whose}
  union all
  select 'run', tenant_id, run_id, against ->> 'agent', attempts, coalesce(error, ''), finished_at
  from runs where status = 'failed' and attempts > 0 and ${whose}
  union all
  select 'mail', tenant_id, mail_id, null, attempts, 'the mail server did not take it; the log says why', given_up_at
  from mail_queue where given_up_at is not null and ${whose}`

/** The newest first. */
export function listSetAside(sql: Queryable, limit: number): Promise<SetAside[]> {
  return sql<
    SetAside[]
  >`${across(sql, 'set aside')} select * from (${setAside(sql)}) s order by at desc, id limit ${limit}`
}

export async function findSetAside(sql: Queryable, { kind, tenantId, id }: SetAsideKey): Promise<SetAside | null> {
  const [row] = await sql<SetAside[]>`
    select * from (${setAside(sql, sql`tenant_id = ${tenantId}`)}) s where kind = ${kind} and id = ${id}`
  return row ?? null
}

export async function countSetAside(sql: Queryable): Promise<Map<SetAsideKind, number>> {
  const rows = await sql<{ kind: SetAsideKind; count: number }[]>`
    ${across(sql, 'set aside')} select kind, count(*)::int as count from (${setAside(sql)}) s group by kind`
  const counts = new Map(rows.map(({ kind, count }) => [kind, count]))
  return new Map(SET_ASIDE_KINDS.map((kind) => [kind, counts.get(kind) ?? 0]))
}

/** By agent of a tenant: how many of its captures were set aside, and why the last one was. */
export function countCapturesAside(
  sql: Queryable,
  tenantId: string,
): Promise<{ agent: string; captures: number; reason: string }[]> {
  return sql<{ agent: string; captures: number; reason: string }[]>`
    select agent, count(*)::int as captures, (array_agg(error order by set_aside_at desc))[1] as reason
    from set_aside_captures where tenant_id = ${tenantId} group by agent order by agent limit 200`
}

/** Puts it back into its queue, as if it had never been tried. */
export async function retrySetAside(tx: Tx, { kind, tenantId, id }: SetAsideKey): Promise<void> {
  if (kind === 'capture') {
    await tx`
      with taken as (
        delete from set_aside_captures where tenant_id = ${tenantId} and capture_id = ${id} returning agent
      )
      insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures)
      select ${tenantId}, agent, clock_timestamp(), ${id}, array[${id}::text], 1 from taken`
  } else if (kind === 'run') {
    await tx`
      update runs set status = 'queued', attempts = 0, error = null, finished_at = null, sessions_done = 0
      where tenant_id = ${tenantId} and run_id = ${id} and status = 'failed'`
  } else {
    await tx`
      update mail_queue set given_up_at = null, attempts = 0, next_attempt_at = clock_timestamp()
      where tenant_id = ${tenantId} and mail_id = ${id}`
  }
}

/** Leaves it out of the list for good. A capture stays where it is and teaches nothing; a run stays failed. */
export async function dropSetAside(tx: Tx, { kind, tenantId, id }: SetAsideKey): Promise<void> {
  if (kind === 'capture') await tx`delete from set_aside_captures where tenant_id = ${tenantId} and capture_id = ${id}`
  else if (kind === 'run') await tx`update runs set attempts = 0 where tenant_id = ${tenantId} and run_id = ${id}`
  else await tx`delete from mail_queue where tenant_id = ${tenantId} and mail_id = ${id}`
}
