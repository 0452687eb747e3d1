import { compilePlan, describeNote, foldEvents } from '@countersign/engine'
import type { Contract, JsonObject, JsonValue, Outcome, SessionEvent } from '@countersign/protocol'
import { LIMITS } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Case, TurnStep } from '../support/cases/cases.js'
import { runCaseOnEngine } from '../support/cases/run-case.js'
import { proves } from '../support/proves.js'

const KEY = { key: '$.id' }

/** The same rules, for each value of an argument or for the whole session. */
function contractsWith(key: typeof KEY | Record<string, never>): Contract[] {
  const same = 'key' in key ? { same: [{ path: '$.id', as: '$.id' }] } : {}
  return [
    {
      tool: 'find',
      side_effect: 'read',
      establishes: [{ name: 'paid', path: '$.paid', ...key }],
      binds: [
        { name: 'iban', path: '$.iban', ...key },
        { name: 'asked', path: '$.iban', from: 'argument', ...key },
      ],
    },
    {
      tool: 'refund',
      evidence_class: 'local_transaction',
      refs: [
        { path: '$.iban', ref: 'iban', ...key },
        { path: '$.iban', ref: 'asked', ...key },
      ],
      envelopes: [{ name: 'paid', path: '$.amount', direction: 'at_most', ...key }],
      aggregates: [
        { name: 'refunded', path: '$.amount', lte: { ref: 'paid' }, ...key },
        { name: 'times', function: 'count', lt: 3, ...key },
      ],
    },
    { tool: 'backup' },
    { tool: 'drop', preconditions: [{ requires_prior_tool: 'backup', consumes: true, ...same }] },
  ]
}

const caseOf = (contracts: readonly Contract[], steps: readonly TurnStep[]): Case => ({
  file: 'keyed-rules',
  name: 'a history',
  faces: ['engine'],
  contracts,
  session: undefined,
  gate: 'reject_all',
  unmatchedPolicy: 'block',
  principal: undefined,
  labels: [],
  steps,
})

/** What a customer paid stays the same, so that its newest value is its strictest too. */
const PAID: Readonly<Record<string, number>> = { a: 40, b: 900, c: 0 }

interface Move {
  readonly tool: string
  readonly id: string
  readonly amount: number
  readonly iban: string
  readonly outcome: Outcome
}

const move: fc.Arbitrary<Move> = fc.record({
  tool: fc.constantFrom('find', 'find', 'refund', 'refund', 'backup', 'drop'),
  id: fc.constantFrom('a', 'b', 'c'),
  amount: fc.constantFrom(0, 0.1, 20, 40, 41, 900),
  iban: fc.constantFrom('DE1', 'DE2'),
  outcome: fc.constantFrom<Outcome>('succeeded', 'succeeded', 'failed', 'not_executed', 'unknown'),
})

const stepOf = ({ tool, id, amount, iban, outcome }: Move): TurnStep => ({
  calls: [{ tool, args: { id, amount, iban } }],
  expect: ['allow'],
  // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls; nobody awaits a step
  then: [{ outcome, evidence: 'executed', result: { paid: PAID[id] ?? 0, iban } }],
})

const decisionsOf = (contracts: readonly Contract[], moves: readonly Move[]) =>
  runCaseOnEngine(caseOf(contracts, moves.map(stepOf))).turns.map(
    ({ decisions }) => decisions[0]?.reasons[0]?.reason ?? 'allow',
  )

