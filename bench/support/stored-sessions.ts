import type { Sql, Tx } from '../../packages/server/src/postgres/sql.js'

/** Where the copies of one call of `storeCopies` begin, and how many there are. */
export interface Copies {
  readonly tenantId: string
  readonly first: number
  readonly count: number
}

/** Sessions of one statement: what it writes stays well below the memory of PostgreSQL. */
const BATCH = 20_000

/** Every table in which a session of the service has rows, with the columns that say when. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  sessions: ['created_at', 'ended_at'],
  session_heads: [],
  session_events: ['at'],
  receipts: [],
  content: ['created_at'],
  session_facets: ['created_at'],
  blocked_proposals: ['at'],
}

/**
 * Copies the tenant's sessions `original-…` under new ids, with all their rows, spread over the last 30 days and stored in
 * the order of their time, as the service would have. The service wrote the originals; in the copies every value but ids
 * and times is theirs, so hash chains of copies do not verify.
 */
export async function storeCopies(sql: Sql, { tenantId, first, count }: Copies): Promise<void> {
  for (let from = first; from < first + count; from += BATCH) {
    const to = Math.min(from + BATCH, first + count)
    await sql.begin(async (tx) => {
      await tx`set local synchronous_commit = off`
      await tx`
        create temp table copies on commit drop as
        select n, 'copy-' || n as id, o.session_id as original,
          date_trunc('milliseconds', now() - interval '30 days' * (1 - (n - ${first})::float8 / ${count})) - o.created_at as later
        from generate_series(${from}::int, ${to - 1}::int) n
        join (
          select session_id, created_at, row_number() over (order by session_id) - 1 as number, count(*) over () as originals
          from sessions where tenant_id = ${tenantId} and session_id like 'original-%'
        ) o on o.number = n % o.originals`
      for (const [table, times] of Object.entries(TABLES)) await copyTable(tx, table, times, tenantId)
      await countCopies(tx, tenantId)
    })
  }
  await sql`update decision_counts_until set until = date_trunc('minute', now() - interval '1 minute')`
}

async function copyTable(tx: Tx, table: string, times: readonly string[], tenantId: string) {
  const columns = await tx<{ name: string }[]>`
    select attname as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`
  const names = columns.map(({ name }) => name)
  const copied = (name: string) =>
    name === 'session_id' ? 'c.id' : times.includes(name) ? `t.${name} + c.later` : `t.${name}`
  await tx.unsafe(
    `insert into ${table} (${names.join(', ')}) select ${names.map(copied).join(', ')}
     from copies c join ${table} t on t.tenant_id = $1 and t.session_id = c.original order by c.n`,
    [tenantId],
  )
}

/** What the job that counts decisions and sessions would have written, minute by minute. */
async function countCopies(tx: Tx, tenantId: string): Promise<void> {
  for (const grain of ['minute', 'hour']) {
    await tx`
      insert into decision_counts (tenant_id, grain, at, agent, reason, calls)
      select s.tenant_id, ${grain}, date_trunc(${grain}, s.created_at), s.agent, f.value, count(*)
      from copies c join sessions s on s.tenant_id = ${tenantId} and s.session_id = c.id
      cross join lateral (values (''), ('argument_value_mismatch')) as f (value)
      group by 1, 2, 3, 4, 5
      on conflict (tenant_id, grain, at, agent, reason) do update set calls = decision_counts.calls + excluded.calls`
  }
  await tx`
    insert into session_counts (tenant_id, hour, agent, sessions)
    select s.tenant_id, date_trunc('hour', s.created_at), s.agent, count(*)
    from copies c join sessions s on s.tenant_id = ${tenantId} and s.session_id = c.id group by 1, 2, 3
    on conflict (tenant_id, hour, agent) do update set sessions = session_counts.sessions + excluded.sessions`
}
