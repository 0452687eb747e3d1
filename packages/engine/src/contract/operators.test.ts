import type { JsonValue } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isOperatorName, OPERATORS, type OperatorName, prepareOperator } from './operators.js'

function judge(name: OperatorName, operand: JsonValue, found: JsonValue | undefined): boolean {
  const prepared = prepareOperator(name, operand)
  if (!prepared.ok) throw new Error(prepared.problem)
  if (prepared.test === null) throw new Error(`${name} has no test`)
  return prepared.test(found)
}

const SAMPLE_OPERANDS: Record<OperatorName, JsonValue> = {
  exists: true,
  type: 'string',
  equals: 1,
  not_equals: 1,
  one_of: [1],
  not_one_of: [1],
  gt: 0,
  gte: 0,
  lt: 0,
  lte: 0,
  regex: '',
  not_regex: 'x',
  contains: 'a',
  starts_with: 'a',
  ends_with: 'a',
  length_gte: 0,
  length_lte: 9,
  schema: true,
  ref: 'order_id',
}

describe('what passes and what fails', () => {
  test.each<[OperatorName, JsonValue, JsonValue[], JsonValue[]]>([
    ['exists', true, [null, 0, ''], []],
    ['exists', false, [], [null, 0, '']],
    ['type', 'string', ['', 'a'], [1, null, ['a']]],
    ['type', 'number', [1, 1.5, -0], ['1', null, true]],
    ['type', 'integer', [1, 1.0, -3], [1.5, '1', null]],
    ['type', 'boolean', [true, false], [0, 'true', null]],
    ['type', 'object', [{}, { a: 1 }], [[], null, 'x']],
    ['type', 'array', [[], [1]], [{}, null, 'x']],
    ['type', 'null', [null], [0, false, '', {}]],
    ['equals', 1, [1, 1.0], ['1', true, null, [1]]],
    ['equals', { a: [1, { b: null }] }, [{ a: [1, { b: null }] }], [{ a: [1, { b: 0 }] }, { a: [1] }]],
    ['equals', null, [null], [0, false, '']],
    ['not_equals', 'a', ['b', 1, null], ['a']],
    ['one_of', ['a', 1, { x: 1 }], ['a', 1.0, { x: 1 }], ['A', '1', { x: 2 }, null]],
    ['not_one_of', ['a', [1]], ['A', [2], null], ['a', [1]]],
    ['gt', 0.3, [0.30000000000000004, 1], [0.3, 0.1, '1', null, true, [1]]],
    ['gte', 10, [10, 11], [9.999, '10', null]],
    ['lt', 10, [9.999, -1], [10, '9', null, false]],
    ['lte', 500, [500, -1], [500.01, '500', null, []]],
    ['regex', '^gpt-', ['gpt-4o'], ['xgpt-', 'GPT-4', 1, null]],
    ['regex', 'b', ['abc'], ['ac']],
    ['not_regex', '^rm ', ['ls'], ['rm -rf', 1, null]],
    ['contains', 'b', ['abc', ['b', 'c']], ['ac', ['abc'], 1, { b: 1 }]],
    ['contains', 1, [[1, 2]], ['1', 1, [2], ['1']]],
    ['contains', { a: 1 }, [[{ a: 1 }]], [{ a: 1 }, [[{ a: 1 }]]]],
    ['starts_with', 'https://', ['https://x'], ['HTTPS://x', 'http://', 1, ['https://']]],
    ['ends_with', '.com', ['a.com'], ['a.COM', 'a.com ', null]],
    ['length_gte', 2, ['ab', [1, 2]], ['a', '😀', [1], { a: 1, b: 2 }, 22]],
    ['length_lte', 1, ['', 'a', '😀', [], [1]], ['ab', 'e\u0301', [1, 2], {}, 1]],
    ['schema', { type: 'integer', minimum: 1 }, [1, 2], [0, 1.5, '1', null]],
  ])('%s %j', (name, operand, passing, failing) => {
    for (const found of passing) expect.soft(judge(name, operand, found), JSON.stringify(found)).toBe(true)
    for (const found of failing) expect.soft(judge(name, operand, found), JSON.stringify(found)).toBe(false)
  })
})

test('an absent value passes exists: false and nothing else', () => {
  expect(judge('exists', false, undefined)).toBe(true)
  for (const [name, operand] of Object.entries(SAMPLE_OPERANDS) as [OperatorName, JsonValue][]) {
    if (name !== 'ref') expect.soft(judge(name, operand, undefined), name).toBe(false)
  }
})

test('ref checks its operand and leaves the comparison to the holder of the bindings', () => {
  expect(prepareOperator('ref', 'order_id')).toMatchObject({ ok: true, test: null })
})

describe('operands that are refused', () => {
  test.each<[OperatorName, JsonValue]>([
    ['exists', 'yes'],
    ['type', 'text'],
    ['type', []],
    ['type', ['string', 'null']],
    ['type', 'constructor'],
    ['one_of', []],
    ['one_of', 'a'],
    ['not_one_of', { a: 1 }],
    ['gt', '1'],
    ['gte', null],
    ['lt', [1]],
    ['lte', true],
    ['lte', 1e300],
    ['regex', '(?=a)'],
    ['regex', 1],
    ['not_regex', '['],
    ['starts_with', ''],
    ['ends_with', 1],
    ['length_gte', -1],
    ['length_lte', 1.5],
    ['schema', { type: 'text' }],
    ['schema', 'string'],
    ['ref', ''],
    ['ref', 'a b'],
    ['equals', '\ud800'],
    ['equals', JSON.parse('{"__proto__":1}')],
  ])('%s %j', (name, operand) => {
    expect(prepareOperator(name, operand)).toEqual({ ok: false, problem: expect.any(String) })
  })
})

test('only the words of the table are operators', () => {
  expect(Object.keys(SAMPLE_OPERANDS)).toEqual(Object.keys(OPERATORS))
  expect(isOperatorName('equals')).toBe(true)
  for (const name of ['toString', 'constructor', '__proto__', 'Equals']) expect(isOperatorName(name)).toBe(false)
})

test('any operand and any value give an answer', () => {
  const names = fc.constantFrom(...(Object.keys(OPERATORS) as OperatorName[]).filter((name) => name !== 'schema'))
  fc.assert(
    fc.property(names, fc.jsonValue(), fc.jsonValue(), (name, operand, found) => {
      const prepared = prepareOperator(name, operand as JsonValue)
      if (prepared.ok && prepared.test !== null) expect(typeof prepared.test(found as JsonValue)).toBe('boolean')
    }),
  )
})
