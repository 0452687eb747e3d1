import { Decimal } from 'decimal.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addDecimals,
  compareDecimals,
  decimalText,
  isMultipleOf,
  multiplyDecimals,
  subtractDecimals,
} from './decimal.js'

test('0.1 + 0.2 is 0.3', () => expect(addDecimals('0.1', '0.2')).toBe('0.3'))

test('sums keep every digit', () => {
  expect(addDecimals('9007199254740991', '0.0000000000000001')).toBe('9007199254740991.0000000000000001')
  expect(addDecimals(decimalText(5e-324), decimalText(1e15))).toMatch(/^1000000000000000\.0{300}/)
})

test('comparison is by value', () => {
  expect(compareDecimals('1.0', '1')).toBe(0)
  expect(compareDecimals('0.30000000000000004', '0.3')).toBeGreaterThan(0)
  expect(compareDecimals('-2', '1')).toBeLessThan(0)
})

test('a product is exact', () => expect(multiplyDecimals('0.1', '1.1')).toBe('0.11'))

test('what was added can be taken away exactly, in plain digits', () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map(decimalText)
  fc.assert(
    fc.property(number, number, (a, b) => {
      const sum = addDecimals(a, b)
      expect(sum).toMatch(/^-?\d+(\.\d+)?$/)
      expect(compareDecimals(subtractDecimals(sum, b), a)).toBe(0)
    }),
  )
})

/** Enough digits that nothing is rounded. */
const Exact = Decimal.clone({ precision: 3_000, toExpNeg: -3_000, toExpPos: 3_000 })

const short = fc
  .tuple(fc.integer({ min: -99_999_999, max: 99_999_999 }), fc.nat({ max: 8 }), fc.constantFrom('', '0', '000'))
  .map(([units, places, zeros]) => {
    const text = new Exact(`${units}e-${places}`).toFixed()
    return text.includes('.') ? text + zeros : text
  })
const double = fc.double({ noNaN: true, noDefaultInfinity: true })

test('decimals are calculated as a library does it', () => {
  const decimal = fc.oneof(short, double.map(decimalText))
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      const exact = new Exact(a)
      // The library knows a zero below zero.
      const plain = (value: Decimal) => value.plus(0).toFixed()
      expect(addDecimals(a, b)).toBe(plain(exact.plus(b)))
      expect(subtractDecimals(a, b)).toBe(plain(exact.minus(b)))
      expect(multiplyDecimals(a, b)).toBe(plain(exact.times(b)))
      expect(compareDecimals(a, b)).toBe(exact.comparedTo(b))
    }),
    { numRuns: 1_000 },
  )
})

test('numbers are read and divided as a library does it', () => {
  const small = fc.integer({ min: 1, max: 9_999 }).map((units) => units / 100)
  const number = fc.oneof(double, small)
  fc.assert(
    fc.property(number, fc.oneof(small, double), (value, other) => {
      expect(decimalText(value)).toBe(new Exact(value).plus(0).toFixed())
      const divisor = Math.abs(other)
      if (divisor > 0) expect(isMultipleOf(value, divisor)).toBe(new Exact(value).modulo(divisor).isZero())
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  ['-0.5', '0.5', '0'],
  ['-0.5', '0.25', '-0.25'],
  ['0.00000001', '-0.00000002', '-0.00000001'],
  ['999999999999999', '1', '1000000000000000'],
  ['99999999999.99', '0.01', '100000000000'],
])('%s + %s = %s', (a, b, sum) => expect(addDecimals(a, b)).toBe(sum))

test('the text of a number has plain digits', () => {
  expect([0.1, -0, 1e21, 1e-7, 129.95].map(decimalText)).toEqual([
    '0.1',
    '0',
    '1000000000000000000000',
    '0.0000001',
    '129.95',
  ])
})
