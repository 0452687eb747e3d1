import { ERRORS, type ErrorCode, type Problem } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { type DatabaseTrouble, databaseTrouble } from '../postgres/database-error.js'

const RETRY_AFTER = { 'retry-after': '1' }

const BY_TROUBLE: Readonly<Record<DatabaseTrouble, () => ApiError>> = {
  unavailable: () => new ApiError('UNAVAILABLE', {}, RETRY_AFTER),
  busy: () => new ApiError('BUSY', {}, RETRY_AFTER),
  invalid_data: () => new ApiError('INVALID_REQUEST', { detail: 'a value cannot be stored' }),
}

/** What Fastify refuses by itself. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  408: 'REQUEST_TIMEOUT',
  413: 'BODY_TOO_LARGE',
  414: 'INVALID_REQUEST',
  415: 'UNSUPPORTED_MEDIA_TYPE',
}

/** What a caller learns of anything that was thrown. Nothing of an unexpected error gets out. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const trouble = databaseTrouble(error)
  if (trouble !== null) return BY_TROUBLE[trouble]()
  const { code, statusCode = 500 } = error as { code?: unknown; statusCode?: number }
  const known = String(code).startsWith('FST_ERR_') ? BY_STATUS[statusCode] : undefined
  if (known === undefined) return new ApiError('INTERNAL')
  return new ApiError(known, known === 'INVALID_REQUEST' ? { detail: 'the request cannot be read' } : {}, CLOSE)
}

const CLOSE = { connection: 'close' }

/** Problem details (RFC 9457). The request id is in a header only, so that equal failures have equal bodies. */
export function problemOf({ code, extras }: ApiError): Problem {
  const { status, title } = ERRORS[code]
  return { type: `urn:countersign:problem:${code}`, title, status, code, ...extras }
}
