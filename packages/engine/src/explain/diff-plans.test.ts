import type { Contract } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { diffPlans } from './diff-plans.js'

function compiled(contracts: readonly Contract[], session: object = {}) {
  const result = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: session },
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  return result.compiled_session
}

const before: Contract = {
  tool: 'pay',
  arguments: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  sources: [{ path: '$.to', from: ['user', { result: 'page', path: '$', as: 'line' }], otherwise: 'ask' }],
}
const words = (after: Contract[], was: Contract[] | null = [before]) =>
  diffPlans(was === null ? null : compiled(was), compiled(after)).map(({ effect, text }) => `${effect}: ${text}`)

describe('diffPlans', () => {
  test('says nothing of equal plans', () => {
    expect(words([before])).toEqual([])
  })

  proves('people.plan-diff.first-plan', 'a first plan blocks; a contract beside others allows its tool', () => {
    expect(words([before], null)).toEqual(['blocks: pay has its first contract: calls that break it are blocked'])
    expect(words([{ tool: 'other' }])).toEqual([
      'allows: other has a contract now',
      'blocks: pay no longer has a contract',
    ])
  })

  proves('people.plan-diff.proof', () => {
    const proven: Contract = { tool: 'other', principal: 'proven' }
    const text = 'a token must prove for whom a session acts: other asks for it'
    expect(words([before, proven])).toEqual(['allows: other has a contract now', `blocks: ${text}`])
    expect(words([before, { tool: 'other' }], [before, proven])).toEqual([
      'allows: no token needs to prove for whom a session acts',
    ])
    const session = diffPlans(compiled([before, proven]), compiled([before, proven], { principal: 'proven' }))
    expect(session).toEqual([
      {
        tool: null,
        effect: 'changes',
        text: 'a token must prove for whom a session acts: session.yaml, other asks for it',
      },
    ])
  })

  test('a new contract that blocks every call allows nothing', () => {
    expect(words([before, { tool: 'other', gate: 'block' }])).toEqual([
      'blocks: other has a contract that blocks every call',
    ])
  })

  test('tells sources, arguments, bounds and gates apart', () => {
    const after: Contract = {
      ...before,
      gate: 'block',
      arguments: {
        type: 'object',
        properties: { to: { type: 'string' }, memo: {} },
        required: [],
        additionalProperties: false,
      },
      sources: [{ path: '$.to', from: ['user', 'known'], otherwise: 'block' }],
      argument_value_invariants: [{ path: '$.to', regex: '^A' }],
    }
    expect(words([after])).toEqual([
      'blocks: pay: gated: every call is blocked',
      'allows: pay: argument to may be left out',
      'allows: pay: argument memo is now accepted',
      'allows: pay: $.to may come from the values known from earlier sessions',
      'blocks: pay: $.to may not come from a line of $ of the result of page',
      'blocks: pay: any other source of $.to blocks',
      'blocks: pay: new bound: $.to matches ^A',
    ])
  })
})

/** Each row from `was` to `is` narrows, and back it widens. */
const NARROWER: { name: string; was: Partial<Contract>; is: Partial<Contract> }[] = [
  ...bounds('a lower bound', { lte: 500 }, { lte: 100 }),
  ...bounds('an exclusive bound', { lte: 500 }, { lt: 500 }),
  ...bounds('a higher least value', { gte: 1 }, { gt: 1 }),
  ...bounds('a bound beside another', { lte: 500 }, { lte: 500, gte: 0 }),
  ...bounds('a shorter list', { one_of: ['a', 'b'] }, { one_of: ['b'] }),
  ...bounds('one value of a list', { one_of: [1, 2] }, { equals: 2 }),
  ...bounds('a list within a bound', { lte: 500 }, { one_of: [100, 200] }),
  ...bounds('more that is excluded', { not_equals: 'a' }, { not_one_of: ['a', 'b'] }),
  ...bounds('a longer beginning', { starts_with: 'a' }, { starts_with: 'ab' }),
  ...bounds('a value in place of its presence', { exists: true }, { regex: '^a' }),
  ...bounds('a shorter text', { length_lte: 20 }, { length_lte: 10 }),
  ...fields('a lower maximum', { type: 'number', maximum: 500 }, { type: 'number', maximum: 100 }),
  ...fields('whole numbers', { type: 'number' }, { type: 'integer' }),
  ...fields('fewer values', { enum: ['a', 'b'] }, { enum: ['a'] }),
  ...fields(
    'a deeper field',
    { type: 'object', properties: { a: { type: 'string' } } },
    { type: 'object', properties: { a: { type: 'string', maxLength: 3 } } },
  ),
  {
    name: 'a lower budget',
    was: { aggregates: [{ name: 'spent', path: '$.amount', function: 'sum', lte: 1000 }] },
    is: { aggregates: [{ name: 'spent', path: '$.amount', function: 'sum', lte: 100 }] },
  },
  {
    name: 'a narrower envelope',
    was: { envelopes: [{ name: 'price', path: '$.amount', direction: 'at_most', tolerance_percent: 10 }] },
    is: { envelopes: [{ name: 'price', path: '$.amount', direction: 'within', tolerance_percent: 5 }] },
  },
  {
    name: 'a precondition on the same value',
    was: { preconditions: [{ requires_prior_tool: 'quote' }] },
    is: { preconditions: [{ requires_prior_tool: 'quote', same: [{ path: '$.amount', as: '$.amount' }] }] },
  },
  {
    name: 'more steps first',
    was: { preconditions: [{ requires_step_count: { gte: 1 } }] },
    is: { preconditions: [{ requires_step_count: { gte: 3 } }] },
  },
  {
    name: 'a checkpoint that asks more often',
    was: { checkpoint: { reason: 'large', when: [{ path: '$.amount', gte: 500 }] } },
    is: { checkpoint: { reason: 'large', when: [{ path: '$.amount', gte: 100 }] } },
  },
  { name: 'a new checkpoint', was: {}, is: { checkpoint: { reason: 'always' } } },
  { name: 'a label that denies', was: {}, is: { labels: { deny_when: ['web'] } } },
  {
    name: 'a label that sticks',
    was: { labels: { adds: ['web'] } },
    is: { labels: { adds: ['web'], sticks_to: 'principal' } },
  },
  { name: 'a gate', was: {}, is: { gate: 'block' } },
  { name: 'evidence', was: { commit_requirement: 'reported' }, is: { commit_requirement: 'executed' } },
]

