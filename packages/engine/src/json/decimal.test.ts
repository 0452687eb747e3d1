import { Decimal } from 'decimal.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDecimals, compareDecimals, decimalText, multiplyDecimals, subtractDecimals, toDecimal } from './decimal.js'

test('0.1 + 0.2 is 0.3', () => expect(addDecimals('0.1', '0.2')).toBe('0.3'))

test('sums keep every digit', () => {
  expect(addDecimals('9007199254740991', '0.0000000000000001')).toBe('9007199254740991.0000000000000001')
  expect(addDecimals(decimalText(5e-324), decimalText(1e15))).toMatch(/^1000000000000000\.0{300}/)
})

test('only finite numbers become decimals', () => {
  expect(toDecimal(12.5)?.toString()).toBe('12.5')
  for (const value of ['12.5', null, true, [1], { a: 1 }, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(toDecimal(value)).toBeNull()
  }
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

test('short decimals are added and compared as the library does it', () => {
  const Exact = Decimal.clone({ precision: 100 })
  const digits = fc.integer({ min: -99_999_999, max: 99_999_999 })
  const decimal = fc
    .tuple(digits, fc.nat({ max: 8 }))
    .map(([units, places]) => new Exact(`${units}e-${places}`).toFixed())
  const padded = fc
    .tuple(decimal, fc.constantFrom('', '0', '000'))
    .map(([text, zeros]) => (text.includes('.') ? text + zeros : text))
  fc.assert(
    fc.property(padded, padded, (a, b) => {
      expect(addDecimals(a, b)).toBe(new Exact(a).plus(b).toFixed())
      expect(compareDecimals(a, b)).toBe(new Exact(a).comparedTo(b))
    }),
    { numRuns: 2_000 },
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
