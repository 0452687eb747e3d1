import { hash, randomBytes } from 'node:crypto'
import { KEY_PREFIX } from '@countersign/protocol'

/** Cryptographically secure bytes. Handed in, so that a test can repeat what happened. */
export type Random = (bytes: number) => Buffer

const DRAWN_AT_ONCE = 4_096

/** Asks the operating system for many bytes at once: most are asked for sixteen at a time. None is given twice. */
export function secureRandom(): Random {
  let drawn = Buffer.alloc(0)
  let given = 0
  return (bytes) => {
    if (bytes > DRAWN_AT_ONCE) return randomBytes(bytes)
    if (drawn.length - given < bytes) {
      drawn = randomBytes(DRAWN_AT_ONCE)
      given = 0
    }
    given += bytes
    return drawn.subarray(given - bytes, given)
  }
}

/** Of a key or a token only this is stored. They are so random that no salt is needed. */
export const sha256 = (secret: string): Buffer => hash('sha256', secret, 'buffer')

export interface NewApiKey {
  /** Shown once and stored nowhere. */
  raw: string
  hash: Buffer
  /** What a person sees of it later. */
  prefix: string
}

/** 192 bits: 24 bytes are exactly 32 base64url characters. */
export function makeApiKey(random: Random): NewApiKey {
  const raw = `${KEY_PREFIX}_${random(24).toString('base64url')}`
  return { raw, hash: sha256(raw), prefix: raw.slice(0, KEY_PREFIX.length + 5) }
}

/** 32 random bytes for a refresh, reset or verification token. */
export function makeToken(random: Random): { raw: string; hash: Buffer } {
  const raw = random(32).toString('base64url')
  return { raw, hash: sha256(raw) }
}

/** People read it aloud: no letters that look alike. 60 bits, unique within the tenant by its key. */
export const makeQuestionId = (random: Random): string =>
  `Q-${[...random(12)].map((byte) => CROCKFORD[byte % 32]).join('')}`

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An id that the server makes: a short word for its kind and 128 bits. */
export const makeId = (random: Random, kind: string): string => `${kind}_${random(16).toString('base64url')}`
