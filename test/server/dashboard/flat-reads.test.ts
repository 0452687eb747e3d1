import { expect } from 'vitest'
import type { Tx } from '../../../packages/server/src/postgres/sql.js'
import { countAgents, listLastSeen } from '../../../packages/server/src/store/dashboard/agents.js'
import { type CallFilter, listCalls } from '../../../packages/server/src/store/dashboard/call-list.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { listSessions, type SessionFilter } from '../../../packages/server/src/store/dashboard/session-list.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const { database } = runtime.instances[0].parts

/** Far more than anything here asks for, and enough that reading all of it seems the better plan. */
const STORED = 6_000
/** Minutes of a month in which they were stored: more than a page of calls looks at. */
const MINUTES = 60
/** More than a search looks up one by one begin with the same letters. */
const SESSIONS = 20_400

/**
 * Jobs write, and have the plans of writes. Pages are read by plans for the values at hand, and, once a connection has
 * read them five times, by one plan for all values if PostgreSQL expects as much of it.
 */
const begin = {
  job: <T>(work: (tx: Tx) => Promise<T>) => database.transaction('test', work),
  page: <T>(work: (tx: Tx) => Promise<T>) => database.sql.begin(work) as Promise<T>,
  later: <T>(work: (tx: Tx) => Promise<T>) =>
    database.sql.begin(async (tx) => {
      await tx`set local plan_cache_mode = force_generic_plan`
      return work(tx)
    }) as Promise<T>,
}

/** The rows that something reads of a table, by its indexes or without. */
const rowsRead = (table: string, as: keyof typeof begin, work: (tx: Tx) => Promise<unknown>): Promise<number> =>
  begin[as](async (tx) => {
    // What earlier transactions of the connection read may not have been reported yet, and stands in these numbers too.
    const before = await rowsSoFar(tx, table)
    await work(tx)
    return (await rowsSoFar(tx, table)) - before
  })

async function rowsSoFar(tx: Tx, table: string): Promise<number> {
  const [row] = await tx<{ rows: number }[]>`
    select sum(pg_stat_get_xact_tuples_returned(id))::int as rows from (
      select ${table}::regclass as id
      union all select indexrelid from pg_index where indrelid = ${table}::regclass
    ) as read`
  return row?.rows ?? Number.NaN
}

/** A month of turns of a session, and of sessions like it. `offset 0`: a record is made once, not once for each column. */
async function storeMuch(): Promise<void> {
  const { sql } = runtime
  await sql`
    insert into session_events
    select (e.x).* from (
      select jsonb_populate_record(e, jsonb_build_object('seq', 100 + n, 'request_id', 'old-' || n,
        'at', date_trunc('minute', now()) - interval '30 days' * (n % ${MINUTES} + 1) / ${MINUTES})) as x
      from session_events e, generate_series(1, ${STORED}) n where e.session_id = 'much' and e.request_id is not null offset 0
    ) as e`
  await sql`
    insert into receipts
    select tenant_id, session_id, 'old-' || n, seq, record from receipts, generate_series(1, ${STORED}) n
    where session_id = 'much'`
  await sql`
    insert into sessions
    select (s.x).* from (
      select jsonb_populate_record(s, jsonb_build_object('session_id', case when n <= 300 then 'old-' else 'new-' end || n,
        'created_at', now() - interval '30 days' + interval '2 minutes' * n)) as x
      from sessions s, generate_series(1, ${SESSIONS}) n where s.session_id = 'much' offset 0
    ) as s`
  // Those of the pages that are asked for are enough.
  await sql`
    insert into session_heads
    select (h.x).* from (
      select jsonb_populate_record(h, jsonb_build_object('session_id', p.id)) as x
      from session_heads h, (
        select 'old-' || n as id from generate_series(200, 300) n
        union all select 'new-' || ${SESSIONS} - n from generate_series(0, 60) n
      ) as p where h.session_id = 'much' offset 0
    ) as h`
  await sql`
    insert into session_counts
    select tenant_id, date_trunc('hour', created_at), agent, count(*) from sessions group by 1, 2, 3`
  await sql`
    insert into decision_counts
    select tenant_id, 'minute', date_trunc('minute', at), 'desk', '', count(*) from session_events
    where request_id like 'old-%' group by 1, 2, 3`
  await sql`analyze session_events, receipts, sessions`
}

const session = await openSession(api, { session_id: 'much', agent: 'desk' })
await session.turn([LOOKUP])
await storeMuch()
const [{ tenantId } = { tenantId: '' }] = await runtime.sql<
  { tenantId: string }[]
>`select tenant_id from sessions limit 1`

