import type { RouteName } from '@countersign/protocol'
import { expect } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { isolateHere } from '../../support/runtime/isolate-here.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** What went to a thread; each request waits there while a test wants it to. */
let asked: RouteName[] = []
let gate: Promise<void> = Promise.resolve()
const { runtime, api, owner } = await withOwnedRuntime({
  isolate: (parts) => {
    const here = isolateHere(parts)
    return {
      ...here,
      answer: async (request, options) => {
        asked.push(request.route)
        await gate
        return here.answer(request, options)
      },
    }
  },
})
const [{ parts }] = runtime.instances
const other = await runtime.createTenant()
const calm = await openSession(runtime.api(other.key))
await calm.turn([LOOKUP])

/** Does something while all threads are taken, and shows that others are answered. Returns what went to a thread. */
async function beside(
  work: () => Promise<{ readonly status: number }>,
): Promise<{ status: number; asked: RouteName[] }> {
  let open = () => {}
  gate = new Promise((done) => {
    open = done
  })
  asked = []
  const working = work()
  try {
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    await calm.turn([LOOKUP])
    const label = { params: { session_id: calm.sessionId }, body: { label: `seen-${asked[0]}`.slice(0, 60) } }
    expectStatus(await calm.api.addLabel(label), 200)
  } finally {
    open()
  }
  const { status } = await working
  return { status, asked }
}

const PACK = [{ file: 'refund.yaml', text: 'tool: refund\nside_effect: financial\n' }]
const pack = { body: { agent: 'desk', environment: 'staging' as const, files: PACK } }

proves('isolation.others', 'what people compile, compare, list and try has threads', async () => {
  expectStatus(await api.ingestCaptures(batchOf(mailConversation('desk', 'Ann'))), 200)
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
  const works: [RouteName, number, () => Promise<{ readonly status: number }>][] = [
    ['diffPlan', 200, () => api.diffPlan(pack)],
    ['submitPlan', 201, () => api.submitPlan(pack)],
    ['listContracts', 200, () => owner.call('listContracts', { query: { agent: 'desk' } })],
    ['draftPlan', 201, () => owner.call('draftPlan', { body: { agent: 'desk', environment: 'staging' } })],
    [
      'judgePlayground',
      200,
      () => owner.call('judgePlayground', { body: { contracts: PACK, response: { tool_calls: [] } } }),
    ],
    ['loadTimeline', 200, () => owner.call('loadTimeline', { params: { session_id: mine.sessionId } })],
    ['loadProof', 200, () => owner.call('loadProof', { params: { session_id: mine.sessionId } })],
    ['exportEvents', 200, () => api.exportEvents({ params: { session_id: mine.sessionId } })],
  ]
  const mine = await openSession(api)
  for (const [route, status, work] of works) expect(await beside(work)).toEqual({ status, asked: [route] })
})

const createWith = (plan: ReturnType<typeof planOf>, rest: object = {}) =>
  api.createSession({
    body: {
      session_id: `ses-${plan.compiled_hash.slice(0, 8)}-${Math.random()}`,
      holder_id: 'h',
      compiled_session: plan.compiled_session,
      ...rest,
    },
  })

proves(
  'isolation.others',
  'a plan that nobody used before is prepared in a thread, and known in place from then on',
  async () => {
    const plan = planOf([{ tool: 'fresh', side_effect: 'read', arguments: { type: 'object' } }])
    expect(await beside(() => createWith(plan))).toEqual({ status: 201, asked: ['createSession'] })
    await expect
      .poll(async () => {
        asked = []
        expect((await createWith(plan)).status).toBe(201)
        return asked
      })
      .toEqual([])
  },
)

proves('isolation.others', 'large bodies and policies are read and judged in threads, every time', async () => {
  const long = { ...batchOf(mailConversation('long', 'x'.repeat(20_000))) }
  expect(await beside(() => api.ingestCaptures(long))).toEqual({ status: 200, asked: ['ingestCaptures'] })
  const policy = planOf([
    { tool: 'lookup_order', side_effect: 'read', policy: { cedar: 'permit(principal, action, resource);' } },
  ])
  const session = await openSession(api, { plan: policy, principal: { id: 'ann' } })
  for (let turn = 0; turn < 2; turn++) {
    expect(await beside(() => session.preflight())).toEqual({ status: 200, asked: ['preflight'] })
  }
})
