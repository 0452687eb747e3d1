import { expect } from 'vitest'
import type { Context } from '../../../packages/server/src/context/context.js'
import { largeReplies, largeStates, largeStops, leavePlaces } from '../../../packages/server/src/context/places.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { tenant_id: tenantId } = (await owner.call('me')).body.user
const other = runtime.api((await runtime.createTenant()).key)

/** As if the tenant had as many requests under way as it may, until they are let go. */
async function fill(places: typeof largeReplies, count: number): Promise<() => void> {
  const contexts = Array.from({ length: count }, () => ({ request: {}, tenant: { tenantId } }) as unknown as Context)
  await Promise.all(contexts.map((ctx) => places.take(ctx)))
  return () => {
    for (const { request } of contexts) leavePlaces(request)
  }
}

const isAnswered = (reply: Promise<{ status: number }>): Promise<boolean> =>
  Promise.race([reply.then(() => true), new Promise<boolean>((done) => setTimeout(() => done(false), 300))])

const session = await openSession(api)
await session.turn([LOOKUP])
const params = { session_id: session.sessionId }
const theirs = await openSession(other)

proves(
  'limit.fair.large-replies',
  'what may be large waits for a place; a kill, a turn and others do not',
  async () => {
    const release = await fill(largeReplies, 1)
    const asked = [
      api.exportEvents({ params, query: {} }),
      api.loadSession({ params, query: { include: 'pending' } }),
      owner.call('loadTimeline', { params, query: {} }),
      owner.call('loadProof', { params }),
      owner.call('listToolPins', {}),
      owner.call('listCaptures', { query: {} }),
    ]
    for (const reply of asked) expect(await isAnswered(reply)).toBe(false)
    expect((await other.exportEvents({ params: { session_id: theirs.sessionId }, query: {} })).status).toBe(200)
    expect((await api.loadSession({ params, query: {} })).status).toBe(200)
    await session.turn([LOOKUP])
    expect(
      (await api.killSession({ params: { session_id: (await openSession(api)).sessionId }, body: {} })).status,
    ).toBe(200)
    release()
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  },
)

proves('limit.fair.large-replies', 'a session with a large state waits for a place of its own', async () => {
  const large = await openSession(api)
  await runtime.sql`
    update session_heads set revision = 'other', state = '{"pad":"' || repeat('x', 70000) || '",' || substr(state, 2)
    where session_id = ${large.sessionId}`
  const release = await fill(largeStates, 1)
  const loaded = api.loadSession({ params: { session_id: large.sessionId }, query: {} })
  expect(await isAnswered(loaded)).toBe(false)
  expect((await api.killSession({ params: { session_id: (await openSession(api)).sessionId }, body: {} })).status).toBe(
    200,
  )
  // Its kill waits for other kills alone.
  const releaseStops = await fill(largeStops, 1)
  const kill = api.killSession({ params: { session_id: large.sessionId }, body: {} })
  expect(await isAnswered(kill)).toBe(false)
  releaseStops()
  expect((await kill).status).toBe(200)
  release()
  expect((await loaded).status).toBe(200)
})
