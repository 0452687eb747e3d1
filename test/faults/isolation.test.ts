import type { Contract } from '@countersign/protocol'
import { expect } from 'vitest'
import { ReplayUnavailableError } from '../../packages/sdk/src/base/errors.js'
import { proves } from '../support/proves.js'
import { calls } from '../support/runtime/agent.js'
import { expectStatus, type GovernedSession, LOOKUP, openSession } from '../support/runtime/governed-session.js'
import { planOf } from '../support/runtime/plans.js'
import { withAgentAndRuntime } from '../support/runtime/with-runtime.js'

const { runtime, agent } = await withAgentAndRuntime({ isolate: 'threads' })

/** Each pattern looks through the whole text: two thousand of them take several seconds. */
const COSTLY: Contract = {
  tool: 'costly',
  side_effect: 'read',
  arguments: {
    type: 'object',
    properties: {
      text: { allOf: Array.from({ length: 2_000 }, (_, at) => ({ pattern: `(a|b)*[^c]{1,${(at % 8) + 2}}$` })) },
    },
  },
}
const PLAIN: Contract = { tool: 'lookup_order', side_effect: 'read' }
const CEDAR: Contract = {
  tool: 'lookup_order',
  side_effect: 'read',
  policy: { cedar: 'permit(principal, action, resource);' },
}

const call = { name: 'costly', args: { text: 'ab'.repeat(60_000) } }

async function prepare(session: GovernedSession): Promise<string> {
  const { body } = await session.preflight({ tools: [{ name: 'costly' }] })
  if (body.outcome !== 'prepared') throw new Error('the turn was blocked')
  return body.prepared_request_id
}

proves(
  ['isolation.deadline', 'isolation.others'],
  'a call that takes minutes to judge is refused with 422, nothing is allowed, and others are answered meanwhile',
  async () => {
    const session = await openSession(runtime.api(), { plan: planOf([COSTLY, PLAIN]) })
    const prepared = await prepare(session)
    const other = await runtime.createTenant()
    const calm = await openSession(runtime.api(other.key))
    await calm.turn([LOOKUP])
    let slowest = 0
    let isOver = false
    const judged = session.propose(prepared, [call]).finally(() => {
      isOver = true
    })
    while (!isOver) {
      const begunMs = performance.now()
      await calm.turn([LOOKUP])
      slowest = Math.max(slowest, performance.now() - begunMs)
    }
    const refused = await judged
    expect(refused.status).toBe(422)
    expect(refused.problem).toMatchObject({ code: 'TOO_COSTLY', detail: 'it took longer than 1.5 seconds' })
    expect(slowest).toBeLessThan(1_000)
    expect((await session.load()).pending).toEqual([])
    // The session itself goes on, and the thread was replaced.
    await session.turn([LOOKUP])
  },
)

proves('isolation.same', 'a policy is judged in a thread, and decides as in place', async () => {
  const session = await openSession(runtime.api(), { plan: planOf([CEDAR]), principal: { id: 'ann' } })
  const { decisions } = await session.decide([LOOKUP])
  expect(decisions.map(({ decision }) => decision)).toEqual(['allow'])
})

proves(['isolation.stops'], 'a kill is answered while all threads are at work', async () => {
  const plan = planOf([COSTLY, PLAIN])
  const others = await Promise.all([1, 2, 3, 4].map(async () => runtime.api((await runtime.createTenant()).key)))
  const busy = await Promise.all(others.map((api) => openSession(api, { plan })))
  const session = await openSession(runtime.api(), { plan })
  const prepared = await Promise.all([...busy, session].map(prepare))
  const proposals = [...busy, session].map((each, at) => each.propose(prepared[at] ?? '', [call]))
  const judged = proposals.at(-1)
  const begunMs = performance.now()
  expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  expect(performance.now() - begunMs).toBeLessThan(500)
  expect((await judged)?.status).toBeGreaterThanOrEqual(409)
  await Promise.all(proposals)
  expect((await session.load()).session.status).toBe('KILLED')
})

proves('isolation.closed', async () => {
  let ran = 0
  const { session, ask } = agent.start({
    contracts: COSTLY,
    tools: { costly: () => ++ran },
    apiKey: runtime.key,
    fetch: runtime.fetch,
    onError: 'allow',
  })
  agent.provider.enqueue(calls(['costly', call.args]))
  const refused = await ask(['costly']).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ReplayUnavailableError)
  expect(refused).toMatchObject({
    code: 'TOO_COSTLY',
    mayRetry: false,
    remedy: 'the call takes too long to judge, and was not let through: call with less at once',
  })
  expect(ran).toBe(0)
  expect(session.getHealth()).toMatchObject({ totalUnguardedCalls: 0 })
})