describe('rules that are kept per key', () => {
  proves(['contract.keys'], 'decide for each key as the rule without one does on that key alone', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 24 }), (moves) => {
        const keyed = decisionsOf(contractsWith(KEY), moves)
        for (const id of Object.keys(PAID)) {
          const own = moves.flatMap((item, at) => (item.id === id ? [at] : []))
          const alone = decisionsOf(
            contractsWith({}),
            own.map((at) => moves[at] as Move),
          )
          expect(own.map((at) => keyed[at])).toEqual(alone)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('fold from the ledger to the stored state', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 16 }), (moves) => {
        const { events, plan, state } = runCaseOnEngine(caseOf(contractsWith(KEY), moves.map(stepOf)))
        const stored = JSON.parse(JSON.stringify(events)) as SessionEvent[]
        expect(foldEvents(stored, plan)).toEqual(JSON.parse(JSON.stringify(state)))
        const kept = { bindings: ['iban', 'asked'], envelopes: ['paid'], aggregates: ['refunded', 'times'] } as const
        for (const [kind, names] of Object.entries(kept)) {
          const slots = Object.keys(state[kind as keyof typeof kept])
          for (const name of names) {
            const count = slots.filter((slot) => slot.startsWith(`${name}#`)).length
            expect(state.keyCounts?.[`${kind}.${name}`] ?? 0).toBe(count)
          }
        }
      }),
      { numRuns: 40 },
    )
  })

  const lookUp = (id: number): TurnStep => stepOf({ ...FIND, id: `o-${id}` })
  const FIND: Move = { tool: 'find', id: '', amount: 0, iban: 'DE1', outcome: 'succeeded' }

  proves(['contract.keys'], `forget none of ${LIMITS.keysPerName} keys, and block the next`, () => {
    const steps = [
      ...Array.from({ length: LIMITS.keysPerName }, (_, id) => lookUp(id)),
      lookUp(LIMITS.keysPerName),
      // The first is still known, and may be looked up again.
      stepOf({ ...FIND, tool: 'refund', id: 'o-0' }),
      lookUp(0),
    ]
    const { turns, state } = runCaseOnEngine(caseOf(contractsWith(KEY), steps))
    const reasons = turns.map(({ decisions }) => decisions[0]?.reasons[0])
    expect(reasons.slice(0, LIMITS.keysPerName).filter((reason) => reason !== undefined)).toEqual([])
    expect(reasons[LIMITS.keysPerName]).toMatchObject({ reason: 'session_limit_exceeded', detail: 'keys' })
    expect(turns[LIMITS.keysPerName]?.decisions[0]?.remedy).toContain('for 256 different values')
    expect(reasons.slice(-2)).toEqual([undefined, undefined])
    expect(JSON.stringify(state).length).toBeLessThan(LIMITS.keysPerName * 600)
  })

  test('new keys of one response count together', () => {
    const steps = [
      ...Array.from({ length: LIMITS.keysPerName - 1 }, (_, id) => lookUp(id)),
      { calls: [254, 255, 255, 256].map((id) => ({ tool: 'find', args: { id: `o-${id}` } })), expect: [] },
    ]
    const { turns } = runCaseOnEngine({ ...caseOf(contractsWith(KEY), steps), gate: 'strip_blocked' })
    const last = turns.at(-1)?.decisions.map(({ reasons }) => reasons[0]?.reason ?? 'allow')
    expect(last).toEqual(['allow', 'allow', 'allow', 'session_limit_exceeded'])
  })
})

describe('a plan that keeps very much', () => {
  const counting = (count: number, from = 0): Contract[] => [
    {
      tool: 'find',
      side_effect: 'read',
      aggregates: Array.from({ length: count }, (_, at) => ({
        name: `a${from + at}`,
        function: 'count',
        lt: 9,
        ...KEY,
      })),
    },
  ]
  const reasonsOf = (contracts: readonly Contract[], steps: readonly TurnStep[]) =>
    runCaseOnEngine({ ...caseOf(contracts, steps), gate: 'strip_blocked' }).turns.map(({ decisions }) =>
      decisions.map(({ reasons }) => reasons[0]?.reason ?? 'allow'),
    )

  proves('limit.fair.kept-values', 'numbers with hundreds of digits are not kept', () => {
    const [summing] = contractsWith(KEY).filter(({ tool }) => tool === 'refund')
    const contract = { ...summing, refs: [], envelopes: [], aggregates: [{ name: 'n', path: '$.amount', lte: 9 }] }
    const calls = [0, 1e-45, 1e-46, 1e-300].map((amount) => ({ tool: 'refund', args: { amount } }))
    expect(reasonsOf([contract as Contract], [{ calls, expect: [] }]).flat()).toEqual([
      'allow',
      'allow',
      'aggregate_path_missing',
      'aggregate_path_missing',
    ])
  })

  proves('limit.fair.kept-values', 'a plan has so many names of aggregates', () => {
    const compiled = (count: number) =>
      compilePlan({
        contracts: [...counting(200), ...counting(count - 200, 200)].map((value, at) => ({
          file: `find${at}`,
          value: { ...value, tool: `find${at}` } as JsonObject,
        })),
      })
    expect(compiled(256)).toMatchObject({ ok: true })
    const refused = compiled(257)
    expect(refused.ok ? [] : refused.errors.map(describeNote).join()).toContain(
      'the contracts declare 257 aggregates; the limit is 256',
    )
  })

  proves('limit.fair.kept-values', 'of all names together a session keeps so many keys', () => {
    const turns = Math.ceil(1_024 / 250)
    const ids = [...Array(turns + 1).keys(), 0].map((id) => `o-${id}`)
    const reasons = decisionsOf(
      counting(250),
      ids.map((id) => ({ tool: 'find', id, amount: 0, iban: 'DE1', outcome: 'succeeded' })),
    )
    expect(reasons).toEqual([...Array(turns).fill('allow'), 'session_limit_exceeded', 'allow'])
  })
})

