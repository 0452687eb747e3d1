import { randomUUID } from 'node:crypto'
import type { Gate } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import {
  LOOKUP,
  openSession,
  receiptFor,
  refund,
  reserve,
  responseOf,
  succeeded,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

async function prepared(session: Awaited<ReturnType<typeof openSession>>): Promise<string> {
  const id = randomUUID()
  await session.preflight({ prepared_request_id: id })
  return id
}

proves(
  [
    'endpoint.proposals',
    'endpoint.proposals.pending',
    'turn.proposal.carries-response',
    'turn.proposal.returns-decisions',
    'turn.proposal.no-advance',
    'state.prepared-request.consumed-registers',
  ],
  'allowed calls become pending, blocked ones say why, and the state version stays',
  async () => {
    const session = await openSession(api)
    const verdict = await session.decide([LOOKUP, refund(50)], { gate: 'strip_partial' })
    expect(verdict).toMatchObject({ outcome: 'partial', state_version: 0, status: 'ACTIVE' })
    const [lookup, refunded] = verdict.decisions
    expect(lookup).toMatchObject({
      decision: 'allow',
      reason: null,
      argument_hash: session.hash(LOOKUP.args),
      commit_requirement: 'reported',
    })
    expect(lookup?.pending_call_id).toEqual(expect.any(String))
    expect(lookup?.idempotency_key).toEqual(expect.any(String))
    expect(refunded).toMatchObject({
      decision: 'block',
      reason: 'precondition_not_met',
      pending_call_id: null,
      remedy: expect.any(String),
    })
    const { session: view, pending } = await session.load()
    expect(view.state_version).toBe(0)
    expect(pending?.map((call) => call.pending_call_id)).toEqual([lookup?.pending_call_id])
  },
)

proves(
  ['record.prepared-request.consumed-at', 'state.prepared-request.consumed'],
  'a used prepared request is marked with the time of its use',
  async () => {
    const session = await openSession(api)
    const id = await prepared(session)
    const record = () => runtime.sql`select consumed_at from prepared_requests where prepared_request_id = ${id}`
    expect((await record())[0]?.consumedAt).toBeNull()
    await session.propose(id, [LOOKUP])
    expect((await record())[0]?.consumedAt).toBeInstanceOf(Date)
  },
)

proves(
  'turn.proposal.judges-state-and-contracts',
  'the same call is blocked before and allowed after what its contract demands',
  async () => {
    const session = await openSession(api)
    expect((await session.decide([refund(50)])).decisions[0]?.reason).toBe('precondition_not_met')
    await session.turn([LOOKUP])
    expect((await session.decide([refund(501)])).decisions[0]?.reason).toBe('argument_value_mismatch')
    expect((await session.decide([refund(50)])).decisions[0]?.decision).toBe('allow')
  },
)

proves(
  'turn.proposal.registers-atomically',
  'under reject_all one blocked call means that no call is registered',
  async () => {
    const session = await openSession(api)
    const verdict = await session.decide([LOOKUP, refund(50)])
    expect(verdict.outcome).toBe('blocked')
    expect(verdict.decisions.map(({ decision, pending_call_id }) => [decision, pending_call_id])).toEqual([
      ['allow', null],
      ['block', null],
    ])
    expect((await session.load()).pending).toEqual([])
    const rows = await runtime.sql`select 1 from pending_calls where session_id = ${session.sessionId}`
    expect(rows).toHaveLength(0)
  },
)

/** The parts of a proposal's write, by the table that each goes to. */
const WRITTEN = ['session_events', 'session_heads', 'content'] as const
for (const table of WRITTEN) {
  proves(
    ['turn.proposal.registers-atomically', 'state.prepared-request.consumed-registers'],
    `when the write to ${table} fails, no call is registered and the prepared request is still unused`,
    async () => {
      const session = await openSession(api, { capture_level: 'full' })
      const id = await prepared(session)
      const before = [await session.load(), await exportOf(api, session.sessionId)]
      await runtime.sql.unsafe(`
        create function fail_write() returns trigger language plpgsql as
          $$ begin if new.session_id = '${session.sessionId}' then raise exception 'the disk is full'; end if; return new; end $$;
        create trigger fail_write before insert or update on ${table} for each row execute function fail_write()`)
      const refused = await session.propose(id, [LOOKUP, reserve(1)])
      await runtime.sql.unsafe(`drop trigger fail_write on ${table}; drop function fail_write()`)
      expect(refused.status).toBeGreaterThanOrEqual(500)
      expect([await session.load(), await exportOf(api, session.sessionId)]).toEqual(before)
      const { body } = await session.propose(id, [LOOKUP, reserve(1)])
      expect(body.decisions.map(({ decision }) => decision)).toEqual(['allow', 'allow'])
      expect((await session.load()).pending).toHaveLength(2)
    },
  )
}

test('calls of one response count against each other', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([reserve(60, 'a'), reserve(60, 'b')], { gate: 'strip_partial' })
  expect(decisions.map(({ decision, reason }) => [decision, reason])).toEqual([
    ['allow', null],
    ['block', 'aggregate_limit_exceeded'],
  ])
})

