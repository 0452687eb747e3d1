import { parseStrictJson, repeatedKey } from '@countersign/engine'
import { isObject } from '../base/json-object.js'

/**
 * How a value was written on the wire: where nobody changed it, it goes on byte for byte. What could be read in two ways,
 * such as a number that no double holds, is not remembered: it is written anew, and says what was judged.
 */
export type ReceivedTexts = WeakMap<object, string>

/** Parses JSON and remembers its text. Throws where it is none, or has a member twice: nobody writes that by mistake. */
export function parseReceived(json: string, texts: ReceivedTexts, text: string | null = json): unknown {
  const strict = parseStrictJson(json)
  const value: unknown = strict.ok ? strict.value : JSON.parse(json)
  if (!strict.ok && repeatedKey(json) !== null) throw new SyntaxError(strict.problem)
  if (strict.ok && text !== null && isObject(value)) texts.set(value, text)
  return value
}

export const receivedText = (value: unknown, texts: ReceivedTexts): string | undefined =>
  isObject(value) ? texts.get(value) : undefined
