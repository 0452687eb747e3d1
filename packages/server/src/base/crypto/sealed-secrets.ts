import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { Random } from './secrets.js'

/**
 * Secrets that are needed in clear later, encrypted as they are stored. `place` says where one stands: it opens nowhere else.
 */
export interface SealedSecrets {
  seal(secret: string, place: string): string
  /** Null when it was sealed for another place, was changed, or its key is no signing key any more. */
  open(sealed: string, place: string): string | null
  /** What those begin with that are sealed under another key than the first. */
  readonly former: readonly string[]
}

/** Seals with the first key and opens with all of them, as access tokens do. AES-256-GCM. */
export function createSealedSecrets(secrets: readonly string[], random: Random): SealedSecrets {
  const derive = (secret: string, what: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', what, bytes))
  const keys = secrets.map((secret) => ({
    name: derive(secret, 'countersign stored secrets: name', 6).toString('base64url'),
    bytes: derive(secret, 'countersign stored secrets', 32),
  }))
  const [current] = keys
  if (current === undefined) throw new Error('at least one signing key is needed')
  return {
    former: keys.slice(1).map(({ name }) => `${name}.`),
    seal: (secret, place) => {
      const iv = random(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current.bytes, iv).setAAD(Buffer.from(place))
      const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${current.name}.${sealed.toString('base64url')}`
    },
    open: (sealed, place) => {
      const [name, text = ''] = sealed.split('.')
      const key = keys.find((one) => one.name === name)
      const bytes = Buffer.from(text, 'base64url')
      if (key === undefined || bytes.length < IV_BYTES + TAG_BYTES) return null
      const end = bytes.length - TAG_BYTES
      const options = { authTagLength: TAG_BYTES }
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, IV_BYTES), options)
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(end))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, end)), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}

const IV_BYTES = 12
const TAG_BYTES = 16
