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

proves('isolation.controls', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP])
  const [{ pending_call_id, argument_hash } = {}] = decisions
  const params = { session_id: session.sessionId }
  const leaseOf = async () => {
    const [row] = await runtime.sql<{ leaseUntil: Date }[]>`
      select lease_until from session_heads where session_id = ${session.sessionId}`
    return row?.leaseUntil.getTime() ?? 0
  }
  const before = await leaseOf()
  forgetPlans()
  const claim = {
    fence: 1,
    claim_id: 'clm-1',
    pending_call_id: `${pending_call_id}`,
    argument_hash: `${argument_hash}`,
  }
  expectStatus(await api.claimCall({ params, body: claim }), 200)
  // As long as the call may take, which the plan said when it was allowed.
  expect(await leaseOf()).toBeGreaterThan(before)
  expectStatus(await api.addLabel({ params, body: { label: 'seen' } }), 200)
  expectStatus(await api.setToolFilter({ params, body: { fence: 1, tools: ['lookup_order'] } }), 200)
  expectStatus(await api.endSession({ params, body: { fence: 1 } }), 200)
  const other = { session_id: 'bypassed' }
  Object.assign(parts, { plans })
  await openSession(api, other)
  forgetPlans()
  expectStatus(await api.reportBypass({ params: other, body: {} }), 200)
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