test('a response without calls is used up, costs, registers nothing and commits nothing', async () => {
  const plan = planOf(HELP_DESK, { pricing: { 'openai/gpt-4o*': { input: 2.5, output: 10 } } })
  const session = await openSession(api, { plan })
  const { body: request } = await session.preflight({ provider: 'openai', model: 'gpt-4o' })
  if (request.outcome !== 'prepared') throw new Error('blocked')
  const { body } = await session.propose(request.prepared_request_id, [], {
    response: { tool_calls: [], content: 'hello' },
    model: 'gpt-4o',
    usage: { input_tokens: 1_000_000, output_tokens: 100_000 },
  })
  expect(body).toMatchObject({ outcome: 'no_calls', decisions: [], cost: 3.5, state_version: 0 })
  const { state } = (await session.load()).session
  expect(state).toMatchObject({ actualCost: 3.5, totalCost: 0, totalStepCount: 0 })
})

describe('a prepared request that may not be used', () => {
  proves(
    ['state.prepared-request.repeated', 'error.proposal-consumed'],
    'used before: 409 PREPARED_REQUEST_CONSUMED, and nothing moves',
    async () => {
      const session = await openSession(api)
      const id = await prepared(session)
      await session.propose(id, [LOOKUP])
      const before = await session.load()
      const { status, problem } = await session.propose(id, [reserve(1)])
      expect([status, problem.code]).toEqual([409, 'PREPARED_REQUEST_CONSUMED'])
      expect(problem).not.toHaveProperty('proposal')
      expect(await session.load()).toEqual(before)
    },
  )

  proves(
    ['error.proposal-stale', 'turn.prepared-request.bound-to-state', 'state.prepared-request.changed'],
    'the state moved: 409 PREPARED_REQUEST_STALE, and nothing moves',
    async () => {
      const session = await openSession(api)
      const beside = randomUUID()
      const { decisions } = await session.decide([LOOKUP])
      await session.preflight({ prepared_request_id: beside, tools: [] })
      await session.receipts(succeeded(decisions))
      const before = await session.load()
      const { status, problem } = await session.propose(beside, [])
      expect([status, problem.code]).toEqual([409, 'PREPARED_REQUEST_STALE'])
      expect(await session.load()).toEqual(before)
    },
  )

  const MOVES: Record<string, (session: Session) => Promise<unknown>> = {
    'a label': ({ sessionId }) => api.addLabel({ params: { session_id: sessionId }, body: { label: 'seen' } }),
    'a tool filter': ({ sessionId }) =>
      api.setToolFilter({ params: { session_id: sessionId }, body: { tools: ['lookup_order'], fence: 1 } }),
  }
  for (const [what, move] of Object.entries(MOVES)) {
    proves(
      ['turn.prepared-request.bound-to-state', 'state.prepared-request.changed', 'error.proposal-stale'],
      `${what} came: 409 PREPARED_REQUEST_STALE, with tools and without`,
      async () => {
        const session = await openSession(api)
        const toolless = randomUUID()
        const id = await prepared(session)
        await session.preflight({ prepared_request_id: toolless, tools: [] })
        await move(session)
        const before = await session.load()
        for (const stale of [id, toolless]) {
          expect((await session.propose(stale, [])).problem.code).toBe('PREPARED_REQUEST_STALE')
        }
        expect(await session.load()).toEqual(before)
      },
    )
  }

  test.each([
    ['unknown', 404, 'NOT_FOUND', async () => {}],
    [
      'expired',
      409,
      'PREPARED_REQUEST_EXPIRED',
      (id: string) => runtime.sql`
        update session_heads set revision = revision || ':expired',
          prepared = jsonb_set(prepared::jsonb, '{expiresAt}', '"2020-01-01T00:00:00.000Z"')::text
        where prepared::json ->> 'id' = ${id}`,
    ],
  ])('%s: %i %s', async (kind, expected, code, change) => {
    const session = await openSession(api)
    const id = kind === 'unknown' ? 'never-made' : await prepared(session)
    await change(id)
    const { status, problem } = await session.propose(id, [LOOKUP])
    expect([status, problem.code]).toEqual([expected, code])
    expect((await session.load()).pending).toEqual([])
  })

  test("another session's: 404", async () => {
    const mine = await openSession(api)
    const other = await openSession(api)
    expect((await mine.propose(await prepared(other), [LOOKUP])).status).toBe(404)
  })

  test('made without tools: calls on it are response_format_invalid', async () => {
    const session = await openSession(api)
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id, tools: [] })
    const { body } = await session.propose(id, [LOOKUP])
    expect(body.decisions[0]).toMatchObject({ decision: 'block', reason: 'response_format_invalid' })
  })

  test('with an old fence: 409 FENCE_STALE', async () => {
    const session = await openSession(api)
    const id = await prepared(session)
    expect((await session.propose(id, [LOOKUP], { fence: 0 })).problem.code).toBe('FENCE_STALE')
  })
})

