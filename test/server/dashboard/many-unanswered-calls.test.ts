import { expect } from 'vitest'
import { type CallFilter, listCalls } from '../../../packages/server/src/store/dashboard/call-list.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import {
  countUnansweredByAgent,
  countUnansweredCalls,
} from '../../../packages/server/src/store/dashboard/unanswered-calls.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { database } = runtime.instances[0].parts
const { tenant_id: tenantId } = (await owner.call('me')).body.user

/** One call each of two agents without a receipt, in sessions that nobody holds, and whatever is noted besides. */
for (const agent of ['rare', 'desk']) {
  await (await openSession(api, { session_id: `of-${agent}`, agent })).decide([LOOKUP])
  await runtime.sql`update session_events set at = at - interval '10 minutes' where session_id = ${`of-${agent}`}`
}
await runtime.sql`update session_heads set lease_until = now() - interval '1 minute'`
await database.transaction('jobs', countDecisions)

/** As many calls of the agent `desk`, each newer than the one before. */
async function note(from: number, to: number): Promise<void> {
  await runtime.sql`
    insert into unanswered_calls
    select tenant_id, at + n * interval '1 millisecond', session_id, seq, call_index, pending_call_id
    from unanswered_calls, generate_series(${from}::int, ${to}::int) n
    where session_id = 'of-desk' and at = (select min(at) from unanswered_calls where session_id = 'of-desk')`
  // As PostgreSQL does by itself, within a minute.
  await runtime.sql`analyze unanswered_calls`
}

/** The rows of a table that some work reads. */
const read = (table: string, work: (tx: Parameters<typeof rowsRead>[0]) => Promise<unknown>): Promise<number> =>
  database.transaction('test', (tx) => rowsRead(tx, table, () => work(tx)))

const seen = async () => {
  const { totals, oldest_unanswered, unanswered_more } = (await owner.call('loadOverview', { query: {} })).body
  const { agents } = (await owner.call('listAgents', {})).body
  const health = agents.find(({ agent }) => agent === 'desk')?.health
  return {
    all: [totals.unanswered_calls, unanswered_more],
    desk: [health?.unanswered_calls, health?.unanswered_more],
    oldest: oldest_unanswered,
  }
}

proves('limit.unanswered.counted', async () => {
  const { oldest } = await seen()
  expect(oldest).toEqual(expect.any(String))
  await note(1, 9_998)
  expect(await seen()).toEqual({ all: [10_000, undefined], desk: [9_999, undefined], oldest })
  await note(9_999, 25_000)
  const { all, desk } = await seen()
  expect(all).toEqual([10_000, true])
  expect(desk).toEqual([10_000, true])
  expect((await seen()).oldest).toEqual(oldest)
  for (const table of ['unanswered_calls', 'sessions', 'receipts']) {
    expect(await read(table, (tx) => countUnansweredCalls(tx, tenantId))).toBeLessThan(10_100)
    expect(await read(table, (tx) => countUnansweredByAgent(tx, tenantId, ['desk', 'rare', '']))).toBeLessThan(10_100)
  }
})

proves('limit.unanswered.listed', async () => {
  const found: string[] = []
  const sizes: number[] = []
  let cursor: string | null = null
  do {
    const query = { unanswered: '1', agent: 'rare', ...(cursor !== null && { cursor }) }
    const page: { items: { session_id: string }[]; next: string | null } = (await owner.call('listCalls', { query }))
      .body
    found.push(...page.items.map(({ session_id }) => session_id))
    sizes.push(page.items.length)
    cursor = page.next
  } while (cursor !== null)
  expect(found).toEqual(['of-rare'])
  expect(sizes).toEqual([0, 0, 1])

  const filter: CallFilter = {
    ...{ tenantId, agent: 'nobody', decision: null, reason: null, unanswered: true, sessionId: null },
    ...{ from: null, to: null, below: null, limit: 51 },
  }
  const list = (tx: Parameters<typeof rowsRead>[0]) => listCalls(tx, filter)
  expect(await read('unanswered_calls', list)).toBeLessThan(20_100)
  expect(await read('sessions', list)).toBeLessThan(10_100)
  expect(await read('session_events', list)).toBeLessThan(100)
})

proves(
  'limit.unanswered.listed',
  'pages of a list that stops to look leave no call out, nor show one twice',
  async () => {
    // Two calls of each moment, so that pages end within one.
    await runtime.sql`
    insert into unanswered_calls select u.tenant_id, u.at, 'of-rare', r.seq, r.call_index, r.pending_call_id
    from unanswered_calls u, unanswered_calls r where u.session_id = 'of-desk' and r.session_id = 'of-rare'`
    const [stored] = await runtime.sql<{ calls: number }[]>`select count(*)::int as calls from unanswered_calls`
    const listed = new Set<string>()
    let below: CallFilter['below'] = null
    let rows = 0
    do {
      const page: Awaited<ReturnType<typeof listCalls>> = await listCalls(database.sql, {
        ...{ tenantId, agent: 'rare', decision: null, reason: null, unanswered: true, sessionId: null },
        ...{ from: null, to: null, below, limit: 4_001 },
      })
      const last = page.rows.length < 4_001 ? undefined : page.rows.at(-1)
      rows += page.rows.length
      for (const { pageAt, pageKey } of page.rows) listed.add(`${pageAt} ${pageKey}`)
      below = last === undefined ? page.stopped : { at: last.pageAt, id: last.pageKey }
    } while (below !== null)
    expect(rows).toBe(listed.size)
    expect(rows).toBe(((stored?.calls ?? 0) + 1) / 2)
  },
)

proves('limit.unanswered.dropped', async () => {
  await note(30_001, 31_000)
  // Something happens in a session that has one of them.
  await api.addLabel({ params: { session_id: 'of-desk' }, body: { label: 'seen' } })
  await runtime.sql`update session_events set at = now() - interval '5 minutes' where at > now() - interval '5 minutes'`
  await runtime.sql`update decision_counts_until set until = date_trunc('minute', now()) - interval '6 minutes'`
  expect(await read('unanswered_calls', countDecisions)).toBeLessThan(100)
})
