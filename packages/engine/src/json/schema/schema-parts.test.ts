import { expect, test } from 'vitest'
import { compileSchema } from './json-schema.js'
import { schemaPartsProblem } from './schema-parts.js'

const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))
const properties = (count: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    many(count, (at) => [`p${at}`, { type: 'string', maxLength: 9, description: 'what it is for' }]),
  ),
})

test('a schema of 280 described properties is compiled', () => {
  expect(compileSchema(properties(280)).ok).toBe(true)
})

test.each([
  ['400 properties', properties(400)],
  ['a thousand alternatives', { anyOf: many(1_000, (at) => ({ const: at })) }],
  [
    'a oneOf of 200 objects',
    { oneOf: many(200, (at) => ({ properties: { kind: { const: at } }, required: ['kind'] })) },
  ],
  ['a long chain of allOf', { allOf: many(3_000, () => ({ uniqueItems: true })) }],
  ['properties that are named as keywords', { properties: { enum: { anyOf: many(1_000, (at) => ({ const: at })) } } }],
])('%s: refused, with what to do', (_, schema) => {
  const compiled = compileSchema(schema)
  expect(compiled).toMatchObject({ ok: false, problem: expect.stringContaining('Leave out what need not be checked') })
})

test('values and annotations are no parts', () => {
  const values = many(5_000, (at) => `value ${at}`)
  expect(
    schemaPartsProblem({
      enum: values,
      const: Object.fromEntries(values.entries()),
      examples: values,
      required: values,
      description: 'x',
    }),
  ).toBeNull()
})