describe('after a lost answer', () => {
  test.each([
    ['small', []],
    // 180 kB in all: judged in a thread.
    ['long', ['x', 'y', 'z'].map((letter) => ({ ...LOOKUP, args: { ...LOOKUP.args, note: letter.repeat(60_000) } }))],
  ])('the very same proposal, a %s one, gets its decisions with the refusal while its calls wait', async (_, more) => {
    const session = await openSession(api)
    const id = await prepared(session)
    const given = { gate: 'strip_partial' } as const
    const calls = [LOOKUP, refund(50), ...more]
    const { body } = await session.propose(id, calls, given)
    const again = await session.propose(id, calls, given)
    expect([again.status, again.problem.code]).toEqual([409, 'PREPARED_REQUEST_CONSUMED'])
    expect(again.problem.proposal).toEqual(body)
  })

  test('at capture level metadata the decisions come back without remedies and values', async () => {
    const session = await openSession(api, { capture_level: 'metadata' })
    const id = await prepared(session)
    const given = { gate: 'strip_partial' } as const
    const { body } = await session.propose(id, [LOOKUP, refund(501.875)], given)
    const again = await session.propose(id, [LOOKUP, refund(501.875)], given)
    const { decisions } = again.problem.proposal as typeof body
    expect(decisions[0]).toEqual(body.decisions[0])
    expect(decisions[1]).toMatchObject({ decision: 'block', reason: body.decisions[1]?.reason })
    expect(JSON.stringify(decisions[1])).not.toContain('501.875')
  })

  test.each([
    ['another body', async () => [reserve(1)]],
    [
      'its calls resolved',
      async (session: Session, decisions: Decisions) => void (await session.receipts(succeeded(decisions))),
    ],
    [
      'the session killed',
      (session: Session) => api.killSession({ params: { session_id: session.sessionId }, body: {} }),
    ],
    [
      'the session compromised',
      (session: Session) => api.reportBypass({ params: { session_id: session.sessionId }, body: {} }),
    ],
    [
      'another holder',
      (session: Session) =>
        api.recoverSession({ params: { session_id: session.sessionId }, body: { holder_id: 'b', takeover: true } }),
    ],
  ])('with %s no decision comes back', async (_name, change) => {
    const session = await openSession(api)
    const id = await prepared(session)
    const { body } = await session.propose(id, [LOOKUP])
    const calls = await change(session, body.decisions)
    const again = await session.propose(id, Array.isArray(calls) ? calls : [LOOKUP])
    expect(again.status).toBe(409)
    expect(again.problem).not.toHaveProperty('proposal')
    expect(again.problem.session).toMatchObject({ ledger: { seq: expect.any(Number) } })
  })

  const REGISTERS_NOTHING: [string, Parameters<Session['propose']>[1], Gate][] = [
    ['all of whose calls were blocked', [refund(501), refund(502, 'c2')], 'strip_partial'],
    ['that was rejected for one of its calls', [LOOKUP, refund(501)], 'reject_all'],
    ['without calls', [], 'reject_all'],
  ]
  test.each(REGISTERS_NOTHING)(
    'a proposal %s gets its decisions while nothing else happened',
    async (_, calls, gate) => {
      const session = await openSession(api)
      const id = await prepared(session)
      const { body } = await session.propose(id, calls, { gate })
      expect(body.decisions.map(({ pending_call_id }) => pending_call_id)).toEqual(calls.map(() => null))
      const before = await exportOf(api, session.sessionId)
      for (let retry = 0; retry < 2; retry++) {
        const again = await session.propose(id, calls, { gate })
        expect([again.status, again.problem.code]).toEqual([409, 'PREPARED_REQUEST_CONSUMED'])
        expect(again.problem.proposal).toEqual(body)
      }
      // Sent again, not counted again.
      expect(await exportOf(api, session.sessionId)).toEqual(before)
    },
  )

  const SINCE: Record<string, (session: Session) => Promise<unknown>> = {
    'a label came': (session) => api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'seen' } }),
    'another turn came': (session) => session.decide([LOOKUP]),
    'another holder came': (session) =>
      api.recoverSession({ params: { session_id: session.sessionId }, body: { holder_id: 'b' } }),
    'it was killed': (session) => api.killSession({ params: { session_id: session.sessionId }, body: {} }),
  }
  test.each(Object.entries(SINCE))('blocks do not come back when %s since', async (_, happen) => {
    const session = await openSession(api)
    const id = await prepared(session)
    await session.propose(id, [refund(501)])
    await happen(session)
    const again = await session.propose(id, [refund(501)])
    expect(again.status).toBe(409)
    expect(again.problem).not.toHaveProperty('proposal')
  })
})
type Session = Awaited<ReturnType<typeof openSession>>
type Decisions = Awaited<ReturnType<Session['decide']>>['decisions']

