import { expect } from 'vitest'
import type { Context } from '../../../packages/server/src/context/context.js'
import { largeReplies, largeStates, largeStops, leavePlaces } from '../../../packages/server/src/context/places.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import {
  join,
  lookUp,
  offer,
  openWorkflow,
  PAYMENTS,
  settle,
  tryJoin,
  tryOffer,
} from '../../support/runtime/workflow.js'

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
    const { workflowId } = await openWorkflow(api)
    const release = await fill(largeReplies, 1)
    const asked = [
      api.exportEvents({ params, query: {} }),
      api.loadSession({ params, query: { include: 'pending' } }),
      owner.call('loadTimeline', { params, query: {} }),
      owner.call('loadProof', { params }),
      owner.call('listToolPins', {}),
      owner.call('listCaptures', { query: {} }),
      api.exportWorkflowEvents({ params: { workflow_id: workflowId }, query: {} }),
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

proves(
  'limit.fair.large-replies',
  'a run with its report waits for a place; a new one, and one without, do not',
  async () => {
    const plan = { compiled_session: session.plan.compiled_session }
    const fixtures = (run_id: string) => ({ run_id, plan, against: { fixtures: [{ name: 'a', turns: [] }] } })
    const done = await api.createRun({ body: fixtures('done') })
    await api.createRun({ body: fixtures('failed') })
    await runtime.sql`update runs set status = 'failed', report = null where run_id = 'failed'`
    const release = await fill(largeReplies, 1)
    const asked = [
      api.createRun({ body: fixtures('done') }),
      api.loadRun({ params: { run_id: 'done' } }),
      owner.call('loadRunDetail', { params: { run_id: 'done' } }),
      owner.call('listRuns', { query: {} }),
    ]
    for (const reply of asked) expect(await isAnswered(reply)).toBe(false)
    expect((await api.createRun({ body: fixtures('new') })).status).toBe(201)
    expect((await api.loadRun({ params: { run_id: 'failed' } })).status).toBe(200)
    release()
    const [again] = (await Promise.all(asked)) as [typeof done]
    expect(again.body.run).toEqual(done.body.run)
  },
)

proves(
  'limit.fair.large-replies',
  'a page of sessions with many long labels waits for one, and is bounded',
  async () => {
    const labels = Array.from({ length: 128 }, (_, at) => `l${at}`.padEnd(128, 'x'))
    for (let at = 0; at < 20; at++) await openSession(api, { labels })
    const release = await fill(largeReplies, 1)
    expect((await owner.call('listSessions', { query: { limit: '5' } })).body.items).toHaveLength(5)
    const large = owner.call('listSessions', { query: { limit: '200' } })
    expect(await isAnswered(large)).toBe(false)
    release()
    const { text, body } = await large
    expect(text.length).toBeLessThan(300_000)
    expect(body.items[0]?.labels).toEqual(labels)
    const ids = body.items.map(({ session_id }) => session_id)
    const rest = (await owner.call('listSessions', { query: { limit: '200', cursor: body.next ?? '' } })).body
    const all = [...ids, ...rest.items.map(({ session_id }) => session_id)]
    const [stored] = await runtime.sql`select count(*)::int as count from sessions where tenant_id = ${tenantId}`
    expect([all.length, new Set(all).size, rest.next]).toEqual([stored?.count, stored?.count, null])
  },
)

/** Gives a session a large state; what this process knows of it is still current. */
const enlarge = (sessionId: string) => runtime.sql`
  update session_heads set state = '{"pad":"' || repeat('x', 70000) || '",' || substr(state, 2)
  where session_id = ${sessionId}`

proves('limit.fair.large-replies', 'a session with a large state waits for a place of its own', async () => {
  const large = await openSession(api)
  await enlarge(large.sessionId)
  await runtime.sql`update session_heads set revision = 'other' where session_id = ${large.sessionId}`
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

proves('limit.fair.large-replies', 'so does what a workflow reads of such a session, with nothing locked', async () => {
  const giver = await openWorkflow(api)
  const { workflowId, sessionId } = giver
  const taken = await offer(giver)
  const holder = await join(api, { workflowId, handoffId: taken.handoff_id })
  const open = await offer(giver)
  await enlarge(sessionId)
  const release = await fill(largeStates, 1)
  const asked = [
    settle('completeHandoff', holder, { workflowId, handoffId: taken.handoff_id }),
    tryJoin(api, { workflowId, handoffId: open.handoff_id }),
    tryOffer(giver),
    settle('reclaimHandoff', giver, { workflowId, handoffId: taken.handoff_id }),
    giver.decide([lookUp('1')]).then(() => ({ status: 200 })),
  ]
  for (const reply of asked) expect(await isAnswered(reply)).toBe(false)
  // Neither the workflow nor its other sessions are locked meanwhile.
  expect((await tryOffer(holder, { to_role: 'auditor' })).status).toBe(200)
  release()
  expect((await Promise.all(asked)).map(({ status }) => status)).not.toContain(503)
})

proves('limit.fair.large-replies', 'the kill of a workflow waits for other kills alone', async () => {
  const { workflowId, sessionId } = await openWorkflow(api)
  await enlarge(sessionId)
  const release = [await fill(largeStates, 1), await fill(largeReplies, 1)]
  const releaseStops = await fill(largeStops, 1)
  const kill = api.killWorkflow({ params: { workflow_id: workflowId }, body: {} })
  expect(await isAnswered(kill)).toBe(false)
  releaseStops()
  expect((await kill).body).toMatchObject({ sessions_killed: 1 })
  for (const letGo of release) letGo()
})

proves('limit.fair.large-replies', 'a large definition is read where it is needed, and then with a place', async () => {
  const tools = Array.from({ length: 512 }, (_, at) => `tool_${at}`.padEnd(150, '_'))
  const roles = { ...PAYMENTS.roles, reader: { tools } }
  const giver = await openWorkflow(api, { definition: { ...PAYMENTS, roles } })
  const { workflowId } = giver
  const { handoff_id: handoffId } = await offer(giver)
  const release = await fill(largeStates, 1)
  expect((await settle('reclaimHandoff', giver, { workflowId, handoffId })).status).toBe(409)
  const asked = [tryOffer(giver), tryJoin(api, { workflowId, role: 'researcher' })]
  for (const reply of asked) expect(await isAnswered(reply)).toBe(false)
  release()
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 201])
})
