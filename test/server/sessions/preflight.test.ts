import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

proves(
  [
    'endpoint.preflight',
    'endpoint.preflight.prepared-request-id',
    'turn.preflight.binds-version',
    'turn.preflight.prepared-id',
  ],
  'a preflight answers with an id bound to state, control and fence',
  async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const { status, body } = await session.preflight({ prepared_request_id: 'req-1' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      outcome: 'prepared',
      prepared_request_id: 'req-1',
      bound: { state_version: 1, control_revision: 0, fence: 1 },
    })
  },
)

proves(
  ['turn.preflight.stale-rejected', 'endpoint.preflight.rejects'],
  'an old state version is 409 STATE_STALE',
  async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const { status, problem } = await session.preflight({ state_version: 0 })
    expect([status, problem.code]).toEqual([409, 'STATE_STALE'])
    expect(problem.session).toMatchObject({ state_version: 1 })
  },
)

proves(
  'turn.preflight.invalid-rejected',
  'killed, compromised, stale-fenced and recovering sessions are refused by name',
  async () => {
    const refusal = async (change: (params: { session_id: string }) => Promise<unknown>, given = {}) => {
      const session = await openSession(api)
      await change({ session_id: session.sessionId })
      const { status, problem } = await session.preflight(given)
      return [status, problem.code]
    }
    expect(await refusal((params) => api.killSession({ params, body: {} }))).toEqual([409, 'SESSION_KILLED'])
    expect(await refusal((params) => api.reportBypass({ params, body: {} }))).toEqual([409, 'SESSION_COMPROMISED'])
    expect(await refusal((params) => api.recoverSession({ params, body: { holder_id: 'other' } }))).toEqual([
      409,
      'FENCE_STALE',
    ])
    const session = await openSession(api)
    await session.decide([LOOKUP])
    const params = { session_id: session.sessionId }
    const recovered = await api.recoverSession({ params, body: { holder_id: 'other', takeover: true } })
    session.fence = recovered.body.fence
    expect((await session.preflight()).problem.code).toBe('SESSION_RECOVERING')
  },
)

proves(
  ['endpoint.preflight.narrowing', 'label.gates-narrow'],
  'a tool that a label denies is removed, with the reason',
  async () => {
    const session = await openSession(api, { labels: ['untrusted_input'] })
    const { body } = await session.preflight()
    if (body.outcome !== 'prepared') throw new Error('blocked')
    expect(body.allowed).not.toContain('issue_refund')
    expect(body.removed).toContainEqual(expect.objectContaining({ tool: 'issue_refund', reason: 'label_gate' }))
    expect((await session.load()).session.state.lastNarrowing).toEqual({ allowed: body.allowed, removed: body.removed })
  },
)

test('while calls wait for receipts a preflight with tools is 409 PENDING_CALLS with the list; one without tools goes on', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP])
  const refused = await session.preflight()
  expect([refused.status, refused.problem.code]).toEqual([409, 'PENDING_CALLS'])
  expect(refused.problem.pending).toEqual([expect.objectContaining({ pending_call_id: decisions[0]?.pending_call_id })])
  expect((await session.preflight({ tools: [] })).body.outcome).toBe('prepared')
})

test('the same preflight again gets the same answer', async () => {
  const session = await openSession(api)
  const given = { prepared_request_id: randomUUID(), model: 'gpt-4o' }
  const first = await session.preflight(given)
  expect((await session.preflight(given)).body).toEqual(first.body)
})

test('an id that is taken by another request is 409 PREPARED_REQUEST_EXISTS, newest or not', async () => {
  const session = await openSession(api)
  const id = randomUUID()
  await session.preflight({ prepared_request_id: id })
  const differing = { prepared_request_id: id, model: 'other' }
  expect((await session.preflight(differing)).problem.code).toBe('PREPARED_REQUEST_EXISTS')
  await session.preflight()
  expect((await session.preflight(differing)).problem.code).toBe('PREPARED_REQUEST_EXISTS')
})

test('the same preflight again after its proposal is 409 PREPARED_REQUEST_CONSUMED', async () => {
  const session = await openSession(api)
  const given = { prepared_request_id: randomUUID() }
  await session.preflight(given)
  await session.propose(given.prepared_request_id, [])
  expect((await session.preflight(given)).problem.code).toBe('PREPARED_REQUEST_CONSUMED')
})

proves(
  'error.proposal-replaced',
  'a newer preflight with tools voids the older one; one without tools does not',
  async () => {
    const session = await openSession(api)
    const older = randomUUID()
    await session.preflight({ prepared_request_id: older })
    await session.preflight({ tools: [] })
    expect((await session.load()).session.state.lastNarrowing).not.toBeNull()
    await session.preflight()
    const { status, problem } = await session.propose(older, [LOOKUP])
    expect([status, problem.code]).toEqual([409, 'PREPARED_REQUEST_STALE'])
    expect(problem.detail).toContain('a newer request replaced this prepared one')
  },
)

test('a preflight beside the main loop leaves the prepared request with tools in force', async () => {
  const session = await openSession(api)
  const main = randomUUID()
  await session.preflight({ prepared_request_id: main })
  await session.preflight({ tools: [] })
  expect((await session.propose(main, [LOOKUP])).status).toBe(200)
})

test('a session whose limit is used up gets an answer, not an id', async () => {
  const session = await openSession(api, { plan: planOf(HELP_DESK, { session_limits: { max_steps: 1 } }) })
  await session.turn([LOOKUP])
  const { status, body } = await session.preflight()
  expect(status).toBe(200)
  expect(body).toMatchObject({ outcome: 'blocked', reason: 'session_limit_exceeded', remaining: { steps: 0 } })
  expect(body).not.toHaveProperty('prepared_request_id')
})

test('what is left of the limits comes with the answer', async () => {
  const plan = planOf(HELP_DESK, {
    session_limits: { max_steps: 5, max_tool_calls: 9, max_calls_per_tool: { lookup_order: 2 } },
  })
  const session = await openSession(api, { plan })
  await session.turn([LOOKUP])
  const { body } = expectStatus(await session.preflight(), 200)
  expect(body.remaining).toMatchObject({
    steps: 4,
    tool_calls: 8,
    calls_per_tool: { lookup_order: 1 },
    checkpoints: 10,
  })
})

test('an input invariant that fails blocks the calls of its tool, and the value found is stored nowhere', async () => {
  const plan = planOf([
    { tool: 'ask', side_effect: 'read', assertions: { input_invariants: [{ path: '$.model', regex: '^gpt-' }] } },
  ])
  const session = await openSession(api, { plan, capture_level: 'full' })
  const tools = [{ name: 'ask' }]
  const { body } = await session.preflight({ tools, request: { '$.model': 'a-secret-model' } })
  if (body.outcome !== 'prepared') throw new Error('blocked')
  const { body: verdict } = await session.propose(body.prepared_request_id, [{ name: 'ask', args: {} }])
  expect(verdict.decisions[0]).toMatchObject({ decision: 'block', reason: 'input_invariant_failed' })
  const rows = await runtime.sql`select * from prepared_requests where session_id = ${session.sessionId}`
  expect(JSON.stringify(rows)).not.toContain('a-secret-model')
})
