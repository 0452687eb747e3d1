import { ERRORS, type Problem } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { type DatabaseTrouble, databaseTrouble } from '../postgres/database-error.js'

/** What goes to a client. */
export interface Reply {
  readonly status: number
  readonly body: string | Buffer
  readonly headers: Readonly<Record<string, string>>
  /** Whose it is; without one, the caller's address. */
  readonly owner?: string | undefined
}

const RETRY_AFTER_SECONDS = '1'

const BY_TROUBLE: Readonly<Record<DatabaseTrouble, () => ApiError>> = {
  unavailable: () => new ApiError('UNAVAILABLE', {}, { 'retry-after': RETRY_AFTER_SECONDS }),
  busy: () => new ApiError('BUSY', {}, { 'retry-after': RETRY_AFTER_SECONDS }),
  invalid_data: () => new ApiError('INVALID_REQUEST', { detail: 'a value cannot be stored' }),
}

/** What a caller learns of anything that was thrown. Nothing of an unexpected error gets out. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const trouble = databaseTrouble(error)
  return trouble === null ? new ApiError('INTERNAL') : BY_TROUBLE[trouble]()
}

/** Problem details (RFC 9457). The request id is in a header only, so that equal failures have equal bodies. */
export function errorReply(error: ApiError): Reply {
  const { status, title } = ERRORS[error.code]
  const problem: Problem = {
    type: `urn:countersign:problem:${error.code}`,
    title,
    status,
    code: error.code,
    ...error.extras,
  }
  return {
    status,
    body: JSON.stringify(problem),
    headers: { ...error.headers, 'content-type': 'application/problem+json' },
  }
}
