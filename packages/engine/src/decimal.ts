import type { JsonValue } from '@countersign/protocol'
import { Decimal } from 'decimal.js'

/** Enough digits that a sum of doubles never rounds: their digits span less than 700 places. */
const Exact = Decimal.clone({ precision: 1_000, toExpNeg: -1_000, toExpPos: 1_000 })

export type { Decimal }

/** Finite numbers only. A string that looks like a number is not one. */
export function toDecimal(value: JsonValue | undefined): Decimal | null {
  return typeof value === 'number' && Number.isFinite(value) ? new Exact(value) : null
}

/** State keeps decimals as text, in plain digits. */
export function addDecimals(a: string, b: string): string {
  return new Exact(a).plus(b).toFixed()
}

export function subtractDecimals(a: string, b: string): string {
  return new Exact(a).minus(b).toFixed()
}

/** Negative when a is less than b, 0 when they are equal, positive when a is greater. */
export function compareDecimals(a: string, b: string): number {
  return new Exact(a).comparedTo(b)
}

export function multiplyDecimals(a: string, b: string): string {
  return new Exact(a).times(b).toFixed()
}

/** The decimal a JSON number shows: 0.1 is exactly 0.1. */
export function decimalText(value: number): string {
  return new Exact(value).toFixed()
}

/** Exact: 19.99 is a multiple of 0.01. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  return new Exact(value).modulo(divisor).isZero()
}
