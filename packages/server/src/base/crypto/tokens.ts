import { createHash } from 'node:crypto'
import { LIMITS } from '@countersign/protocol'
import { errors, jwtVerify, SignJWT } from 'jose'

export interface AccessClaims {
  readonly userId: string
  readonly tenantId: string
  /** The refresh token this access token was issued under: revoking that one ends both. */
  readonly refreshId: string
}

export interface AccessTokens {
  issue(claims: AccessClaims, now: Date): Promise<string>
  /** `expired` only when everything but the time is right. */
  read(token: string, now: Date): Promise<AccessClaims | 'expired' | null>
}

const ALGORITHM = 'HS256'
const ISSUER = 'countersign'
const AUDIENCE = 'countersign-dashboard'
const TYPE = 'access+jwt'
const MIN_SECRET_BYTES = 32

/** Signs with the first key and reads with all of them, so that keys can be rotated without signing anyone out. */
export function createAccessTokens(secrets: readonly string[]): AccessTokens {
  const keys = secrets.map((secret) => {
    const bytes = Buffer.from(secret, 'utf8')
    if (bytes.length < MIN_SECRET_BYTES) throw new Error(`a signing key has at least ${MIN_SECRET_BYTES} characters`)
    return { id: createHash('sha256').update('key id').update(bytes).digest('hex').slice(0, 16), bytes }
  })
  const [current] = keys
  if (current === undefined) throw new Error('at least one signing key is needed')
  return {
    issue: ({ userId, tenantId, refreshId }, now) => {
      const seconds = Math.floor(now.getTime() / 1000)
      return new SignJWT({ tenant: tenantId, refresh: refreshId })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: current.id })
        .setSubject(userId)
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + LIMITS.accessTokenMinutes * 60)
        .sign(current.bytes)
    },
    async read(token, now) {
      try {
        const { payload } = await jwtVerify(
          token,
          (header) => {
            const key = keys.find(({ id }) => id === header.kid)
            if (key === undefined) throw new errors.JWSSignatureVerificationFailed()
            return key.bytes
          },
          {
            algorithms: [ALGORITHM],
            issuer: ISSUER,
            audience: AUDIENCE,
            typ: TYPE,
            currentDate: now,
            requiredClaims: ['exp', 'sub'],
          },
        )
        const { sub, tenant, refresh } = payload
        if (typeof sub !== 'string' || typeof tenant !== 'string' || typeof refresh !== 'string') return null
        return { userId: sub, tenantId: tenant, refreshId: refresh }
      } catch (error) {
        return error instanceof errors.JWTExpired ? 'expired' : null
      }
    },
  }
}
