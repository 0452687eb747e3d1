import { z } from 'zod'

/** Every error the service answers with. `code` is stable; `title` is for people. A block is not an error. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, title: 'the request does not have the expected shape' },
  INVALID_TOKEN: { status: 400, title: 'the token is unknown, used or expired' },
  PLAN_INVALID: { status: 400, title: 'the compiled session is not a valid plan' },
  PLAN_HASH_MISMATCH: { status: 400, title: 'compiled_hash is not the hash of compiled_session' },
  UNAUTHENTICATED: { status: 401, title: 'a valid credential is required' },
  EMAIL_NOT_VERIFIED: { status: 403, title: 'the account has not verified its e-mail address' },
  FORBIDDEN_ORIGIN: { status: 403, title: 'the request comes from another site' },
  NOT_FOUND: { status: 404, title: 'there is nothing here by that name' },
  PLAN_UNKNOWN: { status: 404, title: 'the plan with this hash has not been uploaded yet' },
  WORKFLOWS_DISABLED: { status: 404, title: 'workflow governance is not enabled on this service' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'this path does not take this method' },
  REQUEST_TIMEOUT: { status: 408, title: 'the body did not arrive in time' },
  SESSION_EXISTS: { status: 409, title: 'a session with this id was created with another body' },
  SESSION_HELD: { status: 409, title: 'another holder has this session; recover takes it over' },
  SESSION_KILLED: { status: 409, title: 'the session was killed' },
  SESSION_COMPROMISED: { status: 409, title: 'the session is compromised and takes no more authoritative writes' },
  SESSION_RECOVERING: { status: 409, title: 'calls of this session are in doubt and need an outcome first' },
  NOT_RECOVERABLE: { status: 409, title: 'the session cannot be recovered' },
  LEASE_ACTIVE: { status: 409, title: 'the holder of this session still has its lease' },
  PLAN_PINNED: { status: 409, title: 'an approved plan governs this agent and environment' },
  STATE_STALE: { status: 409, title: 'the session has moved on since the client last saw it' },
  FENCE_STALE: { status: 409, title: 'the session was recovered by another holder' },
  PENDING_CALLS: { status: 409, title: 'allowed calls of this session have no receipt yet' },
  PREPARED_REQUEST_STALE: { status: 409, title: 'the session changed since preflight' },
  PREPARED_REQUEST_CONSUMED: { status: 409, title: 'the prepared request was used already' },
  PREPARED_REQUEST_EXPIRED: { status: 409, title: 'the prepared request is too old' },
  PREPARED_REQUEST_EXISTS: { status: 409, title: 'the prepared request id was used for another request' },
  RECEIPT_CONFLICT: { status: 409, title: 'another receipt was recorded for this call' },
  ARGUMENTS_CHANGED: { status: 409, title: 'a tool ran with arguments that were not allowed' },
  LABEL_LIMIT: { status: 409, title: 'the session has as many labels as it may have' },
  KEY_LIMIT: { status: 409, title: 'the tenant has as many active keys as it may have' },
  EMAIL_TAKEN: { status: 409, title: 'an account with this e-mail address exists' },
  PLAN_BLOCKED: { status: 409, title: 'the draft has blockers and cannot be approved' },
  PLAN_DECIDED: { status: 409, title: 'the plan was decided already' },
  HANDOFF_STATE: { status: 409, title: 'the handoff is not in a state that allows this' },
  WORKFLOW_KILLED: { status: 409, title: 'the workflow was killed' },
  WORKFLOW_EXISTS: { status: 409, title: 'a workflow with this id was opened with another definition' },
  BODY_TOO_LARGE: { status: 413, title: 'the body is larger than this path takes' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'the body must be application/json' },
  RATE_LIMITED: { status: 429, title: 'too many requests; wait as Retry-After says' },
  RUN_BUDGET_EXCEEDED: { status: 429, title: 'the run budget of the last 30 days is used up' },
  INTERNAL: { status: 500, title: 'something went wrong on our side' },
  UNAVAILABLE: { status: 503, title: 'the store cannot be reached; nothing was decided' },
  BUSY: { status: 503, title: 'too much is waiting for the same thing; try again' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERRORS

/** RFC 9457 problem details. Further members carry what the client needs to go on. */
export const problemSchema = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  detail: z.string().optional(),
})
export type Problem = z.infer<typeof problemSchema>
