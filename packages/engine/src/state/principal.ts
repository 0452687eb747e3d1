import type { JsonObject, JsonValue } from '@countersign/protocol'

/** Who a session acts for as a token of a listed issuer says it. Only the service writes `proven`. */
export interface ProvenPrincipal {
  /** The subject of the token. */
  readonly id: string
  readonly issuer: string
  readonly groups: readonly string[]
  /** Who acts for the subject, as RFC 8693 has it. */
  readonly act?: JsonObject
  readonly proven: true
}

export const isProven = (principal: JsonValue | undefined): boolean =>
  isRecord(principal) && principal.proven === true && typeof principal.issuer === 'string'

/** Who the principal is, whatever else a token says. What a program told is all that is known of them. */
export function identityOf(principal: JsonValue | undefined): JsonValue | undefined {
  if (!isRecord(principal) || !isProven(principal)) return principal
  const { id = null, issuer = null } = principal
  return { id, issuer, proven: true }
}

/** A principal as a program may give it has no member `proven`. */
export const claimsProof = (principal: JsonValue | undefined): boolean =>
  isRecord(principal) && Object.hasOwn(principal, 'proven')

/** As a program told it: what it says of a proof is none. Earlier versions let it say so. */
export function toldPrincipal(principal: JsonValue): JsonValue {
  if (!isRecord(principal) || !claimsProof(principal)) return principal
  const { proven: _, ...told } = principal
  return told
}

/** Why a program's principal is refused. */
export const PROOF_IS_RESERVED = 'may not have the member `proven`: only a principal token proves a principal'

const isRecord = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
