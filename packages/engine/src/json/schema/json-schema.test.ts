import type { JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../../test/support/cpu-ms.js'
import { proves } from '../../../../../test/support/proves.js'
import { compileSchema, type SchemaProblem } from './json-schema.js'

function validate(schema: JsonValue, value: JsonValue): SchemaProblem[] {
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(compiled.problem)
  const problems = compiled.validate(value)
  expect(compiled.test(value)).toBe(problems.length === 0)
  return problems
}

const refund = {
  type: 'object',
  properties: {
    order: { type: 'string' },
    items: { type: 'array', items: { type: 'object', properties: { 'unit price': { type: 'number', minimum: 0 } } } },
  },
  required: ['order'],
  additionalProperties: false,
}

describe('problems say where, what was expected and what was found', () => {
  test('a valid value has none', () =>
    expect(validate(refund, { order: 'a', items: [{ 'unit price': 1 }] })).toEqual([]))

  test.each<[string, JsonValue, Partial<SchemaProblem>]>([
    ['a missing property', {}, { path: '$.order', keyword: 'required', found: null }],
    ['an extra property', { order: 'a', x: 5 }, { path: '$.x', keyword: 'additionalProperties', found: 5 }],
    ['a wrong type', { order: 5 }, { path: '$.order', keyword: 'type', expected: 'string', found: 5 }],
    [
      'a value deep inside',
      { order: 'a', items: [{}, { 'unit price': -1 }] },
      { path: "$.items[1]['unit price']", keyword: 'minimum', expected: 0, found: -1 },
    ],
  ])('%s', (_name, value, problem) => {
    expect(validate(refund, value)).toEqual([expect.objectContaining({ ...problem, message: expect.any(String) })])
  })

  test('all problems are reported, up to 32', () => {
    expect(validate(refund, { order: 1, x: 1, y: 1 })).toHaveLength(3)
    expect(validate({ items: { type: 'string' } }, new Array(1_000).fill(1))).toHaveLength(32)
  })

  test('an object key of digits is a name', () => {
    expect(validate({ properties: { 0: { type: 'string' } } }, { 0: 1 })[0]?.path).toBe("$['0']")
  })
})

describe('schemas that are refused', () => {
  test.each<[string, JsonValue, string]>([
    ['not an object', 'string', 'object, true or false'],
    ['an unknown type', { type: 'text' }, 'invalid'],
    ['an unknown keyword', { type: 'string', minLenght: 1 }, 'minLenght'],
    ['a remote reference', { $ref: 'https://example.test/schema.json' }, 'no schema of this document'],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, '$schema'],
    ['a pattern RE2 cannot take', { pattern: '(?=a)' }, 'RE2'],
    ['an asynchronous schema', { $async: true, type: 'string' }, '$async'],
    ['a prototype key', JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), '__proto__'],
    ['a schema of any size', { enum: new Array(30_000).fill('abcdef') }, 'longer'],
  ])('%s', (_name, schema, problem) => {
    expect(compileSchema(schema)).toEqual({ ok: false, problem: expect.stringContaining(problem) })
  })
})

describe('no schema freezes the process', () => {
  const quickly = (work: () => void) => {
    const started = process.cpuUsage()
    work()
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000)
  }

  test('a pattern that freezes a backtracking matcher', () =>
    quickly(() => expect(validate({ pattern: '^(a+)+$' }, `${'a'.repeat(100_000)}b`)).toHaveLength(1)))

  test('unique items of a long array', () =>
    quickly(() => {
      const items = Array.from({ length: 30_000 }, (_, index) => [index])
      expect(validate({ uniqueItems: true }, items)).toEqual([])
      expect(validate({ uniqueItems: true }, [...items, [7]])).toHaveLength(1)
    }))

  const TOO_OFTEN = [{ path: '$', keyword: '$ref', message: 'the schema refers to itself too often for this value' }]

  proves('limit.judging.references', 'definitions that double at each level', () =>
    quickly(() => {
      const $defs: Record<string, JsonValue> = { d0: { type: 'string' } }
      for (let level = 1; level <= 40; level++) {
        const previous = { $ref: `#/$defs/d${level - 1}` }
        $defs[`d${level}`] = { allOf: [previous, previous] }
      }
      expect(validate({ $defs, $ref: '#/$defs/d40' }, 'a')).toMatchObject(TOO_OFTEN)
      // Nor is a value valid because what it must not be could not be found out.
      expect(validate({ $defs, not: { $ref: '#/$defs/d40' } }, 'a')).toMatchObject(TOO_OFTEN)
    }),
  )

  proves('limit.judging.references', 'a recursive schema that doubles with the depth of the value', () =>
    quickly(() => {
      const next = { properties: { x: { $ref: '#' } } }
      const value = JSON.parse(`${'{"x":'.repeat(63)}1${'}'.repeat(63)}`)
      expect(validate({ anyOf: [next, next], not: { const: 1 } }, value)).toMatchObject(TOO_OFTEN)
    }),
  )

  proves('limit.judging.references', 'as many as a value within the limits needs are followed', () => {
    const schema = { items: { $ref: '#/$defs/a' }, $defs: { a: { type: 'number' } } }
    expect(validate(schema, new Array(100_000).fill(1))).toEqual([])
    expect(validate(schema, new Array(100_001).fill(1))).toMatchObject(TOO_OFTEN)
  })

  test('a reference to itself', () => quickly(() => expect(validate({ $ref: '#' }, 1)).toHaveLength(1)))
})

