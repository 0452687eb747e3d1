import { isInContainer, isRunByProvider } from '@countersign/engine'
import { type JsonObject, text } from '../../base/json-object.js'

/**
 * The items of an output that ask the program to run something. What the provider ran itself is no call: it waits
 * for no answer, or its output is there too. It was judged when it was offered.
 */
export function callsOf(output: readonly JsonObject[]): Set<JsonObject> {
  const ran = new Set(output.filter((item) => text(item.type).endsWith('_output')).map((item) => item.call_id))
  const isCall = (item: JsonObject): boolean => {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') return true
    if (!text(item.type).endsWith('_call') || isInContainer(item)) return false
    return item.call_id !== undefined && item.call_id !== null && !ran.has(item.call_id)
  }
  return new Set(output.filter(isCall))
}

/** The calls of an output that are not among these. */
export function callsExcept(output: readonly JsonObject[], allowedIds: ReadonlySet<string>): Set<JsonObject> {
  return new Set([...callsOf(output)].filter((item) => !allowedIds.has(text(item.call_id))))
}

/** An item that may turn out to be a call. While it is streamed, its end and its output are not known yet. */
export function mayBeCall(item: JsonObject): boolean {
  return text(item.type).endsWith('_call') && !isRunByProvider(item)
}
