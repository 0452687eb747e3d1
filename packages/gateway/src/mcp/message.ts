import { parseStrictJson } from '@countersign/engine'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { isObject } from '../base/is-object.js'

/** The id of a JSON-RPC request. */
export type MessageId = string | number

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: MessageId
  readonly method: string
  readonly params: JsonObject
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject
}

export interface RpcResponse {
  readonly kind: 'response'
  /** Null in the answer to a message whose id could not be read. */
  readonly id: MessageId | null
  /** Null where there is an error. */
  readonly result: JsonObject | null
  readonly error: JsonObject | null
}

export type Message = RpcRequest | RpcNotification | RpcResponse

export type Reading =
  | { readonly ok: true; readonly message: Message; readonly text: string }
  /** `id` is that of the request, where it can be read. */
  | { readonly ok: false; readonly id: MessageId | null; readonly code: number; readonly problem: string }

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

/** Deeper messages would overflow the stack when they are written. */
const MAX_DEPTH = 200

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])

/**
 * Reads a message that decides something. What two parsers could read differently is refused: a second `method`, or one
 * in capitals that a lenient server takes for the first, would let a call pass as something else.
 */
export function readHostMessage(text: string): Reading {
  const parsed = parseStrictJson(text, { anyData: true, maxDepth: MAX_DEPTH })
  if (!parsed.ok) return refusal(null, PARSE_ERROR, parsed.problem)
  if (Array.isArray(parsed.value)) {
    return refusal(null, INVALID_REQUEST, 'batches are not part of MCP since 2025-06-18: send one message at a time')
  }
  const read = messageIn(parsed.value, text)
  if (!read.ok) return read
  const extra = Object.keys(parsed.value as JsonObject).find((key) => !MEMBERS.has(key))
  if (extra === undefined) return read
  return refusal(idIn(parsed.value), INVALID_REQUEST, `a message has no member ${JSON.stringify(extra)}`)
}

/** Reads a message of a server. Its text is passed on as it is only where every parser reads it alike. */
export function readServerMessage(text: string): Reading {
  const parsed = parseStrictJson(text, { anyData: true, maxDepth: MAX_DEPTH })
  if (parsed.ok) return messageIn(parsed.value, text)
  const value = parsedOrUndefined(text)
  if (value === undefined) return refusal(null, PARSE_ERROR, parsed.problem)
  try {
    const read = messageIn(value, JSON.stringify(value))
    return read.ok ? { ...read, text: writeMessage(read.message) } : read
  } catch {
    return refusal(null, PARSE_ERROR, parsed.problem)
  }
}

function messageIn(value: JsonValue, text: string): Reading {
  if (!isObject(value)) return refusal(null, INVALID_REQUEST, 'a message is a JSON object')
  const { jsonrpc, id, method, params, result, error } = value
  const readId = idIn(value)
  if (jsonrpc !== '2.0') return refusal(readId, INVALID_REQUEST, 'a message says jsonrpc "2.0"')
  if (method !== undefined) {
    if (result !== undefined || error !== undefined) {
      return refusal(readId, INVALID_REQUEST, 'a message is a request or an answer, not both')
    }
    if (typeof method !== 'string') return refusal(readId, INVALID_REQUEST, 'method is not a string')
    if (params !== undefined && !isObject(params)) return refusal(readId, INVALID_REQUEST, 'params is not an object')
    const named = { method, params: params ?? {} }
    if (id === undefined) return { ok: true, message: { kind: 'notification', ...named }, text }
    if (readId === null) return refusal(null, INVALID_REQUEST, 'id is neither a string nor a whole number')
    return { ok: true, message: { kind: 'request', id: readId, ...named }, text }
  }
  if (isObject(result) && error === undefined) {
    return { ok: true, message: { kind: 'response', id: readId, result, error: null }, text }
  }
  if (isObject(error) && result === undefined) {
    return { ok: true, message: { kind: 'response', id: readId, result: null, error }, text }
  }
  return refusal(readId, INVALID_REQUEST, 'a message has a method, a result or an error')
}

const refusal = (id: MessageId | null, code: number, problem: string): Reading => ({ ok: false, id, code, problem })

function idIn(value: JsonValue): MessageId | null {
  const id = isObject(value) ? value.id : undefined
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null
}

function parsedOrUndefined(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A key for maps: the ids 1 and "1" are two. */
export const idKey = (id: MessageId): string => `${typeof id} ${id}`

export function writeMessage(message: Message): string {
  const { kind: _, ...members } = message
  const written: Record<string, unknown> = { jsonrpc: '2.0', ...members }
  if (message.kind === 'response') delete written[message.error === null ? 'error' : 'result']
  return JSON.stringify(written)
}

export const resultFor = (id: MessageId, result: JsonObject): RpcResponse => ({
  kind: 'response',
  id,
  result,
  error: null,
})

export const errorFor = (id: MessageId | null, code: number, message: string): RpcResponse => ({
  kind: 'response',
  id,
  result: null,
  error: { code, message },
})
