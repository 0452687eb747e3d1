import type { ValueKind } from '@countersign/protocol'
import { keysAreNames } from '../json/general-path.js'
import { FORBIDDEN_KEYS } from '../json/strict-json.js'
import { kindOf } from '../json/value-kind.js'
import { mergeSamples, newSample, type Sample, sampled } from './sketch.js'

export const JSON_TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'] as const
export type JsonType = (typeof JSON_TYPES)[number]

/** What values at one place looked like: counts, extremes and small samples only, so that order does not matter. */
export interface Shape {
  types: Partial<Record<JsonType, number>>
  kinds: Partial<Record<ValueKind, number>>
  minimum: number | null
  maximum: number | null
  longest: number
  /** Distinct scalars as JSON with their counts, while they are few. */
  values: Sample<{ count: number }>
  /** Spellings of identifiers: digits as 9, letters as A and a. */
  masks: Sample<{ count: number }>
  /** Fields of objects whose keys are names; `rest` for all values of maps whose keys are data. */
  fields: Sample<{ shape: Shape }>
  rest: Shape | null
  items: Shape | null
  mostItems: number
}

export const SHAPE_LIMITS = {
  values: 16,
  valueLength: 64,
  masks: 3,
  maskLength: 32,
  fields: 64,
  fieldLength: 128,
  depth: 8,
  /** Values of one call that are looked at closely. Of the others only type, extremes and length are noted. */
  valuesPerCall: 2_048,
} as const

export const newShape = (): Shape => ({
  types: {},
  kinds: {},
  minimum: null,
  maximum: null,
  longest: 0,
  values: newSample(),
  masks: newSample(),
  fields: newSample(),
  rest: null,
  items: null,
  mostItems: 0,
})

/** Adds the arguments of one call, or a value inside them. */
export function addShape(shape: Shape, value: unknown, depth = 0, look: Look = newLook()): void {
  const closely = look.left-- > 0
  const type = typeOf(value)
  shape.types[type] = (shape.types[type] ?? 0) + 1
  if (typeof value === 'number') addNumber(shape, value)
  if (typeof value === 'string') shape.longest = Math.max(shape.longest, lengthOf(value))
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    if (closely) addScalar(shape, value)
    else shape.values.full = shape.masks.full = true
  }
  if (depth >= SHAPE_LIMITS.depth) return
  if (Array.isArray(value)) {
    shape.mostItems = Math.max(shape.mostItems, value.length)
    for (const item of value) {
      shape.items ??= newShape()
      addShape(shape.items, item, depth + 1, look)
    }
  } else if (typeof value === 'object' && value !== null) {
    if (closely) addFields(shape, value, depth, look)
    // As if its keys were data: a contract then says nothing about the fields.
    else shape.rest ??= newShape()
  }
}

/** What is left of the close look at one call: a call of many thousand values must not take long. */
export interface Look {
  left: number
}

export const newLook = (): Look => ({ left: SHAPE_LIMITS.valuesPerCall })

/** In characters, as JSON Schema counts them. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) >>> 10 === 0x36 && text.charCodeAt(at + 1) >>> 10 === 0x37) length--
  return length
}

function addNumber(shape: Shape, value: number): void {
  shape.minimum = shape.minimum === null ? value : Math.min(shape.minimum, value)
  shape.maximum = shape.maximum === null ? value : Math.max(shape.maximum, value)
}

/** Long text is content and is not stored; a value that is too long overflows the sample. */
function addScalar(shape: Shape, value: string | number | boolean): void {
  const kind = kindOf(value)
  shape.kinds[kind] = (shape.kinds[kind] ?? 0) + 1
  if (typeof value === 'string') addMask(shape, value)
  const text = String(value).length > SHAPE_LIMITS.valueLength ? null : JSON.stringify(value)
  if (text === null || text.length > SHAPE_LIMITS.valueLength) {
    shape.values.full = true
    return
  }
  const seen = sampled(shape.values, text, SHAPE_LIMITS.values, () => ({ count: 0 }))
  if (seen !== null) seen.count++
}

/** PostgreSQL cannot store this character in text, and storing a summary must not fail. */
const NUL = '\u0000'

function addMask(shape: Shape, value: string): void {
  if (value.length > SHAPE_LIMITS.maskLength || value.includes(NUL)) {
    shape.masks.full = true
    return
  }
  const seen = sampled(shape.masks, maskOf(value), SHAPE_LIMITS.masks, () => ({ count: 0 }))
  if (seen !== null) seen.count++
}

export const maskOf = (text: string): string =>
  text.replaceAll(/[A-Z]/g, 'A').replaceAll(/[a-z]/g, 'a').replaceAll(/\d/g, '9')

function addFields(shape: Shape, value: object, depth: number, look: Look): void {
  const entries = Object.entries(value)
  if (depth > 0 && !keysAreNames(entries)) {
    for (const [, item] of entries) {
      shape.rest ??= newShape()
      addShape(shape.rest, item, depth + 1, look)
    }
    return
  }
  for (const [key, item] of entries) {
    if (!isFieldName(key)) {
      // A contract cannot name this field, so it must not forbid other fields.
      shape.fields.full = true
      continue
    }
    const field = sampled(shape.fields, key, SHAPE_LIMITS.fields, () => ({ shape: newShape() }))
    if (field !== null) addShape(field.shape, item, depth + 1, look)
  }
}

/** Whether a contract can name this field. */
export const isFieldName = (key: string): boolean =>
  key.length <= SHAPE_LIMITS.fieldLength && key.isWellFormed() && !key.includes(NUL) && !FORBIDDEN_KEYS.has(key)

export function typeOf(value: unknown): JsonType {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (typeof value === 'string') return 'string'
  return typeof value === 'boolean' ? 'boolean' : 'object'
}

export function mergeShapes(a: Shape, b: Shape): Shape {
  return {
    types: addCounts(a.types, b.types),
    kinds: addCounts(a.kinds, b.kinds),
    minimum: a.minimum === null ? b.minimum : b.minimum === null ? a.minimum : Math.min(a.minimum, b.minimum),
    maximum: a.maximum === null ? b.maximum : b.maximum === null ? a.maximum : Math.max(a.maximum, b.maximum),
    longest: Math.max(a.longest, b.longest),
    values: mergeSamples(a.values, b.values, SHAPE_LIMITS.values, (x, y) => ({ count: x.count + y.count })),
    masks: mergeSamples(a.masks, b.masks, SHAPE_LIMITS.masks, (x, y) => ({ count: x.count + y.count })),
    fields: mergeSamples(a.fields, b.fields, SHAPE_LIMITS.fields, (x, y) => ({ shape: mergeShapes(x.shape, y.shape) })),
    rest: mergeOptional(a.rest, b.rest),
    items: mergeOptional(a.items, b.items),
    mostItems: Math.max(a.mostItems, b.mostItems),
  }
}

const mergeOptional = (a: Shape | null, b: Shape | null): Shape | null =>
  a === null ? b : b === null ? a : mergeShapes(a, b)

function addCounts<K extends string>(
  a: Partial<Record<K, number>>,
  b: Partial<Record<K, number>>,
): Partial<Record<K, number>> {
  const sum: Partial<Record<K, number>> = { ...a }
  for (const key of Object.keys(b) as K[]) sum[key] = (sum[key] ?? 0) + (b[key] ?? 0)
  return sum
}
