import { type BlockReason, type ContractFailure, type Decision, ERRORS, type ErrorCode } from '@countersign/protocol'

/** A call was blocked: the gate is `reject_all`, or it is `strip_partial` and every call was blocked. */
export class ReplayContractError extends Error {
  override readonly name: string = 'ReplayContractError'
  /** What was decided about every call of the response. */
  readonly decision: EnforcementDecision
  /** The file of the first contract that failed; null if no contract was involved. */
  readonly contractFile: string | null
  /** What failed in the blocked calls. */
  readonly failures: readonly ContractFailure[]
  /** The code with which the server refused, such as `LEASE_ACTIVE`; null if it did not. */
  readonly code: ErrorCode | null

  constructor(message: string, decision: EnforcementDecision, options?: ErrorOptions) {
    super(message, options)
    this.decision = decision
    this.code = codeIn(options?.cause)
    this.failures = decision.blocked.flatMap((call) => call.failures)
    this.contractFile = decision.blocked.find((call) => call.contract_file !== null)?.contract_file ?? null
  }
}

/** What was decided about one response. */
export interface EnforcementDecision {
  /** Whether all, some or none of the calls were allowed. */
  readonly outcome: 'allowed' | 'partial' | 'blocked'
  /** One decision for each call, in the order of the calls. */
  readonly decisions: readonly Decision[]
  /** Those of the decisions that block. */
  readonly blocked: readonly Decision[]
}

/** A question to people about a call, which outlives the process that asked it. */
export interface ParkedQuestion {
  /** Names the question, here and in the dashboard. */
  readonly questionId: string
  /** The page on which people answer it; null where the server could not be asked for it. */
  readonly url: string | null
  /** The tool that waits. */
  readonly tool: string
  /** Until when people can answer, as ISO 8601. */
  readonly expiresAt: string
}

/** Calls wait for people, and nothing of the answer was let through: resume them with `session.resume`. */
export class ReplayParkedError extends ReplayContractError {
  override readonly name = 'ReplayParkedError'
  /** What people are asked. */
  readonly questions: readonly ParkedQuestion[]

  constructor(
    message: string,
    decision: EnforcementDecision,
    questions: readonly ParkedQuestion[],
    options?: ErrorOptions,
  ) {
    super(message, decision, options)
    this.questions = questions
  }
}

/** The server could not decide and `onError` is `block`, so nothing is allowed. */
export class ReplayUnavailableError extends ReplayContractError {
  override readonly name = 'ReplayUnavailableError'
  /** The server did not answer, or the quota is used up for now: nothing was let through, and later it may pass. */
  readonly mayRetry: boolean
  /** What a model is told in place of a tool's result: of an outage, nothing that only people can look after. */
  readonly remedy: string

  constructor(message: string, options?: ErrorOptions) {
    const code = codeIn(options?.cause)
    // A cause without a code is no answer of the server.
    const mayRetry =
      options?.cause !== undefined && (code === null || code === 'RATE_LIMITED' || code === 'REQUEST_TIMEOUT')
    super(mayRetry ? `${message}; ${TRY_AGAIN}` : message, NOTHING_DECIDED, options)
    this.mayRetry = mayRetry
    this.remedy = mayRetry ? `the call could not be judged; ${TRY_AGAIN}` : code === 'TOO_COSTLY' ? TOO_LONG : message
  }
}

const TRY_AGAIN = 'nothing was let through: try again in a few seconds'
const TOO_LONG = 'the call takes too long to judge, and was not let through: call with less at once'

export const NOTHING_DECIDED: EnforcementDecision = { outcome: 'blocked', decisions: [], blocked: [] }

/** Calls of another entry point of the session have no outcome yet, and this turn may not settle them. */
export class CallsWaitingError extends ReplayContractError {
  override readonly name = 'CallsWaitingError'

  constructor(message: string) {
    super(message, { outcome: 'blocked', decisions: [], blocked: [] })
  }
}

/**
 * An executor throws this where it knows that the tool did nothing, such as one that asks for input first. The call
 * counts as not executed, and what it would have used up is free again.
 */
export class NotExecutedError extends Error {
  override readonly name = 'NotExecutedError'
  /** The rule that stopped the call; null where it stopped by itself. */
  readonly reason: BlockReason | null

  constructor(message?: string, { reason = null, ...options }: ErrorOptions & { reason?: BlockReason | null } = {}) {
    super(message, options)
    this.reason = reason
  }
}

/** The session was killed: it makes no more calls. */
export class ReplayKillError extends Error {
  override readonly name = 'ReplayKillError'
  /** The code with which the server refused; null if the kill was made here. */
  readonly code: ErrorCode | null

  constructor(message = 'the session was killed; start a new one to continue', options?: ErrorOptions) {
    super(message, options)
    this.code = codeIn(options?.cause)
  }
}

/** Why a configuration was refused, as far as the specification names a condition. */
export const CONFIG_CONDITIONS = [
  'policy_without_principal',
  'constraints_without_wrapper',
  'compilation_failed',
  'provider_incompatible',
] as const
/** One of `CONFIG_CONDITIONS`. */
export type ConfigCondition = (typeof CONFIG_CONDITIONS)[number]

/** The options, the contracts or the client cannot be used. */
export class ReplayConfigError extends Error {
  override readonly name = 'ReplayConfigError'
  /** Null if the specification names no condition for it, such as for a method that cannot be governed. */
  readonly condition: ConfigCondition | null
  /** The code with which the server refused, such as `PLAN_PINNED`; null if it did not. */
  readonly code: ErrorCode | null

  constructor(message: string, condition: ConfigCondition | null, options?: ErrorOptions) {
    super(message, options)
    this.condition = condition
    this.code = codeIn(options?.cause)
  }
}

/** The server's code in the chain of causes; null where no answer of the server is among them. */
function codeIn(cause: unknown): ErrorCode | null {
  for (let error = cause, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    const code: unknown = Reflect.get(error, 'code')
    if (typeof code === 'string' && Object.hasOwn(ERRORS, code)) return code as ErrorCode
  }
  return null
}
