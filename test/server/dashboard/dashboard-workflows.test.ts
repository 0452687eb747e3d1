import { expect, test } from 'vitest'
import { expireOffers } from '../../../packages/server/src/workflows/expire-offers.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { join, offer, openWorkflow } from '../../support/runtime/workflow.js'

const { runtime, owner: ada, api } = await withOwnedRuntime()

test('workflows are listed newest first, page by page, with what goes on in them', async () => {
  const made: string[] = []
  for (let i = 0; i < 5; i += 1) made.unshift((await openWorkflow(api, { workflowId: `listed-${i}` })).workflowId)
  const root = await openWorkflow(api, { workflowId: 'listed-busy' })
  const taken = await offer(root)
  await join(api, { workflowId: 'listed-busy', handoffId: taken.handoff_id })
  await offer(root)
  const first = (await ada.call('listWorkflows', { query: { limit: '4' } })).body
  expect(first.items[0]).toMatchObject({ workflow_id: 'listed-busy', status: 'ACTIVE', sessions: 2, open_handoffs: 2 })
  const rest = (await ada.call('listWorkflows', { query: { limit: '4', cursor: first.next ?? '' } })).body
  expect([...first.items, ...rest.items].map(({ workflow_id }) => workflow_id)).toEqual(['listed-busy', ...made])
  expect(rest.next).toBeNull()
})

proves('people.workflows.killed-handoffs', 'neither offered nor accepted ones', async () => {
  const root = await openWorkflow(api, { workflowId: 'stopped-midway' })
  const taken = await offer(root)
  await join(api, { workflowId: 'stopped-midway', handoffId: taken.handoff_id })
  await offer(root)
  const open = async () => {
    const { items } = (await ada.call('listWorkflows', { query: { limit: '1' } })).body
    return items.map(({ workflow_id, open_handoffs }) => [workflow_id, open_handoffs])
  }
  expect(await open()).toEqual([['stopped-midway', 2]])
  await ada.call('killWorkflowByPerson', { params: { workflow_id: 'stopped-midway' }, body: {} })
  expect(await open()).toEqual([['stopped-midway', 0]])
})

test('a person sees a workflow, kills it, and the audit says who did', async () => {
  const { workflowId, ...root } = await openWorkflow(api)
  const params = { workflow_id: workflowId }
  expect((await ada.call('loadWorkflowDetail', { params })).body).toEqual((await api.loadWorkflow({ params })).body)
  const killed = await ada.call('killWorkflowByPerson', { params, body: { reason: 'a drill' } })
  expect(killed.body).toEqual({ workflow_id: workflowId, status: 'KILLED', sessions_killed: 1 })
  expect((await root.preflight()).problem.code).toBe('SESSION_KILLED')
  const { body } = await ada.call('listAudit')
  expect(body.items[0]).toMatchObject({ action: 'workflow_killed', actor: ada.email, subject: workflowId })
  const events = (await api.exportWorkflowEvents({ params })).body.events
  expect(events.at(-1)).toMatchObject({ type: 'killed', body: { by: 'dashboard', sessions: [root.sessionId] } })
})

test("another tenant's workflow is not there for anybody else", async () => {
  const { workflowId } = await openWorkflow(runtime.api())
  for (const name of ['loadWorkflowDetail', 'killWorkflowByPerson'] as const) {
    const body = name === 'killWorkflowByPerson' ? { body: {} } : {}
    const foreign = await ada.call(name, { params: { workflow_id: workflowId }, ...body })
    const unknown = await ada.call(name, { params: { workflow_id: 'nowhere' }, ...body })
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  }
})

test('the job writes down which offers expired, once', async () => {
  const root = await openWorkflow(api)
  const { handoff_id } = await offer(root, { note: 'for nobody' })
  await runtime.sql`update handoffs set expires_at = clock_timestamp() where handoff_id = ${handoff_id}`
  const { parts } = runtime.instances[0]
  expect(await Promise.all([expireOffers(parts), expireOffers(parts)])).toContain(1)
  expect(await expireOffers(parts)).toBe(0)
  const { events } = (await api.exportEvents({ params: { session_id: root.sessionId } })).body
  expect(events.map(({ type }) => type)).toEqual(['created', 'handoff_offered', 'handoff_expired'])
  expect(JSON.stringify(events)).not.toContain('for nobody')
  expect((await root.load()).session.control_revision).toBe(0)
})

test('an offer that cannot be written as expired holds up no other', async () => {
  const [broken, whole] = [await openWorkflow(runtime.api()), await openWorkflow(api)]
  const [first, second] = [await offer(broken), await offer(whole)]
  await runtime.sql`update session_heads set state = 'no JSON' where session_id = ${broken.sessionId}`
  await runtime.sql`update handoffs set expires_at = '2020-01-01' where handoff_id = ${first.handoff_id}`
  await runtime.sql`update handoffs set expires_at = clock_timestamp() where handoff_id = ${second.handoff_id}`
  expect(await expireOffers(runtime.instances[0].parts)).toBe(1)
  const states = await runtime.sql`
    select state from handoffs where handoff_id = any (${[first.handoff_id, second.handoff_id]}) order by state`
  expect(states.map(({ state }) => state)).toEqual(['expired', 'offered'])
  expect(runtime.logLines.join()).toContain('could not be written as expired')
})

test('erasing the content of a session erases the notes that it wrote', async () => {
  const root = await openWorkflow(api)
  await offer(root, { note: 'the customer is called Ann' })
  await ada.call('eraseContent', { params: { session_id: root.sessionId } })
  const { body } = await api.loadWorkflow({ params: { workflow_id: root.workflowId } })
  expect(body.handoffs).toMatchObject([{ note: null }])
})
