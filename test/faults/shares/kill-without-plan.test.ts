import type { Plan } from '@countersign/engine'
import { expect } from 'vitest'
import type { PlanCache } from '../../../packages/server/src/context/plan-cache.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const [{ parts }] = runtime.instances

proves('endpoint.kill.needs-no-plan', async () => {
  const session = await openSession(api)
  await session.turn([LOOKUP])
  // As if its plan had been forgotten, and would take for ever to prepare.
  const neverReady: PlanCache = { ...parts.plans, ofSession: () => new Promise<Plan>(() => {}) }
  Object.assign(parts, { plans: neverReady })
  const params = { session_id: session.sessionId }
  expectStatus(await api.killSession({ params, body: { reason: 'stop' } }), 200)
  const [row] = await runtime.sql<{ status: string }[]>`
    select state::json ->> 'status' as status from session_heads where session_id = ${session.sessionId}`
  expect(row?.status).toBe('KILLED')
})