test('blocks in a row trip the breaker: the session is killed in the same step', async () => {
  const plan = planOf(HELP_DESK, { session_limits: { circuit_breaker: { consecutive_blocks: 2 } } })
  const session = await openSession(api, { plan })
  expect((await session.decide([refund(1)])).status).toBe('ACTIVE')
  const second = await session.decide([refund(1)])
  expect(second).toMatchObject({ outcome: 'blocked', status: 'KILLED' })
  const events = await api.exportEvents({ params: { session_id: session.sessionId } })
  expect(events.body.events.slice(-2).map(({ type, body }) => [type, body.by])).toEqual([
    ['proposal', undefined],
    ['killed', 'breaker'],
  ])
})

test('the lease covers the longest call under way', async () => {
  const session = await openSession(api)
  const { lease_until } = await session.decide([reserve(1)])
  const minutes = (Date.parse(lease_until) - Date.now()) / 60_000
  expect(minutes).toBeGreaterThan(11)
  expect(minutes).toBeLessThan(13)
})

describe('a response that cannot be trusted is blocked and registers nothing', () => {
  const call = { id: 'c', name: 'lookup_order', arguments: '{"order_id":"A"}' }
  const many = Array.from({ length: 65 }, (_, index) => ({ ...call, id: `c${index}` }))
  test.each<[string, unknown]>([
    ['arguments that are not JSON', { tool_calls: [{ ...call, arguments: '{order_id' }] }],
    ['arguments that are an array', { tool_calls: [{ ...call, arguments: '["A"]' }] }],
    ['a key twice', { tool_calls: [{ ...call, arguments: '{"order_id":"A","order_id":"B"}' }] }],
    ['a key __proto__', { tool_calls: [{ ...call, arguments: '{"__proto__":{},"order_id":"A"}' }] }],
    ['the character NUL, which no row can keep', { tool_calls: [{ ...call, arguments: '{"order_id":"A\\u0000"}' }] }],
    [
      '200 kB of arguments',
      { tool_calls: [{ ...call, arguments: JSON.stringify({ order_id: 'x'.repeat(200_000) }) }] },
    ],
    ['a call without id', { tool_calls: [{ name: call.name, arguments: call.arguments }] }],
    ['two calls with one id', { tool_calls: [call, call] }],
    ['65 calls', { tool_calls: many }],
    ['a text', 'no response at all'],
  ])('%s', async (_name, response) => {
    const session = await openSession(api)
    const id = await prepared(session)
    const { status, body } = await session.propose(id, [], { response: response as never, gate: 'strip_partial' })
    expect(status).toBe(200)
    expect(body.decisions.some(({ reason }) => reason === 'response_format_invalid')).toBe(true)
    expect((await session.load()).pending).toEqual([])
  })

  test.each(['lооkup_order', 'lookup_order\u200b', 'ｌookup_order', 'Lookup_order'])(
    'the look-alike name %j is unmatched',
    async (name) => {
      const session = await openSession(api)
      const { decisions } = await session.decide([{ name, args: { order_id: 'A' } }])
      expect(decisions[0]?.reason).toBe('unmatched_tool_blocked')
    },
  )
})

