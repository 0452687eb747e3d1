import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchema } from './json.js'

test('takes what JSON can write and nothing else, like the schema that zod has for it', () => {
  const general = z.json()
  fc.assert(
    fc.property(
      fc.anything({ withNullPrototype: true, withDate: true, withMap: true, withSparseArray: true }),
      (value) => {
        expect(jsonSchema.safeParse(value).success).toBe(general.safeParse(value).success)
      },
    ),
    { numRuns: 500 },
  )
})

test('passes the value on as it is', () => {
  const value = { a: [1, { b: null }], c: 'text' }
  expect(jsonSchema.parse(value)).toBe(value)
})

test.each<[string, unknown]>([
  ['what is not there', undefined],
  ['a number that is none', [Number.NaN]],
  ['an object of a class', { at: new Date(0) }],
  ['a key without a value', { a: undefined }],
])('refuses %s', (_name, value) => {
  expect(z.strictObject({ value: jsonSchema }).safeParse({ value }).error?.issues).toMatchObject([
    { path: ['value'], message: 'Invalid input' },
  ])
})

test('no nesting and no value that holds itself stops it', () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  expect(jsonSchema.safeParse(deep).success).toBe(true)
  const self: unknown[] = []
  self.push(self)
  expect(jsonSchema.safeParse(self).success).toBe(false)
})
