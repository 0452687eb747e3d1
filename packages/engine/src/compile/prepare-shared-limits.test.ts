import { describe, expect, test } from 'vitest'
import { compilePlan } from './compile-plan.js'

const compile = (limit: object, session: object = {}) =>
  compilePlan({
    contracts: [{ file: 'pay.yaml', value: { tool: 'pay' } }],
    session: { file: 'session.yaml', value: { ...session, shared_limits: [limit].flat() } },
  })

const errorOf = (limit: object, session: object = {}) => {
  const result = compile(limit, session)
  return result.ok ? null : result.errors.map(({ path, message, fix }) => `${path}: ${message}; ${fix}`).join('\n')
}

const limit = { name: 'l', tool: 'pay', per: 'agent', max_calls: 3, window: '24h' }
const without = (...keys: string[]) => Object.fromEntries(Object.entries(limit).filter(([key]) => !keys.includes(key)))

const REFUSED: readonly (readonly [name: string, written: object, says: string])[] = [
  ['no window', without('window'), 'the key "window" is missing'],
  ...['0m', '0d', '-1h', '24', '1y', '367d', '3650d', '10 years', '1.5h', ''].map(
    (window) => [`a window of ${window}`, { ...limit, window }, 'at least 1m, at most 366d'] as const,
  ),
  ['a number as window', { ...limit, window: 24 }, 'write text'],
  ['no bound', { ...without('max_calls'), sum: '$.a' }, 'needs a bound: add `lte`'],
  ['nothing to count', without('max_calls'), 'needs what it counts'],
  ['two things to count', { ...limit, sum: '$.a' }, 'counts one thing'],
  ['calls with lte', { ...limit, lte: 5 }, '`max_calls` is the bound'],
  ['no calls', { ...limit, max_calls: 0 }, 'shared_limits[0].max_calls'],
  ['a negative bound', { ...without('max_calls'), sum: '$.a', lte: -1 }, 'shared_limits[0].lte'],
  ['an unknown tool', { ...limit, tool: 'pray' }, 'the tool "pray" is not declared; did you mean "pay"?'],
  ['a sum without a tool', { ...without('tool', 'max_calls'), sum: '$.a', lte: 1 }, 'name the `tool`'],
  ['a key without a tool', { ...without('tool'), per: { argument: '$.a' } }, 'name the `tool`'],
  ['the cost of a tool', { ...without('max_calls'), cost: true, lte: 1 }, 'remove `tool`'],
  ['an unknown scope', { ...limit, per: 'user' }, 'shared_limits[0].per'],
  ['a key of many values', { ...limit, per: { argument: '$.to[*]' } }, 'a key is a single one'],
  ['a key that is no path', { ...limit, per: { argument: 'to' } }, 'shared_limits[0].per.argument'],
  ['a sum that is no path', { ...without('max_calls'), sum: 'amount', lte: 1 }, 'shared_limits[0].sum'],
  ['a name twice', [limit, { ...limit, max_calls: 4 }], 'occurs twice'],
  ['an unknown key', { ...limit, every: 'day' }, 'unknown key "every"'],
]

describe('a shared limit', () => {
  test.each([
    ['calls for each value', { ...limit, per: { argument: '$.to' } }],
    ['a sum', { ...without('max_calls'), sum: '$.amount', lte: 5 }],
    ['calls of all tools', without('tool')],
    ['a minute', { ...limit, window: '1m' }],
    ['a leap year', { ...limit, window: '366d' }],
  ])('compiles: %s', (_, written) => {
    expect(errorOf(written)).toBeNull()
  })

  test('of the cost compiles with prices, and without them does not', () => {
    const cost = { ...without('tool', 'max_calls'), cost: true, lte: 5 }
    expect(errorOf(cost, { pricing: { '*': { input: 1, output: 1 } } })).toBeNull()
    expect(errorOf(cost)).toContain('`pricing`')
  })

  test.each(REFUSED)('does not compile: %s', (_, written, expected) => {
    expect(errorOf(written)).toContain(expected)
  })

  test('changes the hash of the plans that have it, and of no others', () => {
    const plain = compilePlan({ contracts: [{ file: 'pay.yaml', value: { tool: 'pay' } }] })
    const [one, other] = [compile(limit), compile({ ...limit, max_calls: 4 })]
    if (!plain.ok || !one.ok || !other.ok) throw new Error('a plan does not compile')
    expect(new Set([plain.compiled_hash, one.compiled_hash, other.compiled_hash]).size).toBe(3)
    expect(JSON.stringify(plain.compiled_session)).not.toContain('shared')
  })

  test('a label that sticks must be one that is added', () => {
    const result = compilePlan({
      contracts: [{ file: 'pay.yaml', value: { tool: 'pay', labels: { deny_when: ['x'], sticks_to: 'principal' } } }],
    })
    expect(result).toMatchObject({ ok: false, errors: [{ path: 'labels.sticks_to' }] })
  })
})