describe('exactness', () => {
  test('19.99 is a multiple of 0.01', () => {
    expect(validate({ multipleOf: 0.01 }, 19.99)).toEqual([])
    expect(validate({ multipleOf: 0.01 }, 19.999)).toHaveLength(1)
  })

  test('a property that every object inherits is not present', () => {
    expect(validate({ required: ['toString'] }, {})).toHaveLength(1)
    expect(validate({ properties: { toString: { type: 'string' }, valueOf: false } }, {})).toEqual([])
    expect(validate({ properties: { toString: { type: 'string' } } }, { toString: 1 })).toHaveLength(1)
  })

  test.each([
    ['date', '2024-02-29', '2023-02-29'],
    ['date-time', '2024-01-01T23:59:60Z', '2024-01-01T12:59:60Z'],
    ['email', 'a.b@example.test', 'a..b@example.test'],
    ['uri', 'https://example.test/a?b#c', 'example.test/a'],
    ['uuid', '2eb8aa08-aa98-11ea-b4aa-73b441d16380', '2eb8aa08-aa98-11ea-b4aa73b441d16380'],
  ])('the format %s is checked', (format, good, bad) => {
    expect(validate({ format }, good)).toEqual([])
    expect(validate({ format }, bad)).toHaveLength(1)
  })

  test('an unknown format says nothing', () => expect(validate({ format: 'int32' }, 'x')).toEqual([]))
})

describe('the URIs of a schema', () => {
  const problemOf = (schema: JsonValue) => {
    const compiled = compileSchema(schema)
    return compiled.ok ? null : compiled.problem
  }
  const many = (count: number, schema: (at: number) => JsonValue) =>
    Array.from({ length: count }, (_, at) => schema(at))

  proves('limit.schema-uris', 'have at most 512 characters, as they are resolved', () => {
    expect(problemOf({ $id: `x:/${'a'.repeat(509)}` })).toBeNull()
    expect(problemOf({ $id: `x:/${'a'.repeat(510)}` })).toContain('has 513 characters, and may have 512')
    // A character that is not ASCII has nine.
    expect(problemOf({ $id: `x:/${'字'.repeat(57)}` })).toContain('has 516 characters')
    const nested = { $id: `x:/${'a/'.repeat(200)}`, not: { $id: `${'b/'.repeat(100)}` } }
    expect(problemOf(nested)).toContain('has 603 characters')
    expect(problemOf({ $ref: `#${'a'.repeat(512)}` })).toContain('has 513 characters')
  })

  proves('limit.schema-uris', 'take time in proportion to their number', () => {
    const $id = `x:/${'a'.repeat(500)}`
    compileSchema({ $id, $ref: '#a', $defs: { a: { $anchor: 'a' } } })
    // With 60,000 characters it was more than a minute, five seconds and three.
    expect(cpuMs(() => problemOf({ $id, allOf: many(1_800, (at) => ({ $id: `?${at}` })) }))).toBeLessThan(500)
    expect(cpuMs(() => problemOf({ $id, allOf: many(1_800, (at) => ({ $anchor: `a${at}` })) }))).toBeLessThan(500)
    expect(cpuMs(() => problemOf({ $id, anyOf: [true, ...many(1_800, () => ({ $ref: '#' }))] }))).toBeLessThan(500)
  })

  test('an anchor belongs to the schema with an $id that it stands in', () => {
    const schema = {
      $defs: {
        one: { $id: 'one', $defs: { x: { $anchor: 'here', type: 'string' } } },
        two: { $id: 'two', $defs: { x: { $anchor: 'here', type: 'number' } } },
      },
    }
    expect(validate({ ...schema, $ref: 'one#here' }, 's')).toEqual([])
    expect(validate({ ...schema, $ref: 'two#here' }, 's')).toHaveLength(1)
    expect(problemOf({ ...schema, $ref: '#here' })).toContain('leads to no schema')
    expect(problemOf({ $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x', not: {} } } })).toContain(
      'two schemas are called',
    )
  })
})

test('schemas with one $id do not see each other', () => {
  const first = compileSchema({ $id: 'a', $defs: { x: { type: 'string' } }, $ref: '#/$defs/x' })
  const second = compileSchema({ $id: 'a', $defs: { x: { type: 'number' } }, $ref: '#/$defs/x' })
  expect(first.ok && first.test('s')).toBe(true)
  expect(second.ok && second.test('s')).toBe(false)
})
