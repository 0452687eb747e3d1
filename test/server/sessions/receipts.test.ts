import { describe, expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import {
  expectStatus,
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
  refund,
  reserve,
  succeeded,
} from '../../support/runtime/governed-session.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

async function pendingLookup() {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP])
  return { session, decision: decisions[0]!, params: { session_id: session.sessionId } }
}

proves(
  [
    'endpoint.receipts',
    'endpoint.receipts.advances',
    'turn.receipt.records-outcome',
    'turn.receipt.advances-on-commit',
    'turn.receipt.argument-hash',
    'record.receipt',
    'record.pending-call.resolved',
    'state.pending-call.resolved',
    'record.session.state-version',
  ],
  'a receipt at its level resolves the call, is stored with its hashes, and commits the step',
  async () => {
    const { session, decision } = await pendingLookup()
    const { status, body } = await session.receipts([receiptFor(decision)])
    expect(status).toBe(200)
    expect(body).toMatchObject({
      results: [{ pending_call_id: decision.pending_call_id, outcome: 'succeeded', at_level: true, late: false }],
      committed: true,
      state_version: 1,
      status: 'ACTIVE',
    })
    const [call] =
      await runtime.sql`select state, resolved_at from pending_calls where pending_call_id = ${decision.pending_call_id}`
    expect(call).toMatchObject({ state: 'resolved', resolvedAt: expect.any(Date) })
    const [receipt] =
      await runtime.sql`select record::json from receipts where pending_call_id = ${decision.pending_call_id}`
    expect(receipt?.record).toMatchObject({
      outcome: 'succeeded',
      argument_hash: decision.argument_hash,
      result_hash: 'a'.repeat(64),
    })
    const { session: view } = await session.load()
    expect(view.state_version).toBe(1)
    expect(view.state).toMatchObject({ totalStepCount: 1, totalToolCalls: 1, toolCallCounts: { lookup_order: 1 } })
  },
)

proves(
  ['turn.receipt.weak-evidence', 'state.pending-call.advances-if-satisfied'],
  "the client's word is not enough for a destructive tool: stored, counted, not committed",
  async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const { decisions } = await session.decide([refund(400)])
    const { body } = await session.receipts([receiptFor(decisions[0]!, { evidence_level: 'reported' })])
    expect(body).toMatchObject({
      results: [{ at_level: false }],
      committed: false,
      state_version: 1,
      labels: ['money_moved'],
    })
    const { decisions: next } = await session.decide([refund(500), refund(101)], { gate: 'strip_partial' })
    expect(next.map(({ reason }) => reason)).toEqual([null, 'aggregate_limit_exceeded'])
  },
)

test('a step commits when all its calls have an outcome and one succeeded', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP, reserve(10)])
  const first = await session.receipts([receiptFor(decisions[0]!)])
  expect(first.body).toMatchObject({ committed: false, state_version: 0 })
  const second = await session.receipts([receiptFor(decisions[1]!, { outcome: 'failed' })])
  expect(second.body).toMatchObject({ committed: true, state_version: 1 })
})

describe('what an outcome gives back', () => {
  const budgetLeft = async (outcome: 'failed' | 'unknown' | 'not_executed', use: typeof reserve, limit: number) => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const { decisions } = await session.decide([use(limit)])
    await session.receipts([receiptFor(decisions[0]!, { outcome })])
    const { decisions: next } = await session.decide([use(limit)])
    return next[0]?.decision
  }
  test.each([
    ['failed', 'allow', 'its transaction rolled back'],
    ['not_executed', 'allow', 'it never ran'],
    ['unknown', 'block', 'nobody knows'],
  ] as const)('%s in a local transaction: the next is %s, %s', async (outcome, decision, _why) => {
    expect(await budgetLeft(outcome, reserve, 100)).toBe(decision)
  })
  test('failed without a transaction: the budget stays used', async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    for (const amount of [500, 500]) {
      const { decisions } = await session.decide([refund(amount)])
      expect(decisions[0]?.decision).toBe('allow')
      await session.receipts([receiptFor(decisions[0]!, { outcome: 'failed' })])
    }
    expect((await session.decide([refund(1)])).decisions[0]?.reason).toBe('aggregate_limit_exceeded')
  })
})

