import { beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../support/proves.js'
import { openSession, receiptFor } from '../support/runtime/governed-session.js'
import { planOf } from '../support/runtime/plans.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** Each datum of a session as a text that occurs nowhere else. */
const DATA = {
  argument: 'argument-7f3a',
  argumentName: 'name-of-44c0',
  found: 'found-91bc',
  output: 'output-5d0e',
  result: 'result-c2d4',
  message: 'message-e8aa',
  approvalReason: 'reason-33f1',
  killReason: 'killed-because-0b7d',
  principal: 'principal-a441',
  requestValue: 'request-7c61',
} as const
type Datum = keyof typeof DATA

const plan = planOf([
  {
    tool: 'lookup',
    side_effect: 'read',
    arguments: { type: 'object' },
    assertions: { input_invariants: [{ path: '$.model', not_equals: 'forbidden' }] },
    binds: [{ name: 'order', from: 'output', path: '$.order' }],
    checkpoint: { reason: 'always', timeout_seconds: 30 },
  },
  {
    tool: 'pay',
    side_effect: 'write',
    arguments: { properties: { shares: { additionalProperties: { type: 'number' } } } },
    argument_value_invariants: [{ path: '$.to', one_of: ['known'] }],
  },
  { tool: 'ask', side_effect: 'read', assertions: { input_invariants: [{ path: '$.model', equals: 'only-this' }] } },
])

/** A session in which every kind of content passes through the service. */
async function sessionAt(capture_level: 'metadata' | 'redacted' | 'full'): Promise<string> {
  const api = runtime.api()
  const session = await openSession(api, { plan, capture_level, principal: { id: DATA.principal } })
  const { body } = await session.preflight({
    tools: [{ name: 'lookup' }, { name: 'pay' }, { name: 'ask' }],
    request: { '$.model': DATA.requestValue },
  })
  if (body.outcome !== 'prepared') throw new Error('blocked')
  const calls = [
    { id: 'a', name: 'lookup', arguments: JSON.stringify({ q: DATA.argument }) },
    { id: 'b', name: 'pay', arguments: JSON.stringify({ to: DATA.found, shares: { [DATA.argumentName]: 'half' } }) },
    { id: 'c', name: 'ask', arguments: '{}' },
  ]
  const response = { content: DATA.message, finish_reason: 'tool_calls', tool_calls: calls }
  const verdict = await session.propose(body.prepared_request_id, [], { response, gate: 'strip_partial' })
  const [lookup, pay, ask] = verdict.body.decisions
  expect([lookup?.decision, pay?.reason, ask?.reason]).toEqual([
    'allow',
    'argument_value_mismatch',
    'input_invariant_failed',
  ])
  for (const said of [DATA.found, DATA.argumentName]) expect(JSON.stringify(pay)).toContain(said)
  const receipt = receiptFor(lookup!, {
    outputs: { '$.order': DATA.output },
    result: { text: DATA.result },
    approvals: [
      {
        checkpoint_id: lookup!.checkpoints[0]!.checkpoint_id,
        decision: 'approve',
        decided_by: 'bob',
        decided_at: '2026-01-01T00:00:00Z',
        reason: DATA.approvalReason,
        argument_hash: lookup!.argument_hash!,
      },
    ],
  })
  expect((await session.receipts([receipt])).body.committed).toBe(true)
  await session.propose(body.prepared_request_id, [], { response, gate: 'strip_partial' })
  await api.killSession({ params: { session_id: session.sessionId }, body: { reason: DATA.killReason } })
  return session.sessionId
}

/** Every row that names the session, by table, as text. */
async function dumpOf(sessionId: string): Promise<Record<string, string>> {
  const { sql } = runtime
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'session_id'`
  const dump: Record<string, string> = {}
  for (const { name } of tables) {
    const rows = await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t where session_id = ${sessionId}`
    dump[name] = rows.map(({ row }) => row).join('\n')
  }
  return dump
}

/** Where a datum may be found, by level. Everywhere else it must not be. */
const STORED: Record<'metadata' | 'redacted' | 'full', Partial<Record<Datum, string[]>>> = {
  metadata: { principal: ['sessions'] },
  redacted: {
    principal: ['sessions'],
    argument: ['content'],
    argumentName: ['content'],
    found: ['content'],
    approvalReason: ['content'],
    killReason: ['content'],
  },
  full: {
    principal: ['sessions'],
    argument: ['content'],
    argumentName: ['content'],
    found: ['content'],
    approvalReason: ['content'],
    killReason: ['content'],
    message: ['content'],
    result: ['content'],
  },
}

describe.each(['metadata', 'redacted', 'full'] as const)('a dump of a session at %s', (level) => {
  let dump: Record<string, string>
  let sessionId: string
  beforeAll(async () => {
    sessionId = await sessionAt(level)
    dump = await dumpOf(sessionId)
  })

  test.each(Object.keys(DATA) as Datum[])('holds the %s only where its level keeps it', (datum) => {
    const found = Object.keys(dump).filter((table) => dump[table]?.includes(DATA[datum]))
    expect(found).toEqual(STORED[level][datum] ?? [])
  })

  test('says all the same where a rule failed', () => {
    expect(dump.proposals).toContain('$.tool_calls[1].arguments.to')
    expect(dump.proposals).toContain('$.tool_calls[1].arguments.shares[*]')
  })

  test('has the tables of a session, so that nothing was overlooked', () => {
    expect(Object.keys(dump).sort()).toEqual(
      expect.arrayContaining([
        'content',
        'pending_calls',
        'prepared_requests',
        'proposals',
        'receipts',
        'session_events',
        'sessions',
      ]),
    )
    expect(dump.session_events).not.toBe('')
  })

  proves('guarantee.not-logged', 'and no log line holds any of it', () => {
    const log = runtime.logLines.join('\n')
    for (const text of Object.values(DATA)) expect(log).not.toContain(text)
  })
})
