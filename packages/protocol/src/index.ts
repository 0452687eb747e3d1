export type { JsonObject, JsonValue } from './json.js'
