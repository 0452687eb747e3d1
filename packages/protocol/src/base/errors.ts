interface ErrorEntry {
  readonly status: number
  /** What is wrong, for people. */
  readonly title: string
  /** What to do about it, as an order: it follows "To fix this, ". */
  readonly fix: string
}

const NEW_SESSION = 'start a new session'
const NOT_YOURS =
  'use another session id; if the program that holds this session has ended, wait two minutes or set takeover: true'
const PREFLIGHT_AGAIN = 'run preflight again and send the new prepared request'

/** Every error the service answers with. `code` is stable; title and fix are for people. A block is not an error. */
export const ERRORS = {
  INVALID_REQUEST: {
    status: 400,
    title: 'the request is not valid',
    fix: 'correct what the detail names; the API reference shows every field',
  },
  INVALID_TOKEN: { status: 400, title: 'the token is unknown, used or expired', fix: 'request a new link' },
  PLAN_INVALID: {
    status: 400,
    title: 'the compiled session is not a valid plan',
    fix: 'correct the problems it lists and compile the contracts again',
  },
  PLAN_HASH_MISMATCH: {
    status: 400,
    title: 'compiled_hash is not the hash of compiled_session',
    fix: 'compile the contracts again and send both values unchanged',
  },
  UNAUTHENTICATED: {
    status: 401,
    title: 'a valid API key or sign-in is required',
    fix: 'check the API key (apiKey, --key or COUNTERSIGN_API_KEY): it is mistyped, revoked or from another server; in the dashboard, sign in',
  },
  PRINCIPAL_TOKEN_INVALID: {
    status: 401,
    title: 'the principal token does not prove who the session acts for',
    fix: 'fetch a new token for every session; the detail says which check failed, and `countersign issuer list` what is expected',
  },
  EMAIL_NOT_VERIFIED: {
    status: 403,
    title: 'the email address of this account is not verified',
    fix: 'open the link in the verification email; the dashboard can send it again',
  },
  ROLE_NEEDED: {
    status: 403,
    title: 'your role does not allow this',
    fix: 'ask an owner of your organisation; the detail says which role it takes',
  },
  NOT_ELIGIBLE: {
    status: 403,
    title: 'you cannot answer this question',
    fix: 'leave it to the people whom it asks; the detail says who they are and why you are not one of them',
  },
  KEY_SCOPE: {
    status: 403,
    title: 'this API key may not be used for this',
    fix: 'use a key whose access, agent and environment allow it; the detail says what this one is for',
  },
  SIGNUP_CLOSED: {
    status: 403,
    title: 'accounts cannot be created here without an invitation',
    fix: 'ask an owner of your organisation for an invitation',
  },
  PASSWORDS_OFF: {
    status: 403,
    title: 'passwords are switched off on this server',
    fix: "sign in with your company's provider",
  },
  FORBIDDEN_ORIGIN: {
    status: 403,
    title: 'the request comes from another site',
    fix: 'open the dashboard at its public address (COUNTERSIGN_PUBLIC_URL)',
  },
  NOT_FOUND: {
    status: 404,
    title: 'nothing was found under this name',
    fix: 'check the id and the server address (COUNTERSIGN_API_URL); it may also belong to another tenant',
  },
  PLAN_UNKNOWN: {
    status: 404,
    title: 'the plan with this hash has not been uploaded yet',
    fix: 'send compiled_session along with its hash',
  },
  WORKFLOWS_DISABLED: {
    status: 404,
    title: 'workflows are disabled on this server',
    fix: 'enable them on the server (COUNTERSIGN_WORKFLOWS)',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'this path does not accept this method',
    fix: 'use a method that the Allow header lists',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    title: 'the request body did not arrive in time',
    fix: 'send the request again; if this repeats, check the network',
  },
  SESSION_EXISTS: {
    status: 409,
    title: 'a session with this id was created with a different body',
    fix: 'use another session id',
  },
  SESSION_HELD: { status: 409, title: 'another holder has this session', fix: NOT_YOURS },
  SESSION_KILLED: { status: 409, title: 'the session was killed', fix: NEW_SESSION },
  SESSION_COMPROMISED: {
    status: 409,
    title: 'the session is compromised and accepts no more writes',
    fix: 'find the cause in the timeline of the session, then start a new one',
  },
  SESSION_ENDED: {
    status: 409,
    title: 'the session was ended by its program',
    fix: 'start a new session, or recover this one to continue it',
  },
  SESSION_RECOVERING: {
    status: 409,
    title: 'calls of this session are in doubt and need an outcome first',
    fix: 'report the outcome of the pending calls it lists',
  },
  NOT_RECOVERABLE: { status: 409, title: 'the session cannot be recovered', fix: NEW_SESSION },
  LEASE_ACTIVE: { status: 409, title: 'the holder of this session still has its lease', fix: NOT_YOURS },
  PLAN_PINNED: {
    status: 409,
    title: 'an approved plan governs this agent and environment',
    fix: 'use the approved plan, or submit these contracts as a draft and have it approved',
  },
  PRINCIPAL_NOT_PROVEN: {
    status: 409,
    title: 'the plan wants a proven principal',
    fix: 'send principal_token: a token of an issuer that is listed for the tenant',
  },
  STATE_STALE: {
    status: 409,
    title: 'the session has changed since the client last read it',
    fix: 'read the session again and repeat the request',
  },
  FENCE_STALE: {
    status: 409,
    title: 'another holder has taken over this session',
    fix: 'stop using the session here and start a new one',
  },
  PENDING_CALLS: {
    status: 409,
    title: 'allowed calls of this session have no receipt yet',
    fix: 'report the outcome of the pending calls it lists',
  },
  PREPARED_REQUEST_STALE: {
    status: 409,
    title: 'the session changed since preflight, or a newer prepared request replaced it',
    fix: PREFLIGHT_AGAIN,
  },
  PREPARED_REQUEST_CONSUMED: {
    status: 409,
    title: 'the prepared request has already been used',
    fix: PREFLIGHT_AGAIN,
  },
  PREPARED_REQUEST_EXPIRED: { status: 409, title: 'the prepared request has expired', fix: PREFLIGHT_AGAIN },
  PREPARED_REQUEST_EXISTS: {
    status: 409,
    title: 'this prepared request id was used for a different request',
    fix: 'use a new id for every prepared request',
  },
  RECEIPT_CONFLICT: {
    status: 409,
    title: 'a different receipt was recorded for this call',
    fix: 'report one outcome for each call; the first one counts',
  },
  CALL_TAKEN: {
    status: 409,
    title: 'the call has been taken by another process, or has an outcome',
    fix: 'do not run it here: the process that took it reports what became of it',
  },
  ARGUMENTS_CHANGED: {
    status: 409,
    title: 'a tool ran with arguments that were not allowed',
    fix: 'run tools with exactly the arguments that were allowed, in a new session',
  },
  LABEL_LIMIT: {
    status: 409,
    title: 'the session has reached its limit of labels',
    fix: 'use labels the session already has',
  },
  KEY_LIMIT: {
    status: 409,
    title: 'the tenant has reached its limit of active API keys',
    fix: 'revoke a key that is no longer used',
  },
  EMAIL_TAKEN: {
    status: 409,
    title: 'an account with this email address already exists',
    fix: 'sign in, or reset the password',
  },
  LAST_OWNER: {
    status: 409,
    title: 'this is the last owner who can sign in',
    fix: 'make another member an owner first',
  },
  PLAN_BLOCKED: {
    status: 409,
    title: 'the draft has blockers and cannot be approved',
    fix: 'resolve the blockers it lists',
  },
  PLAN_CHANGED: {
    status: 409,
    title: 'the draft has changed since you opened it',
    fix: 'reload the draft and review it again',
  },
  PLAN_DECIDED: {
    status: 409,
    title: 'the plan has already been approved or rejected',
    fix: 'submit a new draft',
  },
  QUESTION_DECIDED: {
    status: 409,
    title: 'the question has been decided or has ended',
    fix: 'reload it: the detail says who decided it and when, or why it ended',
  },
  QUESTION_CHANGED: {
    status: 409,
    title: 'the question has changed since you opened it',
    fix: 'reload it, read it again and answer what it asks now',
  },
  ASK_UNANSWERABLE: {
    status: 409,
    title: 'too few members can answer what the plan asks',
    fix: 'add members to the roles or groups that the detail names, or change `ask` in the contract',
  },
  ASK_NEEDS_ARGUMENTS: {
    status: 409,
    title: 'the plan asks people, and this session stores no arguments to show them',
    fix: "use capture_level 'redacted' or 'full', or a plan without `ask`",
  },
  WEBHOOK_LIMIT: {
    status: 409,
    title: 'the tenant has reached its limit of webhooks',
    fix: 'remove one that is no longer used',
  },
  HANDOFF_STATE: {
    status: 409,
    title: 'the handoff is not in a state that allows this',
    fix: 'read the handoff again and check its state',
  },
  HANDOFF_EXISTS: {
    status: 409,
    title: 'a handoff with this id was offered with a different body',
    fix: 'use another handoff id',
  },
  HANDOFF_NOT_ALLOWED: {
    status: 409,
    title: 'the workflow does not allow this handoff',
    fix: 'choose a role the definition allows, or add the handoff to the definition',
  },
  HANDOFF_NOT_ELIGIBLE: {
    status: 409,
    title: 'the handoff cannot be reclaimed yet',
    fix: 'wait until the time in eligible_at',
  },
  WORKFLOW_LIMIT: {
    status: 409,
    title: 'the workflow has reached its limit of sessions, handoffs, held resources or bytes',
    fix: 'start a new workflow; held resources are free once their calls have an outcome',
  },
  WORKFLOW_KILLED: { status: 409, title: 'the workflow was killed', fix: 'start a new workflow' },
  WORKFLOW_EXISTS: {
    status: 409,
    title: 'a workflow with this id was opened with a different definition',
    fix: 'use another workflow id',
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: 'the request body is too large for this path',
    fix: 'send less at once; the reference of limits has the sizes',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'the request body must be application/json',
    fix: 'send the header content-type: application/json',
  },
  TOO_COSTLY: {
    status: 422,
    title: 'the request takes more time or memory than one request may; nothing was allowed',
    fix: 'send less at once, or write the rules of the plan so that they take less: the detail says what there was too much of',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'too many requests',
    fix: 'wait and try again: Retry-After has the seconds, and the detail says what there was too much of',
  },
  RUN_BUDGET_EXCEEDED: {
    status: 429,
    title: 'the run budget of the last 30 days is used up',
    fix: 'wait until older runs no longer count, or ask the operator for a larger quota',
  },
  INTERNAL: {
    status: 500,
    title: 'something went wrong on the server',
    fix: 'try again; if this repeats, look up the request id in the server log',
  },
  UNAVAILABLE: {
    status: 503,
    title: 'the database cannot be reached; nothing was decided',
    fix: "try again; if this repeats, check the server's database",
  },
  ISSUER_UNAVAILABLE: {
    status: 503,
    title: "the keys of the principal token's issuer cannot be read",
    fix: "try again; if this repeats, check the issuer's jwks_uri",
  },
  BUSY: { status: 503, title: 'too many requests are waiting for the same thing', fix: 'try again in a moment' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

/** What to do about an error reply. Without a known code the status decides; null where it says too little. */
export function fixFor(status: number, code?: unknown): string | null {
  if (typeof code === 'string' && Object.hasOwn(ERRORS, code)) return ERRORS[code as ErrorCode].fix
  const likely = LIKELY_CODES.get(status)
  return likely === undefined ? null : ERRORS[likely].fix
}

const LIKELY_CODES: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'EMAIL_NOT_VERIFIED'],
  [404, 'NOT_FOUND'],
  [413, 'BODY_TOO_LARGE'],
  [429, 'RATE_LIMITED'],
])
