import { z } from 'zod'

/** Any value that JSON can write. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject

export interface JsonObject {
  [key: string]: JsonValue
}

/** Named by its type: what zod infers for JSON may be undefined. */
export const jsonSchema = z.json() as z.ZodType<JsonValue, JsonValue>
