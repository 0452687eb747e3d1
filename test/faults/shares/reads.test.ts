import { expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** Nobody reads a table until the work is done, or a statement's patience with a lock is at its end. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  await runtime.sql.begin(async (tx) => {
    await tx`lock table ${tx(table)} in access exclusive mode`
    await work()
  })
}

proves('limit.fair.reads', 'lists that take long keep neither keys nor turns nor lists of others waiting', async () => {
  const other = await runtime.createTenant()
  const quiet = await openSession(runtime.api(other.key))
  const api = runtime.api()
  let answered = 0
  const lists: Promise<void>[] = []
  await whileLocked('session_facets', async () => {
    for (let at = 0; at < 20; at++) {
      const list = api.listSessionsByKey({ query: { label: 'pii' } })
      const done = list.then(() => {
        answered += 1
      })
      lists.push(done)
    }
    await new Promise((done) => setTimeout(done, 100))
    expect(await quiet.turn([LOOKUP])).toMatchObject({ committed: true })
    expect((await quiet.api.listSessionsByKey({ query: {} })).status).toBe(200)
    expect((await quiet.api.killSession({ params: { session_id: quiet.sessionId }, body: {} })).status).toBe(200)
    expect((await api.killSession({ params: { session_id: 'none' }, body: {} })).status).toBe(404)
    expect(answered).toBe(0)
  })
  await Promise.all(lists)
})

proves(
  'limit.fair.reads',
  'lists show what a session holds without its state, and that of an older version with it',
  async () => {
    const { api, sessionId } = await openSession(runtime.api((await runtime.createTenant()).key), { labels: ['pii'] })
    const listed = async () => (await api.listSessionsByKey({ query: {} })).body.items[0]
    const before = await listed()
    expect(before).toMatchObject({ session_id: sessionId, labels: ['pii'], state_version: 0 })
    const [{ facts } = { facts: '' }] = await runtime.sql<{ facts: string }[]>`
    select facts from session_heads where session_id = ${sessionId}`
    const { shown, ...older } = JSON.parse(facts)
    await runtime.sql`update session_heads set facts = ${JSON.stringify(older)} where session_id = ${sessionId}`
    expect(await listed()).toEqual(before)
    const other = JSON.stringify({ ...older, shown: { ...shown, labels: ['other'] } })
    await runtime.sql`update session_heads set facts = ${other}, state = 'not read' where session_id = ${sessionId}`
    expect(await listed()).toEqual({ ...before, labels: ['other'] })
  },
)

proves('limit.fair.begin', 'strangers with made-up cookies keep nobody else from being let in', async () => {
  const { sql } = runtime.instances[0].parts.database
  let answered = 0
  const strangers: Promise<void>[] = []
  await whileLocked('refresh_tokens', async () => {
    for (let at = 0; at < 20; at++) {
      const headers = { cookie: `countersign_refresh=${'x'.repeat(40)}${at}` }
      const asked = runtime.fetch(new Request(`${TEST_ORIGIN}/api/auth/me`, { headers }))
      const done = asked.then(() => {
        answered += 1
      })
      strangers.push(done)
    }
    await new Promise((done) => setTimeout(done, 100))
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    expect(answered).toBe(0)
  })
  await Promise.all(strangers)
})

proves('limit.fair.reads', 'a session is read once the body has come, and not with the key', async () => {
  const session = await openSession(runtime.api())
  await whileLocked('sessions', async () => {
    const elsewhere = await session.api.preflight({ params: { session_id: 'seen-nowhere' }, body: {} as never })
    expect([elsewhere.status, elsewhere.problem.code]).toEqual([400, 'INVALID_REQUEST'])
  })
})
