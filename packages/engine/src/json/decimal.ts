import type { JsonValue } from '@countersign/protocol'
import { Decimal } from 'decimal.js'

/** Enough digits that a sum of doubles never rounds: their digits span less than 700 places. */
const Exact = Decimal.clone({ precision: 1_000, toExpNeg: -1_000, toExpPos: 1_000 })

export type { Decimal }

/** Null unless the value is a finite number. A string that looks like a number is not one. */
export function toDecimal(value: JsonValue | undefined): Decimal | null {
  return typeof value === 'number' && Number.isFinite(value) ? new Exact(value) : null
}

/** The exact sum. Decimals are text in plain digits, as the state stores them. */
export function addDecimals(a: string, b: string): string {
  const places = Math.max(placesOf(a), placesOf(b))
  if (!isShort(a, places) || !isShort(b, places)) return new Exact(a).plus(b).toFixed()
  return fromUnits(toUnits(a, places) + toUnits(b, places), places)
}

/** The exact difference. */
export function subtractDecimals(a: string, b: string): string {
  return new Exact(a).minus(b).toFixed()
}

/** Negative if a is less than b, 0 if they are equal, positive if a is greater. */
export function compareDecimals(a: string, b: string): number {
  if (!isShort(a, 0) || !isShort(b, 0)) return new Exact(a).comparedTo(b)
  // Different texts of so few digits are different doubles in the same order.
  const [left, right] = [Number(a), Number(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** The exact product. */
export function multiplyDecimals(a: string, b: string): string {
  return new Exact(a).times(b).toFixed()
}

/** The decimal that a JSON number reads as: 0.1 is exactly 0.1. */
export function decimalText(value: number): string {
  const text = String(value)
  return text.includes('e') ? new Exact(value).toFixed() : text
}

/** Exact: 19.99 is a multiple of 0.01. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  return new Exact(value).modulo(divisor).isZero()
}

/** A double holds every integer of this many digits exactly. Most amounts and costs fit and need no library. */
const SHORT_DIGITS = 15

const placesOf = (text: string): number => {
  const dot = text.indexOf('.')
  return dot === -1 ? 0 : text.length - dot - 1
}

const isShort = (text: string, places: number): boolean => text.length + places <= SHORT_DIGITS

/** The decimal as a whole number of units, 10^-places each. */
function toUnits(text: string, places: number): number {
  const own = placesOf(text)
  return Number(own === 0 ? text : text.replace('.', '')) * 10 ** (places - own)
}

function fromUnits(units: number, places: number): string {
  if (places === 0) return String(units)
  const digits = String(Math.abs(units)).padStart(places + 1, '0')
  const whole = (units < 0 ? '-' : '') + digits.slice(0, -places)
  const fraction = digits.slice(-places).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
