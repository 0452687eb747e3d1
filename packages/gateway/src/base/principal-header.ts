import { createHash } from 'node:crypto'
import { LIMITS } from '@countersign/protocol'
import { GatewayProblem } from './problems.js'

/** A token that proves for whom the session of a request acts. It goes to the service, and to no upstream. */
export const PRINCIPAL_TOKEN_HEADER = 'x-countersign-principal-token'

/** Null where a request brings none. */
export function principalToken(headers: Headers): string | null {
  const token = headers.get(PRINCIPAL_TOKEN_HEADER)
  if (token === null || (token !== '' && token.length <= LIMITS.principalTokenLength)) return token
  throw new GatewayProblem(
    'principal_invalid',
    `the header ${PRINCIPAL_TOKEN_HEADER} must be a JWT of at most ${LIMITS.principalTokenLength} characters`,
  )
}

/** The token that counts from now on in a session. Throws where it is for another principal than the one before. */
export function sameOrFirst(before: string | null, token: string): string {
  if (before === null || namedBy(before) === namedBy(token)) return token
  throw principalDiffers()
}

export const principalDiffers = () =>
  new GatewayProblem(
    'principal_differs',
    'the session of this request was opened for another principal, or without a token: begin a new conversation, without ids ' +
      'of the other one and with another x-countersign-session',
  )

/**
 * For whom a token is, as far as it says so: only the service can check it. Two tokens of one person are alike in it.
 * A token that cannot be read is like no other.
 */
export function namedBy(token: string): string {
  try {
    const { iss, sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    if (typeof iss === 'string' && typeof sub === 'string') return hashOf(JSON.stringify([iss, sub]))
  } catch {
    // The service says what is wrong with it.
  }
  return hashOf(token)
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