test('responses in the shapes of OpenAI and Anthropic are read', async () => {
  const args = JSON.stringify(LOOKUP.args)
  const shapes = [
    {
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup_order', arguments: args } }],
          },
        },
      ],
    },
    {
      type: 'message',
      role: 'assistant',
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 'c1', name: 'lookup_order', input: LOOKUP.args }],
    },
    responseOf([LOOKUP]),
  ]
  for (const response of shapes) {
    const session = await openSession(api)
    const { decisions } = await session.decide([], { response: response as never })
    expect(decisions).toMatchObject([
      { tool_name: 'lookup_order', decision: 'allow', argument_hash: session.hash(LOOKUP.args) },
    ])
  }
})

proves('guarantee.one-open-proposal', 'a second proposal cannot slip in while calls wait', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([reserve(60)])
  expect((await session.preflight()).problem.code).toBe('PENDING_CALLS')
  await session.receipts([receiptFor(decisions[0]!, { outcome: 'unknown' })])
  const { decisions: next } = await session.decide([reserve(60)])
  expect(next[0]?.reason).toBe('aggregate_limit_exceeded')
})

test('decisions and ledger events are counted for the metrics', async () => {
  const session = await openSession(api)
  const metric = async (pattern: RegExp) => {
    const text = await runtime.instances[0].parts.metrics.registry.metrics()
    return Number(pattern.exec(text)?.[1] ?? 0)
  }
  const allowed = /countersign_decisions_total\{decision="allow",reason=""\} (\d+)/
  const blocked = /countersign_decisions_total\{decision="block",reason="precondition_not_met"\} (\d+)/
  const events = /countersign_ledger_events_total (\d+)/
  const before = [await metric(allowed), await metric(blocked), await metric(events)]
  const { decisions } = await session.decide([LOOKUP, refund(50)], { gate: 'strip_partial' })
  await session.receipts(succeeded(decisions))
  const after = [await metric(allowed), await metric(blocked), await metric(events)]
  expect(after.map((value, index) => value - before[index]!)).toEqual([1, 1, 2])
})
