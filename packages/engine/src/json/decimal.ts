import type { JsonValue } from '@countersign/protocol'

/*
 * Exact arithmetic with decimals, which are text in plain digits, as the state stores them. A decimal is a whole number
 * of units of 10^-places, and the runtime's own whole numbers have no end: nothing is rounded
 * (docs/decisions/0025-own-json-code.md).
 */

/** The exact sum. */
export function addDecimals(a: string, b: string): string {
  const places = Math.max(placesOf(a), placesOf(b))
  if (isShort(a, places) && isShort(b, places)) return textOf(shortUnits(a, places) + shortUnits(b, places), places)
  return textOf(unitsOf(a, places) + unitsOf(b, places), places)
}

/** The exact difference. */
export function subtractDecimals(a: string, b: string): string {
  const places = Math.max(placesOf(a), placesOf(b))
  return textOf(unitsOf(a, places) - unitsOf(b, places), places)
}

/** Negative if a is less than b, 0 if they are equal, positive if a is greater. */
export function compareDecimals(a: string, b: string): number {
  // Different texts of so few digits are different doubles in the same order.
  if (isShort(a, 0) && isShort(b, 0)) return signOf(Number(a), Number(b))
  const places = Math.max(placesOf(a), placesOf(b))
  return signOf(unitsOf(a, places), unitsOf(b, places))
}

/** The exact product. */
export function multiplyDecimals(a: string, b: string): string {
  const [ofA, ofB] = [placesOf(a), placesOf(b)]
  return textOf(unitsOf(a, ofA) * unitsOf(b, ofB), ofA + ofB)
}

/** Exact: 19.99 is a multiple of 0.01. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [a, b] = [decimalText(value), decimalText(divisor)]
  const places = Math.max(placesOf(a), placesOf(b))
  return unitsOf(a, places) % unitsOf(b, places) === 0n
}

/** The decimal that a JSON number reads as: 0.1 is exactly 0.1, and 1e-7 is 0.0000001. */
export function decimalText(value: number): string {
  if (value === 0) return '0'
  const [mantissa = '', exponent] = String(value).split('e')
  if (exponent === undefined) return mantissa
  const places = placesOf(mantissa) - Number(exponent)
  const units = unitsOf(mantissa, placesOf(mantissa))
  return places > 0 ? textOf(units, places) : textOf(units * 10n ** BigInt(-places), 0)
}

/** A number that a session can keep. Beyond these bounds it takes more digits than anybody means. */
export const isAmount = (value: JsonValue | undefined): value is number =>
  typeof value === 'number' && (value === 0 || (Math.abs(value) >= 1e-45 && Math.abs(value) <= 1e45))

const signOf = <Value extends number | bigint>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0)

const placesOf = (text: string): number => {
  const dot = text.indexOf('.')
  return dot === -1 ? 0 : text.length - dot - 1
}

/** The decimal as a whole number of units. */
const unitsOf = (text: string, places: number): bigint =>
  BigInt(text.replace('.', '') + '0'.repeat(places - placesOf(text)))

/** A double holds every integer of this many digits exactly. Most amounts and costs fit, and are quicker so. */
const SHORT_DIGITS = 15

const isShort = (text: string, places: number): boolean => text.length + places <= SHORT_DIGITS

function shortUnits(text: string, places: number): number {
  const own = placesOf(text)
  return Number(own === 0 ? text : text.replace('.', '')) * 10 ** (places - own)
}

function textOf(units: number | bigint, places: number): string {
  if (places === 0) return String(units)
  const isNegative = units < 0
  const digits = String(isNegative ? -units : units).padStart(places + 1, '0')
  const whole = (isNegative ? '-' : '') + digits.slice(0, -places)
  let end = digits.length
  while (end > digits.length - places && digits[end - 1] === '0') end--
  const fraction = digits.slice(-places, end)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