function bounds(name: string, was: object, is: object) {
  const rule = (operators: object) => ({ argument_value_invariants: [{ path: '$.amount', ...operators }] })
  return [{ name, was: rule(was), is: rule(is) }]
}

function fields(name: string, was: object, is: object) {
  const schema = (field: object) =>
    ({ arguments: { type: 'object', properties: { amount: field } } }) as Partial<Contract>
  return [{ name: `${name} in the schema`, was: schema(was), is: schema(is) }]
}

test('a shared limit narrows by its bound and its window, and says what it counts', () => {
  const diff = (was: object[], is: object[]) =>
    diffPlans(
      compiled([{ tool: 'pay' }], was.length === 0 ? {} : { shared_limits: was }),
      compiled([{ tool: 'pay' }], is.length === 0 ? {} : { shared_limits: is }),
    ).map(({ effect, text }) => `${effect}: ${text}`)
  const limit = { name: 'l', tool: 'pay', per: { argument: '$.to' }, max_calls: 3, window: '24h' }
  const sum = { name: 'l', tool: 'pay', per: 'principal', sum: '$.amount', lte: 50, window: '30d' }
  const all = { name: 'l', per: 'tenant', max_calls: 9, window: '1d' }
  const words = 'at most 3 calls of pay for each $.to within 24h'
  expect(diff([limit], [limit])).toEqual([])
  expect(diff([], [limit])).toEqual([`blocks: new shared limit l: ${words}`])
  expect(diff([limit], [])).toEqual(['allows: the shared limit l is gone'])
  const other = (change: object) => diff([limit], [{ ...limit, ...change }])[0]?.split(':')[0]
  expect([other({ max_calls: 2 }), other({ max_calls: 4 })]).toEqual(['blocks', 'allows'])
  expect([other({ window: '2d' }), other({ window: '1h' })]).toEqual(['blocks', 'allows'])
  expect([other({ max_calls: 4, window: '2d' }), other({ per: 'agent' })]).toEqual(['changes', 'changes'])
  expect(diff([sum], [all])).toEqual([
    'changes: the shared limit l is at most 9 calls together within 1d (was at most 50 in $.amount of pay for each principal within 30d)',
  ])
})

describe('narrowing and widening are decided by meaning', () => {
  const effects = (was: Partial<Contract>, is: Partial<Contract>) =>
    diffPlans(
      compiled([
        { tool: 'quote' },
        { tool: 'buy', establishes: [{ name: 'price', path: '$.price' }] },
        { tool: 'pay', ...was },
      ]),
      compiled([
        { tool: 'quote' },
        { tool: 'buy', establishes: [{ name: 'price', path: '$.price' }] },
        { tool: 'pay', ...is },
      ]),
    ).map(({ effect }) => effect)

  proves('people.plan-diff.by-meaning', 'every row narrows there and widens back', () => {
    const found = NARROWER.map(({ name, was, is }) => [name, effects(was, is), effects(is, was)])
    expect(found).toEqual(NARROWER.map(({ name }) => [name, ['blocks'], ['allows']]))
  })

  test.each(NARROWER)('$name', ({ was, is }) => {
    expect({ there: effects(was, is), back: effects(is, was) }).toEqual({ there: ['blocks'], back: ['allows'] })
  })

  test('what neither implies is called a change, and equal meanings nothing', () => {
    const amount = (operators: object) => ({ argument_value_invariants: [{ path: '$.amount', ...operators }] })
    expect(effects(amount({ lte: 500 }), amount({ gte: 100 }))).toEqual(['changes'])
    expect(effects(amount({ regex: '^a' }), amount({ regex: '^b' }))).toEqual(['changes'])
    expect(effects(amount({ lte: 5 }), amount({ lte: 5.0, message: 'at most five' }))).toEqual([])
    const split = {
      argument_value_invariants: [
        { path: '$.amount', lte: 5 },
        { path: '$.amount', gte: 1 },
      ],
    }
    expect(effects(split, amount({ gte: 1, lte: 5 }))).toEqual([])
  })

  test('limits of the session and risk defaults', () => {
    const diff = (was: object, is: object) =>
      diffPlans(
        compiled([{ tool: 'pay', side_effect: 'financial' }], was),
        compiled([{ tool: 'pay', side_effect: 'financial' }], is),
      ).map(({ effect, text }) => `${effect}: ${text}`)
    expect(
      diff({ session_limits: { max_tool_calls: 50 } }, { session_limits: { max_tool_calls: 10, max_steps: 5 } }),
    ).toEqual(['blocks: max_steps is now limited to 5', 'blocks: max_tool_calls is 10 (was 50)'])
    expect(diff({ risk_defaults: { destructive: 'block' } }, { risk_defaults: { destructive: 'checkpoint' } })).toEqual(
      ['allows: pay: no longer gated: a person is asked before every call'],
    )
    expect(diff({}, { risk_defaults: { write: 'block' } })).toEqual([])
  })
})
