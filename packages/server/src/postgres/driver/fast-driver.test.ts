import { setFlagsFromString } from 'node:v8'
import { expect, test } from 'vitest'
import { makeFast } from './fast-driver.js'

setFlagsFromString('--allow-natives-syntax')
/** As V8 says. */
const isFast = new Function('value', 'return %HasFastProperties(value)') as (value: object) => boolean

test('a class with a computed static member, as the driver has them, is laid out for compiled code', () => {
  class Rows extends Array<number> {
    static override get [Symbol.species]() {
      return Array
    }
  }
  expect(isFast(Rows)).toBe(false)
  makeFast(Rows)
  expect(isFast(Rows)).toBe(true)
  expect(new Rows().map((row) => row)).not.toBeInstanceOf(Rows)
})
