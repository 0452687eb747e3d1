import { type JsonObject, type JsonValue, LIMITS } from '@countersign/protocol'
import { decimalText } from '../json/decimal.js'

/** A value that cannot be shown to a policy; the call it belongs to is blocked. */
export class CedarValueError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CedarValueError'
  }
}

/** Integers become Long, other numbers decimal, arrays sets; null is left out. Errors name `where`. */
export function toCedarRecord(object: JsonObject, where: string): JsonObject {
  return convertObject(object, where, 1)
}

/** With these keys Cedar would read a plain object as an entity or an extension value: a forgery. */
const ESCAPES: ReadonlySet<string> = new Set(['__entity', '__extn', '__expr'])
const DECIMAL_PLACES = 4
const LARGEST_DECIMAL = 922_337_203_685_477

function convertObject(object: JsonObject, where: string, depth: number): JsonObject {
  if (depth > LIMITS.jsonDepth) throw new CedarValueError(`${where} is nested too deeply for a policy`)
  const record: [string, JsonValue][] = []
  const entries = Object.entries(object)
  for (const [key, value] of entries) {
    if (ESCAPES.has(key)) throw new CedarValueError(`${where} has the key ${key}, which a policy would read as its own`)
    if (value !== null) record.push([key, convert(value, `${where}.${key}`, depth + 1)])
  }
  return Object.fromEntries(record)
}

function convert(value: Exclude<JsonValue, null>, where: string, depth: number): JsonValue {
  if (typeof value === 'number') return convertNumber(value, where)
  if (typeof value !== 'object') return value
  if (!Array.isArray(value)) return convertObject(value, where, depth)
  if (depth > LIMITS.jsonDepth) throw new CedarValueError(`${where} is nested too deeply for a policy`)
  return value.filter((item) => item !== null).map((item) => convert(item, `${where}[]`, depth + 1))
}

function convertNumber(value: number, where: string): JsonValue {
  if (Number.isSafeInteger(value)) return value
  if (!Number.isFinite(value)) throw new CedarValueError(`${where} is not a number a policy can read`)
  const text = decimalText(value)
  const places = text.length - 1 - text.indexOf('.')
  if (!text.includes('.') || places > DECIMAL_PLACES) {
    throw new CedarValueError(`${where} is ${text}: a policy reads numbers with at most ${DECIMAL_PLACES} places`)
  }
  if (Math.abs(value) > LARGEST_DECIMAL)
    throw new CedarValueError(`${where} is ${text}: no decimal of a policy is so large`)
  return { __extn: { fn: 'decimal', arg: text } }
}
