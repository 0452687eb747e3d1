import { parseStrictJson, repeatedKey } from '@countersign/engine'
import { NOTHING_DECIDED, ReplayContractError } from '../base/errors.js'
import { isObject } from '../base/json-object.js'

/**
 * How a value was written on the wire: unchanged, it goes on byte for byte. What could be read in two ways,
 * such as a number that no double holds, is not remembered: it is written anew, and says what was judged.
 */
export type ReceivedTexts = WeakMap<object, string>

/** Parses JSON and remembers its text. Throws where it is none and, with `binds`, where a member occurs twice in it. */
export function parseReceived(
  json: string,
  texts: ReceivedTexts,
  { text = json, binds }: { readonly text?: string; readonly binds: boolean },
): unknown {
  const strict = parseStrictJson(json)
  const value: unknown = strict.ok ? strict.value : JSON.parse(json)
  if (!strict.ok && binds) refuseDuplicates(json)
  if (strict.ok && isObject(value)) texts.set(value, text)
  return value
}

/** An answer with a duplicate member could be read in two ways: that is a refusal of ours, which clients do not try again. */
function refuseDuplicates(json: string): void {
  const twice = repeatedKey(json)
  if (twice === null) return
  const shown = twice.slice(0, SHOWN_LENGTH)
  const message = `the answer of the provider contains the duplicate member ${shown}, so that it cannot be judged`
  throw new ReplayContractError(message, NOTHING_DECIDED)
}

const SHOWN_LENGTH = 64

export const receivedText = (value: unknown, texts: ReceivedTexts): string | undefined =>
  isObject(value) ? texts.get(value) : undefined
