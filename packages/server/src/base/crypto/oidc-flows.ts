import { hkdfSync } from 'node:crypto'
import { EncryptJWT, jwtDecrypt } from 'jose'

/** What a sign-in at a provider must bring back. It waits in a cookie that only this service can read. */
export interface OidcFlow {
  readonly provider: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Where the person goes on. */
  readonly next: string
  /** The sign-in of a member who adds the provider to their account. */
  readonly linking: string | null
}

export interface OidcFlows {
  seal(flow: OidcFlow, now: Date): Promise<string>
  /** Null when it is not ours, or older than ten minutes. */
  open(sealed: string, now: Date): Promise<OidcFlow | null>
}

export const FLOW_SECONDS = 600

export function createOidcFlows(secrets: readonly string[]): OidcFlows {
  const keys = secrets.map((secret) => new Uint8Array(hkdfSync('sha256', secret, '', 'countersign sign-in flow', 32)))
  const [current] = keys
  if (current === undefined) throw new Error('at least one signing key is needed')
  return {
    seal: (flow, now) => {
      const seconds = Math.floor(now.getTime() / 1_000)
      return new EncryptJWT({ ...flow })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(seconds + FLOW_SECONDS)
        .encrypt(current)
    },
    open: async (sealed, now) => {
      for (const key of keys) {
        const opened = await jwtDecrypt<OidcFlow>(sealed, key, { currentDate: now, requiredClaims: ['exp'] }).catch(
          () => null,
        )
        if (opened !== null) return opened.payload
      }
      return null
    },
  }
}
