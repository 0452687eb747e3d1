import { z } from 'zod'

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject

export interface JsonObject {
  [key: string]: JsonValue
}

/**
 * Checks the whole value at once and passes it on unchanged. Not `z.json()`: that schema is recursive, which zod cannot
 * compile, and it copies the value part by part.
 */
export const jsonSchema = z.custom<JsonValue>(isJson)

/** A JSON object with members of any kind. */
export const jsonObjectSchema = z.record(z.string(), jsonSchema)

/** Without recursion, so that no nesting can overflow the stack. A value that contains itself is not JSON. */
function isJson(root: unknown): boolean {
  const open: unknown[] = [root]
  for (let looked = 0; open.length > 0; looked++) {
    if (looked > MOST_PARTS) return false
    const value = open.pop()
    switch (typeof value) {
      case 'string':
      case 'boolean':
        break
      case 'number':
        if (!Number.isFinite(value)) return false
        break
      case 'object':
        if (value === null) break
        if (Array.isArray(value)) for (const item of value) open.push(item)
        else if (isPlain(value)) for (const key of Object.keys(value)) open.push((value as JsonObject)[key])
        else return false
        break
      default:
        return false
    }
  }
  return true
}

/** More than any body, plan or reply can contain. */
const MOST_PARTS = 10_000_000

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