describe('a receipt again', () => {
  test('the same gets the same answer, and one row is stored', async () => {
    const { session, decision } = await pendingLookup()
    const first = await session.receipts([receiptFor(decision)])
    const again = await session.receipts([receiptFor(decision)])
    expect(again.body).toEqual(first.body)
    const rows = await runtime.sql`select 1 from receipts where pending_call_id = ${decision.pending_call_id}`
    expect(rows).toHaveLength(1)
  })

  test('with another outcome it is 409 RECEIPT_CONFLICT and changes nothing', async () => {
    const { session, decision } = await pendingLookup()
    await session.receipts([receiptFor(decision)])
    const before = await session.load()
    const { status, problem } = await session.receipts([receiptFor(decision, { outcome: 'failed' })])
    expect([status, problem.code]).toEqual([409, 'RECEIPT_CONFLICT'])
    expect(await session.load()).toEqual(before)
  })

  test('two that contradict each other in one batch are 409; two that are equal are one', async () => {
    const { session, decision } = await pendingLookup()
    const receipt = receiptFor(decision)
    const contradiction = await session.receipts([receipt, { ...receipt, outcome: 'failed' }])
    expect(contradiction.problem.code).toBe('RECEIPT_CONFLICT')
    expect((await session.receipts([receipt, receipt])).body).toMatchObject({ committed: true, state_version: 1 })
  })

  test('together with a new one both get their answers', async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP, reserve(10)])
    const [lookup, reserved] = succeeded(decisions)
    await session.receipts([lookup!])
    const { body } = await session.receipts([lookup!, reserved!])
    expect(body.results.map(({ pending_call_id }) => pending_call_id)).toEqual(
      decisions.map((one) => one.pending_call_id),
    )
    expect(body).toMatchObject({ committed: true, state_version: 1 })
  })

  test('twenty at once: one is recorded, all get its answer', async () => {
    const { session, decision } = await pendingLookup()
    const answers = await Promise.all(Array.from({ length: 20 }, () => session.receipts([receiptFor(decision)])))
    expect(
      new Set(answers.map(({ status, body }) => JSON.stringify([status, body.committed, body.state_version]))),
    ).toEqual(new Set(['[200,true,1]']))
  })
})

test.each(['metadata', 'redacted', 'full'] as const)(
  'at the level %s, a tool that returned null leaves a receipt, and a response that is null is judged',
  async (capture_level) => {
    const session = await openSession(api, { capture_level })
    const { decisions } = await session.decide([LOOKUP])
    const answer = await session.receipts(decisions.map((decision) => receiptFor(decision, { result: null })))
    expect(expectStatus(answer, 200).body).toMatchObject({ committed: true, state_version: 1 })
    session.stateVersion = 1
    const { body: prepared } = await session.preflight()
    if (prepared.outcome !== 'prepared') throw new Error('the preflight was blocked')
    const judged = await session.propose(prepared.prepared_request_id, [], { response: null })
    expect(judged.status).toBe(200)
  },
)

test('a call that was never registered is 404, and the batch has no effect', async () => {
  const { session, decision } = await pendingLookup()
  const { status } = await session.receipts([
    receiptFor(decision),
    { ...receiptFor(decision), pending_call_id: 'call_unknown' },
  ])
  expect(status).toBe(404)
  expect((await session.load()).pending).toHaveLength(1)
})

test('a tool that ran with other arguments compromises the session; the receipt is stored and says unknown', async () => {
  const { session, decision, params } = await pendingLookup()
  const changed = receiptFor(decision, { argument_hash: 'b'.repeat(64) })
  for (const attempt of ['first', 'again']) {
    const { status, problem } = await session.receipts([changed])
    expect([attempt, status, problem.code]).toEqual([attempt, 409, 'ARGUMENTS_CHANGED'])
    expect(problem.session).toMatchObject({ status: 'COMPROMISED', state_version: 0 })
  }
  const [stored] =
    await runtime.sql`select record::json ->> 'outcome' as outcome, (record::json ->> 'arguments_changed')::boolean as arguments_changed from receipts where session_id = ${session.sessionId}`
  expect(stored).toEqual({ outcome: 'unknown', argumentsChanged: true })
  expect((await session.preflight()).problem.code).toBe('SESSION_COMPROMISED')
  const { body } = await api.exportEvents({ params })
  expect(body.events.at(-1)).toMatchObject({ type: 'bypass', body: { cause: 'arguments_changed' } })
})

test.each(['killSession', 'reportBypass'] as const)(
  'after %s a receipt is stored, resolves its call and advances nothing',
  async (stop) => {
    const { session, decision, params } = await pendingLookup()
    await api[stop]({ params, body: {} })
    const { status, body } = await session.receipts([receiptFor(decision)])
    expect(status).toBe(200)
    expect(body).toMatchObject({ results: [{ outcome: 'succeeded', late: true }], committed: false, state_version: 0 })
    expect((await session.load()).pending).toEqual([])
  },
)

