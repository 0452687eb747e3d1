import { isObject, type JsonObject, objects, text } from '../../base/json-object.js'
import { quoteName } from '../../base/quote-name.js'
import { sameArguments } from '../same-arguments.js'

/** A call of a chat stream as far as it has come. */
interface GrowingCall {
  readonly id: string
  readonly name: string
  readonly body: string
  readonly custom: boolean
  readonly ended: boolean
}

/** Some providers say the name in every part. The client takes the last, and many programs join them all. */
export function twoNames(call: GrowingCall, name: string): string | null {
  if (name === '' || call.name === '' || name === call.name) return null
  return `call ${quoteName(call.id)} has two names, ${quoteName(call.name)} and ${quoteName(name)}`
}

/**
 * A call that may have been taken for whole, and goes on. Whole JSON cannot go on and be JSON still, and what is not
 * whole is nothing yet; but no text is no argument, and a custom tool takes any text.
 */
export function goesOn(call: GrowingCall, added: string): string | null {
  if (added === '' || !call.ended || (call.body !== '' && !call.custom)) return null
  return `call ${quoteName(call.id)} of ${quoteName(call.name)} goes on after its end`
}

export function holdsCalls(message: unknown): message is JsonObject {
  if (!isObject(message)) return false
  const { tool_calls: calls, function_call: legacy } = message
  return isObject(legacy) || (Array.isArray(calls) ? calls.length > 0 : calls !== undefined && calls !== null)
}

/** A call in a whole message that is not among those which the deltas made. */
export function unheardCall(messages: readonly JsonObject[], heard: unknown): string | null {
  const made = isObject(heard) ? heard : {}
  const isAnswered = (message: JsonObject): boolean => {
    if (isObject(message.function_call) && !sameDetail(message.function_call, made.function_call)) return false
    if (message.tool_calls === undefined || message.tool_calls === null) return true
    if (!Array.isArray(message.tool_calls)) return false
    return message.tool_calls.every((call) => objects(made.tool_calls).some((other) => sameCall(call, other)))
  }
  return messages.every(isAnswered) ? null : 'a `message` in a chunk holds a call that no `delta` brought'
}

function sameCall(call: unknown, other: JsonObject): boolean {
  if (!isObject(call) || call.id !== other.id) return false
  return ['function', 'custom'].every((kind) => call[kind] === undefined || sameDetail(call[kind], other[kind]))
}

function sameDetail(one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other) || text(one.name) !== text(other.name)) return false
  return sameArguments(one.arguments ?? '', other.arguments ?? '') && one.input === other.input
}
