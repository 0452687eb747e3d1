import type { JsonValue } from '@countersign/protocol'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalBytes, canonicalJson } from './canonical-json.js'

test.each<[string, JsonValue, string]>([
  [
    'keys in the order of their UTF-16 units',
    { b: 1, é: 2, a: 3, '10': 4, '9': 5, '😀': 6, '\ufb33': 7 },
    '{"10":4,"9":5,"a":3,"b":1,"é":2,"😀":6,"\ufb33":7}',
  ],
  ['numbers in one way', [1.0, -0, 1e21, 1e-7, 0.1, 333333333.3333333], '[1,0,1e+21,1e-7,0.1,333333333.3333333]'],
  ['control characters escaped, others as they are', '\u0007\n"\\/é\u2028', '"\\u0007\\n\\"\\\\/é\u2028"'],
  ['nothing between the parts', { a: [], b: {}, c: [null, true, false] }, '{"a":[],"b":{},"c":[null,true,false]}'],
])('writes %s', (_name, value, text) => expect(canonicalJson(value)).toBe(text))

test('many keys are in the same order as few', () => {
  const object = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`k${(at * 7) % 40}`, at]))
  expect(canonicalJson(object)).toBe(canonicalize(object))
})

test('an optional property that is not set is not there', () => {
  expect(canonicalJson({ a: undefined, b: 1, c: undefined } as unknown as JsonValue)).toBe('{"b":1}')
})

test.each<[string, unknown]>([
  ['NaN', Number.NaN],
  ['Infinity', [Number.POSITIVE_INFINITY]],
  ['half of a surrogate pair', { a: 'x\ud800' }],
  ['half of a surrogate pair in a key', { '\udc00': 1 }],
  ['undefined', undefined],
  ['a hole in an array', [undefined]],
  ['a bigint', { a: 1n }],
  ['a function', () => 1],
])('refuses %s', (_name, value) => expect(() => canonicalJson(value as JsonValue)).toThrow(TypeError))

test('agrees with another implementation on any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }), (value) => {
      expect(canonicalJson(value as JsonValue)).toBe(canonicalize(value))
    }),
    { numRuns: 300 },
  )
})

test.each([65_533, 65_534, 65_535, 70_000, 1_000_000])(
  'writes %i characters whole, however they are spread',
  (length) => {
    const values = [
      'x'.repeat(length),
      'é'.repeat(length),
      Array.from({ length: length / 10 }, () => 'ten chars'),
      '\n'.repeat(length),
    ]
    for (const value of values) {
      expect(canonicalJson(value)).toBe(JSON.stringify(value))
      expect(canonicalJson({ after: [1], value })).toBe(JSON.stringify({ after: [1], value }))
    }
  },
)

test('what was refused leaves nothing behind', () => {
  expect(() => canonicalJson(['text', '\ud800'])).toThrow(TypeError)
  expect(canonicalJson({ a: 1 })).toBe('{"a":1}')
})

test('as bytes it is the same text behind a prefix', () => {
  for (const prefix of ['', '4:salt:', '4:sälz:', 'x'.repeat(70_000)]) {
    expect(canonicalBytes(prefix, { b: 'é😀', a: 1 }).toString()).toBe(`${prefix}{"a":1,"b":"é😀"}`)
  }
})
