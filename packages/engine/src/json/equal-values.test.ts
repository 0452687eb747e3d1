import fc from 'fast-check'
import { expect, test } from 'vitest'
import { equalValues } from './equal-values.js'

test.each([
  [1, 1.0, true],
  [0, -0, true],
  [1, '1', false],
  [null, false, false],
  ['é', 'e\u0301', false],
  [[1, [2]], [1, [2]], true],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [{ a: 1, b: { c: [null] } }, { b: { c: [null] }, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: null }, { b: null }, false],
  [{ toString: 1 }, { valueOf: 1 }, false],
  [['a'], { 0: 'a' }, false],
])('%j and %j: %s', (a, b, equal) => {
  expect(equalValues(a, b)).toBe(equal)
  expect(equalValues(b, a)).toBe(equal)
})

test('a copy is equal, and a copy inside an array of another length is not', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = structuredClone(value) as typeof value
      expect(equalValues(value as never, copy as never)).toBe(true)
      expect(equalValues([value] as never, [copy, copy] as never)).toBe(false)
    }),
  )
})

test('no nesting exhausts the stack', () => {
  const deep = () => JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
  expect(equalValues(deep(), deep())).toBe(true)
})
