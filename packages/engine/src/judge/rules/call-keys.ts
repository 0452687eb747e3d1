import { type JsonObject, type JsonValue, LIMITS } from '@countersign/protocol'
import type { PreparedContract, SlotUse } from '../../contract/plan.js'
import { sha256Hex } from '../../json/hash.js'
import type { CompiledPath } from '../../json/json-path.js'
import { slotOf } from '../../state/kept-values.js'
import { holdsUnseen } from '../../text/folded-text.js'

/** The keys of a call: for which order, customer or account its rules are kept. */
export interface CallKeys {
  /** By the path of the key: its value as a short salted hash, so that no content is stored. */
  readonly hashes: Readonly<Record<string, string>>
  /** Where each of the contract's keyed names stands; null if its key cannot be used. */
  readonly slots: readonly (string | null)[]
  readonly unusable: readonly { readonly path: CompiledPath; readonly found: JsonValue | undefined }[]
}

export const NO_KEYS: CallKeys = { hashes: {}, slots: [], unusable: [] }

export function keysOf(
  { keys, slots }: Pick<PreparedContract, 'keys' | 'slots'>,
  args: JsonObject,
  salt: string,
): CallKeys {
  if (keys.length === 0) return NO_KEYS
  const hashes: Record<string, string> = {}
  const unusable: CallKeys['unusable'][number][] = []
  for (const path of keys) {
    const found = path.first(args)
    const text = argumentKey(found)
    if (text === null) unusable.push({ path, found })
    else hashes[path.expression] = hashOfKey(salt, text)
  }
  const standing = slots.map(({ name, key }) => {
    const hash = hashes[key.expression]
    return hash === undefined ? null : slotOf(name, hash)
  })
  return { hashes, slots: standing, unusable }
}

function hashOfKey(salt: string, text: string): string {
  return sha256Hex(`${salt.length}:${salt}:${text}`).slice(0, HASH_LENGTH)
}

/** Where a value stands that is kept under a name for the key that an argument gives. Null: it can be no key. */
export function slotOfKey(name: string, key: JsonValue | undefined, salt: string): string | null {
  const text = argumentKey(key)
  return text === null ? null : slotOf(name, hashOfKey(salt, text))
}

/** 128 bits: two keys of one session never share a hash. */
const HASH_LENGTH = 32

/**
 * The key that an argument gives. Null: it can be none. A character that cannot be seen would count apart what a tool takes
 * for the same.
 */
export function argumentKey(value: JsonValue | undefined): string | null {
  const text = keyText(value)
  return text === null || holdsUnseen(text) ? null : text
}

/** The number 12 and the text "12" name the same order. */
export function keyText(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' && value.length <= LIMITS.keyLength ? value : null
}

/** Where a rule's value stands: under its name, or under its name and its key. Null: the key cannot be used. */
export function slotFor(keys: CallKeys, { name, slot }: SlotUse): string | null {
  return slot === -1 ? name : (keys.slots[slot] ?? null)
}
