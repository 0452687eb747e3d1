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
