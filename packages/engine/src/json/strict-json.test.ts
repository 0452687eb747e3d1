import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkStrictValue, parseStrictJson } from './strict-json.js'

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

describe('parseStrictJson refuses', () => {
  test.each([
    ['no text', '', 'not JSON'],
    ['a trailing comma', '{"a":1,}', 'not JSON'],
    ['a byte order mark', '\uFEFF{}', 'not JSON'],
    ['a repeated key', '{"a":1,"b":2,"a":3}', '"a" occurs twice'],
    ['a repeated key with equal values', '{"a":1,"a":1}', '"a" occurs twice'],
    ['a repeated key below', '{"x":[{"y":{"a":1,"a":2}}]}', '"a" occurs twice'],
    ['a key repeated by an escape', '{"a":1,"\\u0061":2}', '"a" occurs twice'],
    ['a key with a quote, repeated', '{"\\"a:":1,"\\"a:":2}', 'occurs twice'],
    ['a repeated __proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
    ['__proto__', '{"a":{"__proto__":{"admin":true}}}', '__proto__'],
    ['__proto__ by an escape', '{"\\u005f_proto__":1}', '__proto__'],
    ['constructor', '[{"constructor":1}]', 'constructor'],
    ['prototype', '{"prototype":1}', 'prototype'],
    ['an escaped lone surrogate', '{"a":"\\ud800"}', 'surrogate'],
    ['an escaped lone low surrogate', '["\\uDC00x"]', 'surrogate'],
    ['a lone surrogate in a key', '{"\\ud800":1}', 'surrogate'],
    ['a lone surrogate as the whole text', '"\\ud800"', 'surrogate'],
    ['a raw lone surrogate', '"\ud800"', 'surrogate'],
    ['an integer beyond 2^53 - 1', '[9007199254740992]', '2^53'],
    ['one below -(2^53 - 1)', '-9007199254740993', '2^53'],
    ['a huge exponent', '{"a":1e300}', '2^53'],
    ['a number that becomes Infinity', '[1e400]', 'double'],
    ['nesting above 64', nested(65), 'deeper than 64'],
    ['nesting far above', nested(100_000), 'deeper than 64'],
  ])('%s', (_name, text, problem) => {
    expect(parseStrictJson(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) })
  })
})

describe('parseStrictJson takes', () => {
  test.each([
    ['a pair of escaped surrogates', '"\\ud83d\\ude00"', '😀'],
    ['the largest integer', '9007199254740991', 9007199254740991],
    ['equal keys in different objects', '[{"a":1},{"a":2}]', [{ a: 1 }, { a: 2 }]],
    ['colons and quotes in strings', '{"a:\\":b":"{\\"x\\":1}"}', { 'a:":b': '{"x":1}' }],
    ['a backslash before the closing quote', '{"a":"\\\\","b":":"}', { a: '\\', b: ':' }],
    ['names that only look like prototype keys', '{"toString":1,"__proto":2}', { toString: 1, __proto: 2 }],
    ['a scalar', ' null ', null],
  ])('%s', (_name, text, value) => expect(parseStrictJson(text)).toEqual({ ok: true, value }))

  test('nesting of 64', () => expect(parseStrictJson(nested(64)).ok).toBe(true))

  test("a depth of the caller's choice", () => {
    expect(parseStrictJson(nested(3), { maxDepth: 2 }).ok).toBe(false)
    expect(parseStrictJson(nested(3), { maxDepth: 3 }).ok).toBe(true)
  })
})

describe('checkStrictValue', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  test.each([
    ['undefined', { a: undefined }, 'undefined'],
    ['a bigint', [1n], 'bigint'],
    ['a function', { toJSON: () => 1 }, 'function'],
    ['NaN', Number.NaN, 'double'],
    ['a date', { at: new Date(0) }, 'plain'],
    ['a map', new Map(), 'plain'],
    ['a cycle', circular, 'deeper'],
    ['an own __proto__', JSON.parse('{"__proto__":1}'), '__proto__'],
    ['a lone surrogate', ['\ud800'], 'surrogate'],
    ['a hole in an array', new Array(1), 'undefined'],
  ])('refuses %s', (_name, value, problem) => expect(checkStrictValue(value)).toContain(problem))

  test('refuses a value whose shared parts multiply', () => {
    let value: unknown = 1
    for (let level = 0; level < 60; level++) value = [value, value]
    expect(checkStrictValue(value)).toContain('parts')
  })

  test('takes plain JSON', () => expect(checkStrictValue({ a: [1, 'b', null, { c: true }] })).toBeNull())
})

test('text and value are judged alike', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      const parsed = JSON.parse(text)
      const result = parseStrictJson(text)
      expect(result.ok).toBe(checkStrictValue(parsed) === null)
      if (result.ok) expect(result.value).toEqual(parsed)
    }),
  )
})

test('any text gives an answer', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof parseStrictJson(text).ok === 'boolean'))
})

test('a value with more parts than it may have is refused', () => {
  expect(checkStrictValue([1, [2, 3]], { maxParts: 5 })).toBeNull()
  expect(checkStrictValue([1, [2, 3]], { maxParts: 4 })).toBe('the value has more than 4 parts')
})
