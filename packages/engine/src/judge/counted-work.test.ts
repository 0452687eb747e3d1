import type { JsonObject, JsonValue } from '@countersign/protocol'
import { expect, test, vi } from 'vitest'
import { createdEvent } from '../../../../test/support/data/created-event.js'
import { judge, planOf } from '../../../../test/support/hostile/judge-shape.js'
import type { HostileShape } from '../../../../test/support/hostile/judging-shapes.js'
import { RULES } from '../../../../test/support/hostile/rules-family.js'
import { SCHEMAS } from '../../../../test/support/hostile/schemas-family.js'
import { OPERATORS } from '../contract/operators.js'
import { renderResource } from '../contract/resource.js'
import { BRANCH_KEYWORDS } from '../json/schema/branch-keywords.js'
import { FORMATS } from '../json/schema/formats.js'
import { PART_KEYWORDS, UNEVALUATED_KEYWORDS } from '../json/schema/part-keywords.js'
import { VALUE_KEYWORDS } from '../json/schema/value-keywords.js'
import { initialState } from '../state/session-start.js'
import { judgingStepsTaken, TooCostlyError, withinJudgingBudget } from '../text/judging-budget.js'
import { judgeInputInvariants } from './preflight.js'

const items = (count: number, item: JsonValue) => ({ items: Array.from({ length: count }, () => item) })
const long = 'x'.repeat(45_000)
const names = Array.from({ length: 2_000 }, (_, at) => `n${at}`)
test.each<[string, object, JsonObject, number]>([
  [
    'lists of dependent names that are empty',
    {
      arguments: {
        properties: { items: { items: { dependentRequired: Object.fromEntries(names.map((n) => [n, []])) } } },
      },
    },
    items(20, {}),
    40_000,
  ],
  [
    'names that a dependency lists',
    { arguments: { properties: { items: { items: { dependencies: { n0: names } } } } } },
    items(20, {}),
    40_000,
  ],
  [
    'filters that find nothing',
    { argument_value_invariants: [{ path: `$.items[?${Array(50).fill('@.a').join('||')}]`, exists: false }] },
    items(1_000, {}),
    50_000,
  ],
  [
    'long texts that are compared again and again',
    { argument_value_invariants: [{ path: '$.items[?$.a < $.b]', exists: false }] },
    { ...items(500, 1), a: long, b: long },
    20_000,
  ],
  [
    'long texts that are equal',
    { argument_value_invariants: [{ path: '$.items[?$.a == $.b]', exists: true }] },
    { ...items(500, 1), a: long, b: `${long.slice(1)}x` },
    20_000,
  ],
  [
    'names that are written with each place below them',
    {
      refs: [{ path: '$.v.*[*]', ref: 'bound' }],
      binds: [{ name: 'bound', path: '$.x' }],
    },
    { v: { [long]: [1, 2, 3, 4] } },
    20_000,
  ],
  [
    'places that are deep',
    {
      refs: [{ path: '$..*', ref: 'bound' }],
      binds: [{ name: 'bound', path: '$.x' }],
    },
    { v: JSON.parse(`${'['.repeat(50)}${names.map(() => 1)}${']'.repeat(50)}`) },
    100_000,
  ],
  [
    'sums whose digits are dozens of places apart',
    { aggregates: [{ name: 'sum', path: '$.items[*]', function: 'sum', lte: 1e15 }] },
    { items: names.map((_, at) => (at % 2 === 0 ? 1.2345678e-40 : 9e15)) },
    15_000,
  ],
  [
    'digits of numbers that are hashed',
    { binds: [{ name: 'bound', path: '$.items', from: 'argument' }] },
    { items: names.map((_, at) => Math.sqrt(at + 2) * 1e-300) },
    2 * 2_000 * 12,
  ],
  [
    'references to what is not bound',
    { refs: names.map(() => ({ path: '$.x', ref: 'bound' })), binds: [{ name: 'bound', path: '$.y' }] },
    { x: 1 },
    2_000 * 16,
  ],
])('judging takes steps for %s', (name, rules, args, least) => {
  const shape = { name, contracts: [{ tool: 'act', ...rules }], calls: [args] } as unknown as HostileShape
  const plan = planOf(shape)
  expect(judgingStepsTaken(() => judge(shape, plan))[0]).toBeGreaterThan(least)
})

test('the key of a resource takes steps while it is written, not after it', () => {
  const contracts = [{ tool: 'act', resources: [{ key: '{$.a}'.repeat(102), mode: 'exclusive' }] }]
  const plan = planOf({ name: '', contracts: contracts as unknown as HostileShape['contracts'], calls: [] })
  const resource = plan.contracts.get('act')?.resources[0]
  if (resource === undefined) throw new Error('there is no resource')
  const render = () => withinJudgingBudget(20_000, () => renderResource(resource, { a: long }))
  expect(render).toThrow(TooCostlyError)
})

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

test('a call that has used up its steps is blocked, also where what failed is an object with many keys', () => {
  const shape = {
    name: 'patterns on a large object',
    contracts: [
      {
        tool: 'act',
        assertions: {
          output_invariants: names.slice(0, 30).map(() => ({ path: '$.tool_calls[*].arguments.v', regex: 'a' })),
        },
      },
    ],
    calls: [1, 2, 3].map(() => ({ v: Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`k${at}`, 0])) })),
  } as unknown as HostileShape
  const { decisions } = judge(shape)
  expect(decisions.map(({ decision }) => decision)).toEqual(['block', 'block', 'block'])
})

/** All keys at any depth. */
const keysIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, part]) => [key, ...keysIn(part)])

test('the search for costly requests knows every operator, keyword and format', () => {
  const operators = new Set(RULES.flatMap((rule) => Object.keys(rule(1, 1))))
  // The value of a binding is looked for at its own place.
  expect(Object.keys(OPERATORS).filter((name) => name !== 'ref' && !operators.has(name))).toEqual([])
  const schemas = SCHEMAS.map((schema) => schema(1))
  const keywords = new Set(keysIn(schemas))
  const all = [VALUE_KEYWORDS, BRANCH_KEYWORDS, PART_KEYWORDS, UNEVALUATED_KEYWORDS].flatMap((some) =>
    Object.keys(some),
  )
  expect(all.filter((name) => !keywords.has(name))).toEqual([])
  const text = JSON.stringify(schemas)
  expect([...FORMATS.keys()].filter((name) => !text.includes(`"format":"${name}"`))).toEqual([])
})
