import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runToEnd } from '../text/steps.js'
import { canonicalJson } from './canonical-json.js'
import { saltedHash, saltedHashInSteps } from './hash.js'
import { beginningOf, canonicalJsonInSteps, stringifyInSteps } from './write-in-steps.js'

const small = fc.jsonValue({ stringUnit: 'binary' })
/** Lists and objects that are too long to be written at once, and texts as long as a step. */
const large = fc.record({
  list: fc.array(small, { minLength: 60, maxLength: 200 }),
  object: fc.dictionary(fc.string({ unit: 'binary' }), small, { minKeys: 60, maxKeys: 100 }),
  text: fc.string({ minLength: 1, maxLength: 20 }).map((text) => text.repeat(5_000)),
})

test('a value is written in steps as it is written at once', () => {
  fc.assert(
    fc.property(fc.oneof({ arbitrary: small, weight: 9 }, large), (value) => {
      const plain = JSON.parse(JSON.stringify(value))
      expect(runToEnd(stringifyInSteps(plain))).toBe(JSON.stringify(plain))
      expect(runToEnd(canonicalJsonInSteps(plain))).toBe(canonicalJson(plain))
      expect(runToEnd(saltedHashInSteps('salt', plain))).toBe(saltedHash('salt', plain))
    }),
  )
})

test('the beginning of a value is as long as asked for, where the value is', () => {
  fc.assert(
    fc.property(fc.oneof(small, large), fc.nat({ max: 300 }), (value, characters) => {
      const whole = JSON.stringify(JSON.parse(JSON.stringify(value)))
      const beginning = beginningOf(JSON.parse(whole), characters)
      expect(whole.startsWith(beginning)).toBe(true)
      expect(beginning.length).toBeGreaterThanOrEqual(Math.min(characters, whole.length))
    }),
  )
  expect(beginningOf(Array(1_000_000).fill(Math.PI), 100).length).toBeLessThan(100_000)
})

test('a property that is undefined is left out', () => {
  const value = { a: undefined, b: [{ c: undefined }], d: 1 } as never
  expect(runToEnd(stringifyInSteps(value))).toBe('{"b":[{}],"d":1}')
})

test('no step writes much more than 64 KB, however the value is made', () => {
  const part = 'x'.repeat(10_000)
  for (const value of [Array(100).fill(part), Object.fromEntries(Array.from({ length: 100 }, (_, at) => [at, part]))]) {
    const steps = stringifyInSteps(value)
    let taken = 0
    while (steps.next().done !== true) taken++
    expect(taken).toBeGreaterThanOrEqual(12)
  }
})
