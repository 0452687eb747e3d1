import type { Plan } from '@countersign/engine'
import { afterEach, expect } from 'vitest'
import type { PlanCache } from '../../../packages/server/src/context/plan-cache.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { join, openWorkflow } from '../../support/runtime/workflow.js'

const { runtime, api } = await withRuntime()
const [{ parts }] = runtime.instances
const { plans } = parts

/** As if every plan had been forgotten, and would take for ever to prepare. */
const forgetPlans = () => {
  const neverReady: PlanCache = { ...plans, ofSession: () => new Promise<Plan>(() => {}) }
  Object.assign(parts, { plans: neverReady })
}
afterEach(() => Object.assign(parts, { plans }))

const statusOf = async (sessionId: string) => {
  const [row] = await runtime.sql<{ status: string }[]>`
    select state::json ->> 'status' as status from session_heads where session_id = ${sessionId}`
  return row?.status
}

proves('endpoint.kill.needs-no-plan', async () => {
  const session = await openSession(api)
  await session.turn([LOOKUP])
  forgetPlans()
  const params = { session_id: session.sessionId }
  expectStatus(await api.killSession({ params, body: { reason: 'stop' } }), 200)
  expect(await statusOf(session.sessionId)).toBe('KILLED')
})

proves('endpoint.kill.needs-no-plan', 'nor does that of a workflow', async () => {
  const first = await openWorkflow(api)
  const { workflowId } = first
  const second = await join(api, { workflowId, role: 'researcher' })
  forgetPlans()
  const killed = await api.killWorkflow({ params: { workflow_id: workflowId }, body: { reason: 'stop' } })
  expect(expectStatus(killed, 200).body.sessions_killed).toBe(2)
  for (const { sessionId } of [first, second]) expect(await statusOf(sessionId)).toBe('KILLED')
})
