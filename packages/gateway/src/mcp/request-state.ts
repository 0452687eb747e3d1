import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { canonicalJson } from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'
import { isObject } from '../base/is-object.js'

/** Which call a host was asked to have approved. It travels through the host, which can neither read nor change it. */
export interface AskedCall {
  readonly session: string
  readonly question: string
  readonly tool: string
  readonly arguments: JsonObject
}

export interface RequestStates {
  seal(call: AskedCall, expiresMs: number): string
  /** Null for a state that is not the gateway's own, such as that of the server behind it. */
  read(state: unknown): ReadState | null
}

export type ReadState =
  | { readonly ok: true; isOf(call: Omit<AskedCall, 'question'>): boolean }
  /** It was not made by a gateway of the tenant, or is too old. */
  | { readonly ok: false }

const PREFIX = 'countersign.1.'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** All gateways with one API key read each other's states: the key is that of a tenant. */
export function createRequestStates(apiKey: string, nowMs: () => number = Date.now): RequestStates {
  const key = Buffer.from(hkdfSync('sha256', apiKey, '', 'countersign gateway request state', 32))
  return {
    seal({ question, ...call }, expiresMs) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const text = JSON.stringify({ question, call: digestOf(call), expires: expiresMs })
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${PREFIX}${sealed.toString('base64url')}`
    },
    read(state) {
      if (typeof state !== 'string' || !state.startsWith(PREFIX)) return null
      const opened = open(key, Buffer.from(state.slice(PREFIX.length), 'base64url'))
      if (opened === null || typeof opened.expires !== 'number' || opened.expires < nowMs()) return { ok: false }
      return { ok: true, isOf: (call) => digestOf(call) === opened.call }
    },
  }
}

function open(key: Buffer, sealed: Buffer): JsonObject | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    const value: unknown = JSON.parse(text.toString('utf8'))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const digestOf = ({ session, tool, arguments: args }: Omit<AskedCall, 'question'>): string =>
  createHash('sha256')
    .update(canonicalJson([session, tool, args]))
    .digest('base64url')
