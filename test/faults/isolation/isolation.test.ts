import type { Contract } from '@countersign/protocol'
import { expect } from 'vitest'
import { ReplayUnavailableError } from '../../../packages/sdk/src/base/errors.js'
import { proves } from '../../support/proves.js'
import { calls } from '../../support/runtime/agent.js'
import {
  expectStatus,
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
} from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

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
    let turns = 0
    let isOver = false
    const judged = session.propose(prepared, [call]).finally(() => {
      isOver = true
    })
    for (; !isOver; turns++) await calm.turn([LOOKUP])
    const refused = await judged
    expect(refused.status).toBe(422)
    expect(refused.problem).toMatchObject({ code: 'TOO_COSTLY', detail: 'it took longer than 1.5 seconds' })
    // On one thread with it, a turn would wait for its end.
    expect(turns).toBeGreaterThan(5)
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

proves('isolation.same', 'a policy that forbids is judged in a thread, and its refusal says no more', async () => {
  const only = 'permit(principal, action, resource) when { principal.id == "ann" };'
  const plan = planOf([{ ...PLAIN, policy: { cedar: only } }])
  const session = await openSession(runtime.api(), { plan, principal: { id: 'eve' } })
  const { outcome, decisions } = await session.decide([LOOKUP])
  expect(outcome).toBe('blocked')
  expect(decisions).toMatchObject([
    {
      decision: 'block',
      reasons: [{ reason: 'policy_denied', remedy: expect.stringMatching(/^This tool is restricted here\./) }],
      pending_call_id: null,
    },
  ])
  expect((await session.load()).pending).toEqual([])
})

proves('isolation.same', 'a thread answers word for word what is answered in place', async () => {
  const limited: Contract = { ...PLAIN, argument_value_invariants: [{ path: '$.order_id', regex: '^A-[0-9]$' }] }
  const repliesUnder = async (contracts: readonly Contract[]) => {
    const session = await openSession(runtime.api(), { plan: planOf(contracts) })
    const replies = []
    for (const args of [{ order_id: 'A-1' }, { order_id: 'B-2' }, {}]) {
      const reply = await session.decide([{ name: PLAIN.tool, args }])
      const decisions = reply.decisions.map(({ pending_call_id, idempotency_key, argument_hash, ...said }) => [
        said,
        [pending_call_id, idempotency_key, argument_hash].map((id) => typeof id),
      ])
      replies.push({ outcome: reply.outcome, decisions })
      if (reply.outcome === 'allowed') {
        const receipts = reply.decisions.map((decision) => receiptFor(decision))
        session.stateVersion = expectStatus(await session.receipts(receipts), 200).body.state_version
      }
    }
    return replies
  }
  const inPlace = await repliesUnder([limited])
  expect(inPlace.map(({ outcome }) => outcome)).toEqual(['allowed', 'blocked', 'blocked'])
  // The other contract costs too much for a plan that is judged in place.
  expect(await repliesUnder([limited, COSTLY])).toEqual(inPlace)
})

proves(['isolation.stops'], 'a kill is answered while all threads are at work', async () => {
  const plan = planOf([COSTLY, PLAIN])
  const others = await Promise.all([1, 2, 3, 4].map(async () => runtime.api((await runtime.createTenant()).key)))
  const busy = await Promise.all(others.map((api) => openSession(api, { plan })))
  const session = await openSession(runtime.api(), { plan })
  const prepared = await Promise.all([...busy, session].map(prepare))
  const proposals = [...busy, session].map((each, at) => each.propose(prepared[at] ?? '', [call]))
  const judged = proposals.at(-1)
  let over = 0
  for (const proposal of proposals) void proposal.then(() => ++over)
  expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  expect(over).toBe(0)
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