describe('an earlier call that is used up', () => {
  const contracts = contractsWith(KEY)
  const backup = (id: string): Move => ({ tool: 'backup', id, amount: 0, iban: 'DE1', outcome: 'succeeded' })
  const drop = (id: string, outcome: Outcome = 'succeeded'): Move => ({ ...backup(id), tool: 'drop', outcome })

  proves('contract.consumes', () => {
    const moves = [backup('a'), drop('b'), drop('a', 'not_executed'), drop('a', 'failed'), drop('a')]
    const closed = 'precondition_not_met'
    expect(decisionsOf(contracts, moves)).toEqual(['allow', closed, 'allow', 'allow', closed])
    const two = { calls: ['a', 'a'].map((id) => ({ tool: 'drop', args: { id } })), expect: [] }
    const run = { ...caseOf(contracts, [stepOf(backup('a')), two]), gate: 'strip_blocked' as const }
    const last = runCaseOnEngine(run)
      .turns.at(-1)
      ?.decisions.map(({ decision }) => decision)
    expect(last).toEqual(['allow', 'block'])
  })

  proves('limit.fair.kept-values', 'what opens later calls counts with the keys of a session', () => {
    const names = Array.from({ length: 128 }, (_, at) => `k${at}`)
    const opening: Contract[] = [
      { tool: 'backup', side_effect: 'read' },
      ...names.map(
        (name): Contract => ({
          tool: `drop_${name}`,
          preconditions: [{ requires_prior_tool: 'backup', same: [{ path: '$.k', as: `$.${name}` }], consumes: true }],
        }),
      ),
    ]
    const turns = 1_024 / names.length
    const args = (turn: number) => Object.fromEntries(names.map((name) => [name, turn]))
    const ids = [...Array(turns + 1).keys(), 0]
    const steps = ids.map((turn) => ({ ...stepOf(backup('')), calls: [{ tool: 'backup', args: args(turn) }] }))
    const reasons = runCaseOnEngine(caseOf(opening, steps)).turns.map(
      ({ decisions }) => decisions[0]?.reasons[0]?.reason,
    )
    expect(reasons).toEqual([...Array(turns).fill(undefined), 'session_limit_exceeded', undefined])
  })
})

