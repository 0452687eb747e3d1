import type { Contract } from '@countersign/protocol'
import { afterAll, expect, test } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/worker-thread.js'
import { createTaskThread, PLAN_THREAD_LIMITS, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** What happens before the thread does a task, and what it was asked. */
let before: () => Promise<void> = async () => {}
let asked: string[] = []
const real = createTaskThread(PLAN_THREAD_LIMITS)
const planThread: TaskThread = {
  run: async (tenantId, name, input, options) => {
    asked.push(name)
    await before()
    return real.run(tenantId, name, input, options)
  },
  close: () => real.close(),
}
afterAll(planThread.close)

const { runtime } = await withRuntime({ parts: { planThread } })

let number = 0
/** A plan that nobody has sent before. */
const newPlan = (contract: Partial<Contract> = {}) =>
  planOf([{ tool: `t${++number}`, side_effect: 'read', arguments: { type: 'object' }, ...contract }])

const withPattern = (regex = '^ORD-[0-9]+$') => newPlan({ argument_value_invariants: [{ path: '$.id', regex }] })

const create = (plan = withPattern(), api = runtime.api()) =>
  api.createSession({
    body: {
      session_id: `ses-${++number}`,
      holder_id: 'holder-1',
      compiled_session: plan.compiled_session,
    },
  })

proves('limit.fair.tried-plans', 'a plan is read in the thread first, and once', async () => {
  const plan = withPattern()
  asked = []
  for (let time = 0; time < 2; time++) expect((await create(plan)).status).toBe(201)
  expect(asked).toEqual(['tryPlan'])
})

proves('limit.fair.tried-plans', 'while a plan is read, others have their turns and kills', async () => {
  const other = runtime.api((await runtime.createTenant()).key)
  // Its plan is known from here on.
  await openSession(other)
  let go = () => {}
  const gate = new Promise<void>((done) => {
    go = done
  })
  before = () => gate
  asked = []
  const reading = create()
  await expect.poll(() => asked).toEqual(['tryPlan'])
  const session = await openSession(other)
  await session.turn([LOOKUP])
  expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  go()
  before = async () => {}
  expect((await reading).status).toBe(201)
})

proves('limit.fair.tried-plans', 'a plan that ends the thread is refused, and never prepared for judging', async () => {
  const plan = withPattern()
  before = async () => {
    throw new TaskFailed('tryPlan', 'it took longer than 10 seconds', 10_000)
  }
  const api = runtime.api((await runtime.createTenant({ quota: 'free' })).key)
  const refused = await create(plan, api)
  before = async () => {}
  expect([refused.status, refused.problem.code]).toEqual([400, 'PLAN_INVALID'])
  expect(refused.problem.detail).toContain('it took longer than 10 seconds')
  // Its ten seconds count as a hundred requests.
  expect((await create(withPattern(), api)).status).toBe(429)
  // Nobody knows it: it is read anew.
  asked = []
  expect((await create(plan)).status).toBe(201)
  expect(asked).toEqual(['tryPlan'])
})

test('what is wrong with a plan is told as it would be without the thread', async () => {
  const { compiled_session } = withPattern()
  const [contract] = compiled_session.contracts
  const wrong = { ...contract, argument_value_invariants: [{ path: '$.id', regex: '(' }] }
  const { status, problem } = await create({
    compiled_session: { ...compiled_session, contracts: [wrong] } as typeof compiled_session,
    compiled_hash: '',
  })
  expect([status, problem.code]).toEqual([400, 'PLAN_INVALID'])
  expect(problem.detail).toContain('RE2 does not accept the regular expression')
})
