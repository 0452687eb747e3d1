import { expect } from 'vitest'
import { listCaptures } from '../../../packages/server/src/store/captures/captures.js'
import { listSessions } from '../../../packages/server/src/store/dashboard/session-list.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { database } = runtime.instances[0].parts
const { tenant_id: tenantId } = (await owner.call('me')).body.user

/** The rows of a table that some work reads. */
const read = (table: string, work: (tx: Parameters<typeof rowsRead>[0]) => Promise<unknown>): Promise<number> =>
  database.transaction('test', (tx) => rowsRead(tx, table, () => work(tx)))

interface ReadPage<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** A list from its first page to its last. */
async function pagesOf<Item>(load: (cursor: { cursor?: string }) => Promise<ReadPage<Item>>): Promise<Item[][]> {
  const pages: Item[][] = []
  let cursor: string | null = null
  do {
    const page: ReadPage<Item> = await load(cursor === null ? {} : { cursor })
    pages.push([...page.items])
    cursor = page.next
  } while (cursor !== null)
  return pages
}

proves('limit.pages.captures-of-tool', async () => {
  // Two of each moment; every 15,000th is of another tool, and the oldest of a third.
  await runtime.sql`
    insert into captures (tenant_id, capture_id, agent, conversation_id, at, received_at, capture_level, tool_names, item)
    select ${tenantId}, 'c-' || lpad(n::text, 6, '0'), 'desk', 'c', now() - n / 2 * interval '1 second', now(), 'metadata',
      array[case when n = 45000 then 'rare' when n % 15000 = 0 then 'odd' else 'common' end],
      '{"response":{"tool_calls":[]}}'
    from generate_series(1, 45000) n`
  await runtime.sql`analyze captures`
  const ids = async (query: Record<string, string>) => {
    const pages = await pagesOf(
      async (cursor) => (await owner.call('listCaptures', { query: { ...query, ...cursor } })).body,
    )
    return pages.map((page) => page.map(({ capture_id }) => capture_id))
  }
  expect(await ids({ tool: 'rare' })).toEqual([[], [], ['c-045000']])
  expect(await ids({ tool: 'rare', agent: 'desk' })).toEqual([[], [], ['c-045000']])
  expect(await ids({ tool: 'odd' })).toEqual([['c-015000'], ['c-030000'], []])
  expect(await ids({ tool: 'common', agent: 'nobody' })).toEqual([[]])
  const page: Parameters<typeof listCaptures>[1] = { tenantId, agent: null, tool: 'nope', below: null, limit: 51 }
  expect(await read('captures', (tx) => listCaptures(tx, page))).toBeLessThan(40_100)
  // However many there are of the tool, each comes once.
  const all: string[] = []
  for (let below: typeof page.below | undefined = null; below !== undefined; ) {
    const { rows, stopped } = await listCaptures(database.sql, { ...page, tool: 'common', below, limit: 7_000 })
    const last = rows.length < 7_000 ? undefined : rows.at(-1)
    all.push(...rows.map(({ captureId }) => captureId))
    below = last === undefined ? (stopped ?? undefined) : { at: last.pageAt, id: last.captureId }
  }
  expect([all.length, new Set(all).size]).toEqual([44_997, 44_997])
})

proves('limit.pages.sessions-of-facet', async () => {
  const session = await openSession(api, { session_id: 'first', agent: 'desk', labels: ['seen'] })
  // Two of each moment; the oldest is of another agent, and killed.
  for (const table of ['sessions', 'session_heads'])
    await runtime.sql`
      insert into ${runtime.sql(table)}
      select (s.x).* from (
        select jsonb_populate_record(s, jsonb_build_object('session_id', 's-' || lpad(n::text, 6, '0'),
          'agent', case when n = 22000 then 'rare' else 'desk' end,
          'status', case when n = 22000 then 'KILLED' else 'ACTIVE' end,
          'created_at', now() - n / 2 * interval '1 second')) as x
        from ${runtime.sql(table)} s, generate_series(1, 22000) n where s.session_id = ${session.sessionId} offset 0
      ) as s`
  await runtime.sql`
    insert into session_facets (tenant_id, kind, value, created_at, session_id)
    select tenant_id, kind, value, created_at, session_id from sessions
    cross join (values ('label', 'seen'), ('reason', 'forbidden_tool')) as f (kind, value) on conflict do nothing`
  await runtime.sql`analyze sessions, session_heads, session_facets`
  const ids = async (query: Record<string, string>) => {
    const pages = await pagesOf(
      async (cursor) => (await owner.call('listSessions', { query: { ...query, ...cursor } })).body,
    )
    return pages.map((page) => page.map(({ session_id }) => session_id))
  }
  for (const facet of [{ label: 'seen' }, { reason: 'forbidden_tool' }]) {
    expect(await ids({ ...facet, agent: 'rare' })).toEqual([[], [], ['s-022000']])
    expect(await ids({ ...facet, status: 'KILLED' })).toEqual([[], [], ['s-022000']])
    expect(await ids({ ...facet, agent: 'rare', order: 'oldest' })).toEqual([['s-022000'], [], []])
  }
  expect(await ids({ label: 'seen', reason: 'forbidden_tool', agent: 'nobody' })).toEqual([[], [], []])
  const filter: Parameters<typeof listSessions>[1] = {
    ...{ tenantId, search: null, agent: 'nobody', environment: null, status: null, activity: null },
    ...{ workflowId: null, reason: null },
    ...{ label: 'seen', from: null, to: null, below: null, oldestFirst: false, mayBeLarge: true, limit: 51 },
  }
  expect(await read('sessions', (tx) => listSessions(tx, filter))).toBeLessThan(10_100)
  // However many fit, each comes once.
  for (const oldestFirst of [false, true]) {
    const all: string[] = []
    for (let below: typeof filter.below | undefined = null; below !== undefined; ) {
      const page = await listSessions(database.sql, { ...filter, agent: 'desk', oldestFirst, below, limit: 3_000 })
      const last = page.rows.length < 3_000 && !page.isCut ? undefined : page.rows.at(-1)
      all.push(...page.rows.map(({ sessionId }) => sessionId))
      below = last === undefined ? (page.stopped ?? undefined) : { at: last.pageAt, id: last.sessionId }
    }
    expect([all.length, new Set(all).size]).toEqual([22_000, 22_000])
  }
})
