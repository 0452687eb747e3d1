import { expect, test } from 'vitest'
import { sumsOf } from './batch-sums.js'

const call = (args: Record<string, unknown>, context: { label: string; path: string }[] = []) =>
  ({ arguments: args, rules: [{ rule: 'pay#0', reason: 'large', context }] }) as Parameters<typeof sumsOf>[0][number]
const LOOK = [
  { label: 'amount', path: '$.amount' },
  { label: 'to', path: '$.to' },
]

test('what a rule names is added up, one currency apart from another, and cents stay cents', () => {
  const calls = [
    call({ amount: 0.1, to: 'a', account: 7, currency: 'EUR' }, LOOK),
    call({ amount: 0.2, to: 'b', account: 7, currency: 'EUR' }, LOOK),
    call({ amount: 5, to: 'c', account: 7, currency: 'USD' }, LOOK),
  ]
  expect(Object.fromEntries(sumsOf(calls))).toEqual({ 'amount (EUR)': 0.3, 'amount (USD)': 5 })
})

test('where a rule names no number, every argument that is one is added up', () => {
  expect(Object.fromEntries(sumsOf([call({ a: 1, b: '2' }), call({ a: 2, c: 3 })]))).toEqual({ a: 3, c: 3 })
  expect(sumsOf([]).size).toBe(0)
})
