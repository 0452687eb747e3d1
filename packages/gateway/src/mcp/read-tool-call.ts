import { disguisesOf } from '@countersign/engine'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { isObject } from '../base/is-object.js'

export type ToolCallReading =
  | { readonly ok: true; readonly name: string; readonly arguments: JsonObject }
  | { readonly ok: false; readonly problem: string }

/** Reads the parameters of `tools/call`. A key that a lenient server takes for another one is refused. */
export function readToolCall(params: JsonObject): ToolCallReading {
  const disguised = Object.keys(params).find(isDisguised)
  if (disguised !== undefined) return { ok: false, problem: `the parameter ${JSON.stringify(disguised)} is not known` }
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string' || name === '') return { ok: false, problem: 'name is not the name of a tool' }
  if (!isObject(args)) return { ok: false, problem: 'arguments is not an object' }
  return { ok: true, name, arguments: args }
}

const isDisguised = disguisesOf(['name', 'arguments'])

/** True for what a server could take for `tools/call`, and is not written so. */
export function isDisguisedCall(method: string): boolean {
  if (method === 'tools/call') return false
  const plain = method
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z/]/g, '')
  return plain === 'tools/call'
}

/** What only says which version is spoken and who asks, for a request of the gateway's own. */
export function envelopeOf(params: JsonObject): JsonObject {
  const { _meta: meta } = params
  if (!isObject(meta)) return {}
  const kept: [string, JsonValue][] = Object.entries(meta).filter(([key]) => key.startsWith('io.modelcontextprotocol/'))
  return kept.length === 0 ? {} : { _meta: Object.fromEntries(kept) }
}
