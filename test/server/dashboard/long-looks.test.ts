import { expect } from 'vitest'
import { listCaptures } from '../../../packages/server/src/store/captures/captures.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner } = await withOwnedRuntime()
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
