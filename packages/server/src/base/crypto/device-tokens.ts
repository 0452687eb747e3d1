import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from './secrets.js'

/**
 * What a browser keeps after a sign-in, so that it is known when the same person signs in again. It opens nothing: its
 * holder's tries are counted by themselves, so that those of strangers do not lock them out (docs/security/threat-model.md).
 */
export interface DeviceTokens {
  /** For a browser that has proven whose account it is. */
  issue(emailKey: string): string
  /** The browser's id. Null unless the token was issued for this account. */
  read(token: string, emailKey: string): string | null
}

/** Signs with the first key and reads with all of them, as access tokens do. */
export function createDeviceTokens(secrets: readonly string[], random: Random): DeviceTokens {
  const [current] = secrets
  if (current === undefined) throw new Error('at least one signing key is needed')
  return {
    issue: (emailKey) => {
      const id = random(16).toString('base64url')
      return `${id}.${sign(current, id, emailKey).toString('base64url')}`
    },
    read: (token, emailKey) => {
      const [, id, signature] = FORM.exec(token) ?? []
      if (id === undefined || signature === undefined) return null
      const given = Buffer.from(signature, 'base64url')
      return secrets.some((secret) => timingSafeEqual(sign(secret, id, emailKey), given)) ? id : null
    },
  }
}

const FORM = /^([\w-]{22})\.([\w-]{43})$/

const sign = (secret: string, id: string, emailKey: string): Buffer =>
  createHmac('sha256', secret).update(`countersign device\n${id}\n${emailKey}`).digest()
