import type { JsonValue } from '@countersign/protocol'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileSchema } from './json-schema.js'

/** Small, so that random values meet random schemas. */
const names = fc.constantFrom('a', 'b', 'c')
const scalars = fc.constantFrom<JsonValue>(null, true, 0, 1, 2, 3.5, -1, '', 'a', 'ab', 'é\u{1f600}')
const values = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

const counts = fc.integer({ min: 0, max: 3 })
const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null')

const schemas = fc.letrec<{ schema: JsonValue }>((tie) => {
  const some = fc.array(tie('schema'), { minLength: 1, maxLength: 3 })
  const byName = fc.dictionary(names, tie('schema'), { maxKeys: 2 })
  const one = fc.oneof(
    types.map((type) => ({ type })),
    fc.uniqueArray(types, { minLength: 1, maxLength: 3 }).map((type) => ({ type })),
    fc.record({ type: types, nullable: fc.constant(true) }),
    scalars.map((value) => ({ const: value })),
    fc.uniqueArray(scalars, { minLength: 1, maxLength: 3 }).map((list) => ({ enum: list })),
    ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((key) => counts.map((n) => ({ [key]: n }))),
    ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map((key) =>
      counts.map((n) => ({ [key]: n })),
    ),
    fc.constantFrom({ uniqueItems: true }, { pattern: '^a' }, { pattern: 'b$' }, { multipleOf: 2 }),
    fc.uniqueArray(names, { maxLength: 2 }).map((required) => ({ required })),
    fc
      .dictionary(names, fc.uniqueArray(names, { maxLength: 2 }), { maxKeys: 2 })
      .map((map) => ({ dependentRequired: map })),
    ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].map((key) => some.map((list) => ({ [key]: list }))),
    ...['not', 'items', 'contains', 'propertyNames', 'additionalProperties', 'unevaluatedProperties'].map((key) =>
      tie('schema').map((schema) => ({ [key]: schema })),
    ),
    byName.map((map) => ({ properties: map })),
    byName.map((map) => ({ dependentSchemas: map })),
    fc
      .dictionary(fc.constantFrom('^a', 'b', '.'), tie('schema'), { maxKeys: 2 })
      .map((map) => ({ patternProperties: map })),
    // Ajv forgets what an `if` has evaluated when it lacks one of the two.
    fc
      .tuple(tie('schema'), tie('schema'), tie('schema'))
      .map((all) => Object.fromEntries(all.map((s, at) => [IF[at], s]))),
  )
  const several = fc.array(one, { minLength: 1, maxLength: 4 }).map((parts) => Object.assign({}, ...parts) as JsonValue)
  return { schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), several) }
}).schema

const IF = ['if', 'then', 'else']

/** With all errors: without, Ajv takes an empty array for one that contains something after `prefixItems`. */
function ajvFor(schema: JsonValue): (value: JsonValue) => boolean | null {
  const options = { strict: false, ownProperties: true, allErrors: true, logger: false } as const
  const ajv = new Ajv2020({ ...options, meta: false, validateSchema: false })
  const validate = ajv.compile(schema as object)
  return (value) => {
    try {
      return validate(value)
    } catch {
      // The code that Ajv generates for nested `if` and `properties` can fail.
      return null
    }
  }
}

test('random schemas judge random values as Ajv does', () => {
  let [judged, valid] = [0, 0]
  fc.assert(
    fc.property(schemas, fc.array(values, { minLength: 6, maxLength: 6 }), (schema, tried) => {
      const compiled = compileSchema(schema)
      // What we refuse, such as nullable without a type, has no verdict to compare.
      if (!compiled.ok) return
      const accepts = ajvFor(schema)
      for (const value of tried) {
        const isValid = accepts(value)
        if (isValid === null) continue
        judged++
        if (isValid) valid++
        expect([compiled.test(value), compiled.validate(value).length === 0]).toEqual([isValid, isValid])
      }
    }),
    { numRuns: process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? 20_000 : 300 },
  )
  // A comparison in which everything fails, or nothing, would show little.
  expect(valid / judged).toBeGreaterThan(0.15)
  expect(valid / judged).toBeLessThan(0.85)
})
