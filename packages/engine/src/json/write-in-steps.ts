import type { JsonValue } from '@countersign/protocol'
import type { Steps } from '../text/steps.js'
import { canonicalJson } from './canonical-json.js'

/** How a value is written: its keys in their own order, or as RFC 8785 says. */
interface Form {
  readonly keys: (object: object) => string[]
  readonly atOnce: (value: JsonValue) => string
}

const AS_IT_IS: Form = { keys: Object.keys, atOnce: (value) => JSON.stringify(value) }
const CANONICAL: Form = { keys: (object) => Object.keys(object).sort(), atOnce: canonicalJson }

/** `JSON.stringify` for a large value, with other work in between: a megabyte takes ten milliseconds. */
export const stringifyInSteps = (value: JsonValue): Steps<string> => textOf(value, AS_IT_IS)

/** `canonicalJson` for a large value, with other work in between. */
export const canonicalJsonInSteps = (value: JsonValue): Steps<string> => textOf(value, CANONICAL)

/** The same text part by part, for whoever does not need the whole of it. */
export const canonicalPartsInSteps = (value: JsonValue, take: (text: string) => void): Steps<void> =>
  writeInSteps(value, CANONICAL, take)

/** The first so many characters of `JSON.stringify`, or somewhat more of them. */
export function beginningOf(value: JsonValue, characters: number): string {
  let text = ''
  const steps = writeInSteps(value, AS_IT_IS, (part) => {
    text += part
  })
  while (text.length < characters && steps.next().done !== true);
  return text
}

function* textOf(value: JsonValue, form: Form): Steps<string> {
  const parts: string[] = []
  yield* writeInSteps(value, form, (part) => parts.push(part))
  return parts.join('')
}

/** About a millisecond of writing. */
const CHARACTERS_PER_STEP = 65_536
/** What a part counts as at least: many short ones take longer than one long one. */
const LEAST_CHARACTERS = 32
/** So much is written at once, because value by value takes several times as long. */
const WEIGHT_AT_ONCE = 64
/** A string weighs as much as its length divided by this. */
const CHARACTERS_PER_VALUE = 256

function* writeInSteps(value: JsonValue, form: Form, take: (text: string) => void): Steps<void> {
  let parts: string[] = []
  let length = 0

  function* add(part: string): Steps<void> {
    parts.push(part)
    length += Math.max(part.length, LEAST_CHARACTERS)
    if (length < CHARACTERS_PER_STEP) return
    flush()
    yield
  }

  const flush = () => {
    take(parts.join(''))
    parts = []
    length = 0
  }

  function* write(one: JsonValue): Steps<void> {
    if (weightOf(one) <= WEIGHT_AT_ONCE || !isNested(one)) yield* add(form.atOnce(one))
    else if (Array.isArray(one)) yield* writeArray(one)
    else yield* writeObject(one)
  }

  function* writeArray(items: readonly JsonValue[]): Steps<void> {
    yield* add('[')
    for (let at = 0; at < items.length; ) {
      if (at > 0) yield* add(',')
      const light = lightFrom(items, at)
      // Without its brackets.
      if (light.length > 0) yield* add(form.atOnce(light).slice(1, -1))
      else yield* write(items[at] as JsonValue)
      at += light.length || 1
    }
    yield* add(']')
  }

  function* writeObject(object: { readonly [key: string]: JsonValue | undefined }): Steps<void> {
    let before = '{'
    for (const key of form.keys(object)) {
      const child = object[key]
      if (child === undefined) continue
      yield* add(`${before}${form.atOnce(key)}:`)
      before = ','
      yield* write(child)
    }
    yield* add(before === '{' ? '{}' : '}')
  }

  yield* write(value)
  flush()
}

/** The items from here on that are written at once. */
function lightFrom(items: readonly JsonValue[], from: number): JsonValue[] {
  let to = from
  let weight = 0
  while (to < items.length) {
    weight += weightOf(items[to] as JsonValue)
    if (weight > WEIGHT_AT_ONCE) break
    to++
  }
  return items.slice(from, to)
}

const isNested = (value: JsonValue | undefined): value is JsonValue & object =>
  typeof value === 'object' && value !== null

/** How long a value takes to write. One that holds other objects or lists is not looked into. */
function weightOf(value: JsonValue): number {
  if (typeof value === 'string') return 1 + value.length / CHARACTERS_PER_VALUE
  if (!isNested(value)) return 1
  const children: readonly (JsonValue | undefined)[] = Array.isArray(value) ? value : Object.values(value)
  if (children.length > WEIGHT_AT_ONCE) return Number.POSITIVE_INFINITY
  let weight = 1
  for (const child of children) {
    if (isNested(child)) return Number.POSITIVE_INFINITY
    weight += typeof child === 'string' ? 1 + child.length / CHARACTERS_PER_VALUE : 1
  }
  return weight
}