describe('with an old fence', () => {
  async function recovered() {
    const found = await pendingLookup()
    await api.recoverSession({ params: found.params, body: { holder_id: 'holder-2', takeover: true } })
    return found
  }
  test('a receipt is stored as late evidence and resolves nothing', async () => {
    const { session, decision } = await recovered()
    const { status, body } = await session.receipts([receiptFor(decision)], 1)
    expect(status).toBe(200)
    expect(body).toMatchObject({ results: [{ late: true, at_level: false }], committed: false, status: 'RECOVERING' })
    expect((await session.load()).pending).toMatchObject([{ state: 'in_doubt' }])
    expect(await lateRows(session)).toBe(1)
  })

  test('at most three are stored of one call, and the same one once', async () => {
    const { session, decision } = await recovered()
    const say = (outcome: 'succeeded' | 'failed', error_code?: string) =>
      session.receipts([receiptFor(decision, { outcome, ...(error_code ? { error_code } : {}) })], 1)
    await say('succeeded')
    await say('succeeded')
    expect(await lateRows(session)).toBe(1)
    for (const code of ['E1', 'E2', 'E3', 'E4']) expectStatus(await say('failed', code), 200)
    expect(await lateRows(session)).toBe(3)
    const { ledger } = await session.load()
    expect(ledger.seq).toBe(6)
  })

  test('a receipt that was recorded before the recovery gets its answer again', async () => {
    const { session, decision, params } = await pendingLookup()
    const first = await session.receipts([receiptFor(decision)])
    await api.recoverSession({ params, body: { holder_id: 'holder-2' } })
    const again = await session.receipts([receiptFor(decision)], 1)
    expect(again.body.results).toEqual(first.body.results)
    expect(await lateRows(session)).toBe(0)
  })

  test('a fence from the future is 409 FENCE_STALE', async () => {
    const { session, decision } = await pendingLookup()
    expect((await session.receipts([receiptFor(decision)], 9)).problem.code).toBe('FENCE_STALE')
  })

  const lateRows = async (session: GovernedSession) =>
    (await runtime.sql`select 1 from late_receipts where session_id = ${session.sessionId}`).length
})

test('failures in a row trip the breaker: the session is killed in the same step', async () => {
  const plan = planOf(HELP_DESK, { session_limits: { circuit_breaker: { consecutive_errors: 2 } } })
  const session = await openSession(api, { plan })
  for (const expected of ['ACTIVE', 'KILLED']) {
    const { decisions } = await session.decide([LOOKUP])
    const { body } = await session.receipts([receiptFor(decisions[0]!, { outcome: 'failed' })])
    expect(body.status).toBe(expected)
  }
})

test('values that the plan reads from a result come with the receipt and steer what follows', async () => {
  const plan = planOf([
    { tool: 'verify', side_effect: 'read' },
    {
      tool: 'pay',
      side_effect: 'write',
      preconditions: [{ requires_prior_tool: 'verify', with_output: [{ path: '$.ok', equals: true }] }],
    },
  ])
  const session = await openSession(api, { plan })
  const tools = [{ name: 'verify' }, { name: 'pay' }]
  const decide = async (name: string) => {
    const { body } = await session.preflight({ tools })
    if (body.outcome !== 'prepared') throw new Error('blocked')
    return (await session.propose(body.prepared_request_id, [{ name, args: {} }])).body
  }
  for (const ok of [false, true]) {
    const { decisions } = await decide('verify')
    expect(decisions[0]?.output_paths).toEqual(['$.ok'])
    const { body } = await session.receipts([receiptFor(decisions[0]!, { outputs: { '$.ok': ok } })])
    session.stateVersion = body.state_version
    const paid = await decide('pay')
    expect(paid.decisions[0]?.decision).toBe(ok ? 'allow' : 'block')
  }
})

proves(
  'turn.receipt.complete',
  'a success that claims to be executed shows times and a hash, or is refused',
  async () => {
    const { session, decision } = await pendingLookup()
    const { result_hash: _, ...unhashed } = receiptFor(decision)
    const { started_at: _s, ...unstarted } = receiptFor(decision)
    const { finished_at: _f, ...unfinished } = receiptFor(decision)
    for (const [receipt, field] of [
      [unhashed, 'result_hash'],
      [unstarted, 'started_at'],
      [unfinished, 'finished_at'],
      [receiptFor(decision, { block_reason: 'killed' }), 'block_reason'],
    ] as const) {
      const { status, problem } = await session.receipts([receipt])
      expect([status, JSON.stringify(problem)]).toEqual([400, expect.stringContaining(`receipts.0.${field}`)])
    }
    const reported = { evidence_level: 'reported' as const, outcome: 'failed' as const }
    expect((await session.receipts([{ ...unhashed, ...reported }])).status).toBe(200)
  },
)

proves('turn.receipt.unhashable', 'a result that cannot be hashed is marked, and its step commits', async () => {
  const { session, decision } = await pendingLookup()
  const { result_hash: _, ...unhashed } = receiptFor(decision)
  const { body } = await session.receipts([{ ...unhashed, result_unhashable: true }])
  expect(body).toMatchObject({ committed: true, state_version: 1, results: [{ at_level: true }] })
})
