import { ERRORS, type ErrorCode, type JsonValue } from '@countersign/protocol'

/** Further members of the problem details: what the client needs to go on. */
export type ProblemExtras = Readonly<Record<string, JsonValue | undefined>>

/** A reply that is an error. Thrown by any operation; the frame turns it into problem details. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly extras: ProblemExtras
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, extras: ProblemExtras = {}, headers: Readonly<Record<string, string>> = {}) {
    super(ERRORS[code].title)
    this.code = code
    this.extras = extras
    this.headers = headers
  }

  get status(): number {
    return ERRORS[this.code].status
  }
}

/** One reply for every failure of authentication, so that nothing can be learned from it. */
export const unauthenticated = () => new ApiError('UNAUTHENTICATED', {}, { 'www-authenticate': 'Bearer' })
