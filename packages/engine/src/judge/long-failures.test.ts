import { LIMITS } from '@countersign/protocol'
import { describe, expect, test, vi } from 'vitest'
import { cpuMs } from '../../../../test/support/cpu-ms.js'
import { createdEvent } from '../../../../test/support/data/created-event.js'
import { judge, planOf } from '../../../../test/support/hostile/judge-shape.js'
import type { HostileShape } from '../../../../test/support/hostile/judging-shapes.js'
import { initialState } from '../state/session-start.js'
import { judgeInputInvariants } from './preflight.js'

const names = Array.from({ length: 2_000 }, (_, at) => `n${at}`)
test('a long operand is written out at most once, and few failures are shown where they are long', () => {
  const shape: HostileShape = {
    name: 'values that are none of thousands',
    contracts: [
      {
        tool: 'act',
        argument_value_invariants: [
          { path: '$.few[*]', one_of: Array.from({ length: 5_000 }, (_, at) => at + 10) },
          { path: '$.long[*]', starts_with: 'y'.repeat(900), message: 'm'.repeat(499) },
        ],
      },
    ] as unknown as HostileShape['contracts'],
    calls: [{ few: [1, 2, 3, 4] }, { few: [10], long: Array.from({ length: 30 }, () => 'x'.repeat(1_000)) }],
  }
  const plan = planOf(shape)
  const written = vi.spyOn(JSON, 'stringify')
  const { decisions } = judge(shape, plan)
  const lengths = written.mock.calls.map(([value]) => (Array.isArray(value) ? value.length : 0))
  written.mockRestore()
  expect(Math.max(...lengths)).toBeGreaterThan(10)
  expect(lengths.reduce((sum, length) => sum + length)).toBeLessThan(5_010)
  expect(decisions[0]?.failures).toHaveLength(5)
  expect(decisions[1]?.failures.length).toBeGreaterThan(2)
  expect(decisions[1]?.failures.length).toBeLessThan(6)
})

test('what failed in a request is short, whatever it was compared with', () => {
  const [first, second] = [names, names.map((name) => `x${name}`)]
  const contracts = [
    { tool: 'act', assertions: { input_invariants: [{ path: '$.x[*]', one_of: first }] } },
  ] as unknown as HostileShape['contracts']
  const plan = planOf({ name: '', contracts, calls: [] })
  const state = initialState(plan, createdEvent(plan.hash))
  const failures = judgeInputInvariants({ plan, state, salt: 's' }, { '$.x[*]': second.slice(0, 40) }).get('act') ?? []
  expect(failures.length).toBeGreaterThan(0)
  expect(new Set(failures.map(({ expected }) => expected))).toEqual(new Set(['(a long list)']))
  expect(JSON.stringify(failures).length).toBeLessThan(20_000)
})

test('the place of a problem that does not count is not written', () => {
  const shape = {
    name: 'a problem at each item, in a branch that is not taken',
    contracts: [
      {
        tool: 'act',
        arguments: {
          additionalProperties: { items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
          required: ['other'],
        },
      },
    ],
    calls: [{ ['"'.repeat(1_000)]: names.map(() => 1) }],
  } as unknown as HostileShape
  const plan = planOf(shape)
  const written = vi.spyOn(JSON, 'stringify')
  const { decisions } = judge(shape, plan)
  const { calls } = written.mock
  written.mockRestore()
  expect(decisions).toMatchObject([{ decision: 'block', failures: [{ operator: 'required' }] }])
  // Once, for the hash of the arguments.
  expect(calls.filter(([value]) => typeof value === 'string' && value.length === 1_000)).toHaveLength(1)
})

describe('ordinary rules on as much as a call may hold', () => {
  const row = (at: number) => ({ sku: `A-${at}`, amount: at, note: 'ordered by phone' })
  const rows = Array.from({ length: 2_300 }, (_, at) => row(at))
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(2_800)
  const schema = {
    type: 'object',
    properties: {
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            sku: { type: 'string', pattern: '^A-[0-9]+$' },
            amount: { type: 'number', minimum: 0 },
            note: { type: 'string', maxLength: 80 },
          },
          required: ['sku', 'amount'],
          additionalProperties: false,
        },
      },
    },
  }

  test.each<[string, object, object]>([
    ['a schema of rows', { arguments: schema }, { rows }],
    [
      'five rules on each row',
      {
        argument_value_invariants: [
          { path: '$.rows[*].amount', gte: 0, lte: 9_999 },
          { path: '$.rows[*].sku', regex: '^A-[0-9]+$' },
          { path: '$.rows[*].note', not_regex: '(?i)password|secret' },
          { path: '$..password', exists: false },
          { path: '$.rows[?@.amount > 10000]', exists: false },
        ],
        aggregates: [{ name: 'total', function: 'sum', path: '$.rows[*].amount', lte: 1e9 }],
      },
      { rows },
    ],
    [
      'five patterns on a long text',
      {
        argument_value_invariants: [
          { path: '$.text', not_regex: '(?i)password|secret|api[_-]?key' },
          { path: '$.text', not_regex: '\\b[0-9]{3}-[0-9]{2}-[0-9]{4}\\b' },
          { path: '$.text', not_regex: '[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}' },
          { path: '$.text', length_lte: 200_000 },
          { path: '$.text', contains: 'lazy dog' },
        ],
      },
      { text },
    ],
    [
      'a source rule on a long text',
      { sources: [{ path: '$.text', role: 'content', from: ['user'], otherwise: 'block' }] },
      { text },
    ],
  ])('%s', (_name, contract, args) => {
    expect(JSON.stringify(args).length).toBeGreaterThan(LIMITS.argumentBytesPerCall * 0.85)
    const contracts = [{ tool: 'act', ...contract }] as unknown as HostileShape['contracts']
    const shape = { name: '', contracts, calls: [args] } as unknown as HostileShape
    const plan = planOf(shape)
    let decisions: unknown
    const ms = cpuMs(() => {
      decisions = judge(shape, plan).decisions
    })
    expect(decisions).toMatchObject([{ decision: 'allow' }])
    expect(ms).toBeLessThan(1_000)
  })
})
