import type { ValueKind } from '@countersign/protocol'
import { keysAreNames } from '../json/general-path.js'
import { kindOf } from '../json/value-kind.js'
import { type JsonType, type Look, maskOf, newLook, SHAPE_LIMITS, type Shape, typeOf } from './shape.js'
import { getSampled, type Sample, sketchHash } from './sketch.js'
import type { ToolSummary } from './summary.js'

/**
 * Removes the content of one call from what was learned: values, spellings and keys that no other call had, and paths
 * that only its session used. How often the tool was seen stays: that is not content.
 */
export function forgetCall(
  summary: ToolSummary,
  call: { session: string; request?: string | undefined; arguments: unknown },
): void {
  if (call.request !== undefined && summary.words !== undefined) {
    const request = sketchHash(call.request)
    summary.words = summary.words.filter(([other]) => other !== request)
  }
  if (call.arguments !== null && call.arguments !== undefined) forgetShape(summary.shape, call.arguments, 0, newLook())
  const session = sketchHash(call.session)
  keepEntries(summary.flows, ({ sessions }) => sessions.some((hash) => hash !== session))
  keepEntries(summary.columns, ({ kinds }) => {
    for (const kind of Object.keys(kinds) as ValueKind[]) {
      const others = (kinds[kind] ?? []).filter((hash) => hash !== session)
      if (others.length === 0) delete kinds[kind]
      else kinds[kind] = others
    }
    return Object.keys(kinds).length > 0
  })
}

/** Reverses the counts of `addShape`, which looks at values in the same order. */
function forgetShape(shape: Shape, value: unknown, depth: number, look: Look): void {
  const closely = look.left-- > 0
  countDown(shape.types, typeOf(value))
  if (closely && (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'))
    forgetScalar(shape, value)
  if (depth >= SHAPE_LIMITS.depth) return
  if (Array.isArray(value)) {
    for (const item of value) if (shape.items !== null) forgetShape(shape.items, item, depth + 1, look)
    if (shape.items !== null && isEmpty(shape.items)) shape.items = null
  } else if (closely && typeof value === 'object' && value !== null) forgetFields(shape, value, depth, look)
}

function forgetScalar(shape: Shape, value: string | number | boolean): void {
  countDown(shape.kinds, kindOf(value))
  forgetEntry(shape.values, JSON.stringify(value))
  if (typeof value === 'string') forgetEntry(shape.masks, maskOf(value))
  if (shape.types.integer === undefined && shape.types.number === undefined) {
    shape.minimum = null
    shape.maximum = null
  }
}

function forgetFields(shape: Shape, value: object, depth: number, look: Look): void {
  const entries = Object.entries(value)
  if (depth > 0 && !keysAreNames(entries)) {
    for (const [, item] of entries) if (shape.rest !== null) forgetShape(shape.rest, item, depth + 1, look)
    if (shape.rest !== null && isEmpty(shape.rest)) shape.rest = null
    return
  }
  for (const [key, item] of entries) {
    const field = getSampled(shape.fields, key)
    if (field !== undefined) forgetShape(field.shape, item, depth + 1, look)
  }
  keepEntries(shape.fields, (field) => !isEmpty(field.shape))
}

const isEmpty = ({ types }: Shape): boolean => Object.keys(types).length === 0

function forgetEntry(sample: Sample<{ count: number }>, key: string): void {
  const seen = getSampled(sample, key)
  if (seen === undefined) return
  seen.count--
  if (seen.count <= 0) keepEntries(sample, (entry) => entry !== seen)
}

function keepEntries<T>(sample: Sample<T>, isKept: (value: T) => boolean): void {
  sample.entries = sample.entries.filter(([, value]) => isKept(value))
}

function countDown<K extends JsonType | ValueKind>(counts: Partial<Record<K, number>>, key: K): void {
  const left = (counts[key] ?? 0) - 1
  if (left > 0) counts[key] = left
  else delete counts[key]
}
