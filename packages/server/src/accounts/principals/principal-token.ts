import type { ProvenPrincipal } from '@countersign/engine'
import { issuerBody, type JsonObject, LIMITS } from '@countersign/protocol'
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { ApiError } from '../../base/api-error.js'
import { sha256 } from '../../base/crypto/secrets.js'
import { UnreachableAddress } from '../../base/outbound/checked-request.js'
import type { Context } from '../../context/context.js'
import { inFind } from '../../context/work.js'
import { findIssuer, type IssuerRow } from '../../store/accounts/issuers.js'
import type { UsedToken } from '../../store/sessions/used-tokens.js'

/** What a token proves, and what must be written so that it proves it for one session. */
export interface Proof {
  readonly principal: ProvenPrincipal
  readonly token: UsedToken
}

/** Checks a principal token. 401 says which check failed; 503 that the keys of its issuer cannot be read. */
export async function provePrincipal(ctx: Context, token: string): Promise<Proof> {
  const issuer = await issuerOf(ctx, token)
  const claims = await verify(ctx, token, issuer)
  const expires = requireShortLife(claims, ctx.app.clock())
  const jti = textClaim(claims, 'jti')
  const principal = principalOf(claims, issuer)
  return {
    principal,
    token: {
      issuer: issuer.issuer,
      jtiHash: sha256(jti).toString('hex'),
      expiresAt: new Date((expires + LIMITS.principalClockSkewSeconds) * 1_000),
    },
  }
}

export const tokenRefused = (detail: string) => new ApiError('PRINCIPAL_TOKEN_INVALID', { detail })

/** By what the token says before anything of it is believed. */
async function issuerOf(ctx: Context, token: string): Promise<IssuerRow> {
  const named = claimsOf(token).iss
  const issuer =
    typeof named === 'string' && issuerBody.shape.issuer.safeParse(named).success
      ? await inFind(ctx, (sql) => findIssuer(sql, ctx.tenant.tenantId, named))
      : null
  if (issuer === null) throw tokenRefused('its issuer (iss) is not listed for this tenant')
  return issuer
}

function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    throw tokenRefused('it is not a signed JWT')
  }
}

async function verify({ app }: Context, token: string, { issuer, jwksUri, ...row }: IssuerRow): Promise<JWTPayload> {
  const check = async (keys: JWTVerifyGetKey): Promise<JWTPayload> => {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: row.audience,
      algorithms: [...row.algorithms],
      clockTolerance: LIMITS.principalClockSkewSeconds,
      currentDate: app.clock(),
      requiredClaims: ['sub', 'iat', 'exp', 'jti'],
    })
    return payload
  }
  try {
    const keys = await app.issuerKeys.at(jwksUri)
    return await check(keys).catch(async (error: unknown) => {
      // The issuer may have a new key.
      if (error instanceof errors.JWKSNoMatchingKey) return check(await app.issuerKeys.renewed(jwksUri))
      throw error
    })
  } catch (error) {
    if (error instanceof UnreachableAddress) throw unreadable(error)
    if (error instanceof errors.JOSEError) throw tokenRefused(whyRefused(error))
    throw error
  }
}

const unreadable = ({ message }: UnreachableAddress) =>
  new ApiError('ISSUER_UNAVAILABLE', { detail: `the keys of the issuer cannot be read: ${message}` }, RETRY_AFTER)

const RETRY_AFTER = { 'retry-after': '1' }

function whyRefused(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired (exp)'
  if (error instanceof errors.JWTClaimValidationFailed)
    return WRONG_CLAIM[error.claim] ?? `its claim ${error.claim} is wrong`
  return WRONG[error.code] ?? 'it is not a valid JWT'
}

const WRONG_CLAIM: Readonly<Record<string, string>> = {
  aud: 'its audience (aud) is not the one that is listed for its issuer',
  nbf: 'it is not valid yet (nbf)',
  jti: 'it has no id (jti)',
  sub: 'it has no subject (sub)',
  exp: 'it has no end (exp)',
  iat: 'it does not say when it was issued (iat)',
}

const WRONG: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'its algorithm (alg) is not one of those that are listed for its issuer',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is wrong',
  ERR_JWKS_NO_MATCHING_KEY: 'its issuer has no such key (kid)',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'it names no key (kid), and its issuer has several',
}

/** When it expires, in seconds. A longer life would leave what it says unchecked for as long. */
function requireShortLife({ iat = 0, exp = 0 }: JWTPayload, now: Date): number {
  if (iat > now.getTime() / 1_000 + LIMITS.principalClockSkewSeconds) throw tokenRefused('it was issued later (iat)')
  if (exp - iat > LIMITS.principalTokenMinutes * 60) {
    throw tokenRefused(`it lives longer than ${LIMITS.principalTokenMinutes} minutes (exp - iat)`)
  }
  return exp
}

function principalOf(claims: JWTPayload, { issuer, groupsClaim }: IssuerRow): ProvenPrincipal {
  const act = actorOf(claims.act, 0)
  const principal = {
    id: textClaim(claims, 'sub'),
    issuer,
    groups: groupsOf(claims, groupsClaim),
    ...(act !== null && { act }),
    proven: true as const,
  }
  if (Buffer.byteLength(JSON.stringify(principal)) > LIMITS.principalBytes) {
    throw tokenRefused(`its subject, groups and actor are larger than ${LIMITS.principalBytes} bytes`)
  }
  return principal
}

function textClaim(claims: JWTPayload, name: string): string {
  const value = claims[name]
  if (!isText(value)) throw tokenRefused(`its claim ${name} is no usable text`)
  return value
}

function groupsOf(claims: JWTPayload, name: string): string[] {
  const groups = [claims[name] ?? []].flat()
  if (!groups.every(isText)) throw tokenRefused(`its groups (${name}) are not texts`)
  return [...new Set(groups)]
}

/** Only who acts, and for whom in turn: RFC 8693 allows anything beside it. */
function actorOf(act: unknown, depth: number): JsonObject | null {
  if (act === undefined) return null
  const { sub, iss, act: before } = Object(act) as Record<string, unknown>
  if (!isText(sub) || !(iss === undefined || isText(iss)) || depth === MOST_ACTORS) {
    throw tokenRefused('its actor (act) has no subject')
  }
  const earlier = actorOf(before, depth + 1)
  return { id: sub, ...(iss !== undefined && { issuer: iss }), ...(earlier !== null && { act: earlier }) }
}

const MOST_ACTORS = 8

const isText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= LIMITS.keyLength &&
  !value.includes('\0') &&
  value.isWellFormed()