proves('scale.flat', 'a minute and the agents are counted without reading all that is stored', async () => {
  await session.turn([LOOKUP])
  await runtime.sql`update session_events set at = now() - interval '2 minutes' where session_id = 'much' and seq in (4, 5)`
  await runtime.sql`update decision_counts_until set until = date_trunc('minute', now()) - interval '3 minutes'`

  expect(await rowsRead('receipts', 'job', countDecisions)).toBeLessThan(100)
  const since = new Date(Math.floor(Date.now() / 3_600_000 - 30 * 24) * 3_600_000)
  expect(await rowsRead('sessions', 'page', (tx) => countAgents(tx, tenantId, since))).toBeLessThan(100)
})

proves('scale.flat', 'when an agent was last seen is found in its newest sessions', async () => {
  const look = (tx: Tx) => listLastSeen(tx, tenantId, ['desk'])
  for (const as of ['page', 'later'] as const) {
    expect(await rowsRead('sessions', as, look)).toBeLessThan(100)
    expect(await rowsRead('session_events', as, look)).toBeLessThan(100)
    expect(await rowsRead('captures', as, look)).toBeLessThan(100)
  }
})

proves('scale.flat', 'a search looks up what begins so, and as little the sixth time', async () => {
  const anything: Omit<SessionFilter, 'tenantId' | 'search'> = {
    ...{ agent: null, environment: null, status: null, activity: null, workflowId: null, reason: null, label: null },
    ...{ from: null, to: null, below: null, oldestFirst: false, mayBeLarge: false, limit: 50 },
  }
  const search = (text: string) => (tx: Tx) => listSessions(tx, { ...anything, tenantId, search: text })
  const first = async (text: string) => (await begin.page(search(text))).rows[0]?.sessionId
  expect([await first('old-'), await first('new-')]).toEqual(['old-300', `new-${SESSIONS}`])
  for (const as of ['page', 'later'] as const) {
    // The 300 that begin so: counted, listed and looked up, and their page.
    expect(await rowsRead('sessions', as, search('old-'))).toBeLessThan(3_000)
    // No agent has the name and no id begins so, which is learned from the indexes.
    expect(await rowsRead('sessions', as, search('nobody'))).toBeLessThan(100)
  }
})

proves('scale.flat', 'a page of calls that comes up short looks a little further back', async () => {
  // The two newest minutes are counted to fill the page and hold nothing.
  await runtime.sql`
    insert into decision_counts
    select ${tenantId}, 'minute', date_trunc('minute', now()) - interval '1 minute' * n, 'desk', '', 200
    from generate_series(10, 11) n`
  await runtime.sql`update decision_counts_until set until = date_trunc('minute', now())`
  const filter: CallFilter = {
    ...{ tenantId, agent: null, decision: 'allow', reason: null, unanswered: false, sessionId: null },
    ...{ from: null, to: null, below: null, limit: 51 },
  }
  const list = (tx: Tx) => listCalls(tx, filter)
  for (const as of ['page', 'later'] as const) {
    expect((await begin[as](list)).rows).toHaveLength(51)
    // Twice as far back are some minutes, of the sixty.
    const minute = STORED / MINUTES
    expect(await rowsRead('session_events', as, list)).toBeLessThan(10 * minute)
    expect(await rowsRead('receipts', as, list)).toBeLessThan(10 * minute)
    expect(await rowsRead('sessions', as, list)).toBeLessThan(10 * minute)
  }
})

proves('scale.flat', 'a page of calls reads none of the calls that others made in the same minutes', async () => {
  const other = await runtime.createTenant()
  const quiet = await openSession(runtime.api(other.key), { session_id: 'quiet', agent: 'desk' })
  await quiet.turn([LOOKUP])
  // One call in each of thirty minutes, in which the first tenant has a hundred.
  await runtime.sql`
    insert into session_events
    select (e.x).* from (
      select jsonb_populate_record(e, jsonb_build_object('seq', 100 + n, 'request_id', 'old-' || n,
        'at', date_trunc('minute', now()) - interval '30 days' * n / ${MINUTES})) as x
      from session_events e, generate_series(1, 30) n where e.session_id = 'quiet' and e.request_id is not null offset 0
    ) as e`
  await runtime.sql`
    insert into decision_counts
    select tenant_id, 'minute', date_trunc('minute', at), 'desk', '', count(*) from session_events
    where request_id like 'old-%' and tenant_id = ${other.tenantId} group by 1, 2, 3`
  await runtime.sql`analyze session_events`
  const filter: CallFilter = {
    ...{ tenantId: other.tenantId, agent: null, decision: 'allow', reason: null, unanswered: false, sessionId: null },
    ...{ from: null, to: null, below: null, limit: 25 },
  }
  const list = (tx: Tx) => listCalls(tx, filter)
  for (const as of ['page', 'later'] as const) {
    expect((await begin[as](list)).rows).toHaveLength(25)
    // Found by the index, then read: twice its own.
    expect(await rowsRead('session_events', as, list)).toBeLessThan(200)
  }
})
