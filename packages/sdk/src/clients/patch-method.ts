import { memberAt } from './clients.js'
import { notePatched } from './wrapped-clients.js'

export type Method = (...args: unknown[]) => unknown

/**
 * Puts a method in the place of one that a client has, in place and unseen by enumeration. Returns what takes it away
 * again; null where the client has no such method.
 */
export function patchMethod(
  client: object,
  path: string,
  around: (original: Method, owner: object) => Method,
): (() => void) | null {
  const member = memberAt(client, path)
  if (typeof member?.value !== 'function') return null
  const { owner } = member
  const original = member.value as Method
  const name = path.split('.').at(-1) ?? ''
  const own = Object.getOwnPropertyDescriptor(owner, name)
  const patched = around(original, owner)
  notePatched(patched, original)
  Object.defineProperty(owner, name, { value: patched, configurable: true, enumerable: false, writable: true })
  return () => {
    // Another patch may lie over this one; it stays.
    if (Reflect.get(owner, name) !== patched) return
    if (own === undefined) Reflect.deleteProperty(owner, name)
    else Object.defineProperty(owner, name, own)
  }
}
