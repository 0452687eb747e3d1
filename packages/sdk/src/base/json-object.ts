/** Requests and responses are read by shape: the provider packages are no dependency of the SDK. */
export type JsonObject = { [key: string]: unknown }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; an empty list where the value is none. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A copy without the named keys. */
export function without(value: JsonObject, ...keys: string[]): JsonObject {
  const copy = { ...value }
  for (const key of keys) delete copy[key]
  return copy
}

/**
 * A changed copy of a response carries over the hidden members of the original,
 * such as the `_request_id` of both clients.
 */
export function withHiddenPropertiesOf(original: JsonObject, copy: JsonObject): JsonObject {
  for (const key of Reflect.ownKeys(original)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(original, key)
    if (descriptor !== undefined && !descriptor.enumerable) Object.defineProperty(copy, key, descriptor)
  }
  return copy
}

/** The readable text of message content: a string, or a list of parts of which some hold text. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .map((part) => text(part.text) || text(part.refusal) || contentText(part.content))
    .filter((part) => part !== '')
    .join('\n')
}
