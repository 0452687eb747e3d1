import type { JsonValue } from '@countersign/protocol'
import type { Steps } from '../text/steps.js'
import { canonicalJson } from './canonical-json.js'

/** How a value is written: its keys in their own order, or as RFC 8785 says. */
interface Form {
  readonly keys: (object: object) => string[]
  readonly leaf: (value: JsonValue) => string
}

const AS_IT_IS: Form = { keys: Object.keys, leaf: (value) => JSON.stringify(value) }
const CANONICAL: Form = { keys: (object) => Object.keys(object).sort(), leaf: canonicalJson }

/** `JSON.stringify` for a large value, with other work in between: a megabyte takes ten milliseconds. */
export const stringifyInSteps = (value: JsonValue): Steps<string> => writeInSteps(value, AS_IT_IS)

/** `canonicalJson` for a large value, with other work in between. */
export const canonicalJsonInSteps = (value: JsonValue): Steps<string> => writeInSteps(value, CANONICAL)

/** About a millisecond of writing. */
const CHARACTERS_PER_STEP = 65_536

function* writeInSteps(value: JsonValue, form: Form): Steps<string> {
  const text: string[] = []
  let untilStep = CHARACTERS_PER_STEP

  const add = (part: string) => {
    text.push(part)
    untilStep -= part.length
  }

  function* write(one: JsonValue): Steps<void> {
    if (untilStep <= 0) {
      untilStep = CHARACTERS_PER_STEP
      yield
    }
    if (one === null || typeof one !== 'object') add(form.leaf(one))
    else if (Array.isArray(one)) yield* writeArray(one)
    else yield* writeObject(one)
  }

  function* writeArray(items: readonly JsonValue[]): Steps<void> {
    add('[')
    for (const [at, item] of items.entries()) {
      if (at > 0) add(',')
      yield* write(item)
    }
    add(']')
  }

  function* writeObject(object: { readonly [key: string]: JsonValue | undefined }): Steps<void> {
    let before = '{'
    for (const key of form.keys(object)) {
      const child = object[key]
      if (child === undefined) continue
      add(`${before}${form.leaf(key)}:`)
      before = ','
      yield* write(child)
    }
    add(before === '{' ? '{}' : '}')
  }

  yield* write(value)
  return text.join('')
}