describe('a key that the contracts do not agree on', () => {
  const problems = (contracts: readonly JsonObject[]) => {
    const result = compilePlan({ contracts: contracts.map((value) => ({ file: `${value.tool}`, value })) })
    return result.ok ? [] : result.errors.map(describeNote)
  }
  const find = { tool: 'find', establishes: [{ name: 'paid', key: '$.id', path: '$.paid' }] }
  const rows: [string, JsonObject[], string][] = [
    [
      'an envelope without the key',
      [find, { tool: 'pay', envelopes: [{ name: 'paid', path: '$.amount', direction: 'at_most' }] }],
      'the envelope "paid" is kept per key, and none is given here',
    ],
    [
      'an envelope with a key that nobody sets',
      [
        { tool: 'find', establishes: [{ name: 'paid', path: '$.paid' }] },
        { tool: 'pay', envelopes: [{ name: 'paid', key: '$.id', path: '$.amount', direction: 'at_most' }] },
      ],
      'the envelope "paid" is not kept per key',
    ],
    [
      'two tools that establish one name',
      [find, { tool: 'list', establishes: [{ name: 'paid', path: '$.paid' }] }],
      'the envelope "paid" is kept per key, and none is given here',
    ],
    [
      'a ref in an invariant',
      [
        { tool: 'find', binds: [{ name: 'iban', key: '$.id', path: '$.iban' }] },
        { tool: 'pay', argument_value_invariants: [{ path: '$.iban', ref: 'iban' }] },
      ],
      'the binding "iban" is kept per key, which `ref` cannot name',
    ],
    [
      'a sum for the session under a value per key',
      [find, { tool: 'pay', aggregates: [{ name: 'sum', path: '$.amount', lte: { ref: 'paid' } }] }],
      'the envelope "paid" is kept per key, and the aggregate has none',
    ],
    [
      'a bound that nobody establishes',
      [{ tool: 'pay', aggregates: [{ name: 'sum', path: '$.amount', lte: { ref: 'paid' } }] }],
      'the envelope "paid" is not declared',
    ],
    [
      'one sum with and without a key',
      [
        { tool: 'pay', aggregates: [{ name: 'sum', key: '$.id', path: '$.amount', lte: 5 }] },
        { tool: 'send', aggregates: [{ name: 'sum', path: '$.amount', lte: 5 }] },
      ],
      'the aggregate "sum" is kept per key in one contract and not in another',
    ],
    [
      'a key with several values',
      [{ tool: 'pay', aggregates: [{ name: 'sum', key: '$.ids[*]', path: '$.amount', lte: 5 }] }],
      'the path can match several values, but a key is a single one',
    ],
    [
      'a sum of nothing',
      [{ tool: 'pay', aggregates: [{ name: 'sum', key: '$.id', lte: 5 }] }],
      'sum and max need a path',
    ],
  ]

  test.each(rows)('%s', (_, contracts, message) => {
    expect(problems(contracts)).toEqual([expect.stringContaining(message)])
  })
})

proves('contract.keys.seen', 'keys of sums, of shared limits and of resources', () => {
  const send = { tool: 'send', args: {} }
  const kept: Readonly<Record<string, { contracts: Contract[]; session?: Case['session'] }>> = {
    sum: { contracts: [{ tool: 'send', aggregates: [{ name: 'sent', key: '$.to', function: 'count', lte: 1 }] }] },
    limit: {
      contracts: [{ tool: 'send' }],
      session: { shared_limits: [{ name: 'n', tool: 'send', per: { argument: '$.to' }, max_calls: 1, window: '24h' }] },
    },
    resource: { contracts: [{ tool: 'send', resources: [{ key: 'to:{$.to}' }] }] },
  }
  for (const [what, { contracts, session }] of Object.entries(kept)) {
    const judged = (to: JsonValue) => {
      const item = caseOf(contracts, [{ calls: [{ ...send, args: { to } }], expect: [] }])
      return runCaseOnEngine({ ...item, session }).turns[0]?.decisions[0]
    }
    for (const to of [true, 'a\u200b', 'a\u00ad', '\u202ea', 'a\u0007', 'a\ufe0f', 'a\u180e', '\u3164']) {
      const found = judged(to)
      expect([what, to, found?.reasons[0]?.reason]).toEqual([what, to, 'argument_value_mismatch'])
      expect(found?.remedy).toContain('Give ')
    }
    for (const to of ['a', 'Ä b', '山田', 'a\u0301', 12, -0.5])
      expect([what, judged(to)?.decision]).toEqual([what, 'allow'])
  }
})

test('a plan that uses no key has the hash it had', () => {
  const contracts: Contract[] = [
    { tool: 'find', side_effect: 'read', establishes: [{ name: 'paid', path: '$.paid' }] },
    {
      tool: 'refund',
      envelopes: [{ name: 'paid', path: '$.amount', direction: 'at_most' }],
      aggregates: [{ name: 'refunded', path: '$.amount', function: 'sum', lte: 100 }],
      preconditions: [{ requires_prior_tool: 'find', same: [{ path: '$.id', as: '$.id' }] }],
    },
  ]
  const compiled = compilePlan({ contracts: contracts.map((value) => ({ file: value.tool, value })) })
  expect(compiled.ok && compiled.compiled_hash).toBe('dcd25a1c94235d6280114111dc583ab12a17f0895043b309d70d8e3606c8096d')
})
