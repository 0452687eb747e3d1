import type { ContractFailure, Decision } from '@countersign/protocol'

/** Enforcement blocked a call: gate `reject_all`, or everything was blocked under `strip_partial`. */
export class ReplayContractError extends Error {
  override readonly name: string = 'ReplayContractError'
  readonly decision: EnforcementDecision
  /** The contract of the first failure; null when no contract was involved. */
  readonly contractFile: string | null
  readonly failures: readonly ContractFailure[]

  constructor(message: string, decision: EnforcementDecision, options?: ErrorOptions) {
    super(message, options)
    this.decision = decision
    this.failures = decision.blocked.flatMap((call) => call.failures)
    this.contractFile = decision.blocked.find((call) => call.contract_file !== null)?.contract_file ?? null
  }
}

/** The full decision about one response. */
export interface EnforcementDecision {
  readonly outcome: 'allowed' | 'partial' | 'blocked'
  readonly decisions: readonly Decision[]
  readonly blocked: readonly Decision[]
}

/** The server failed and `onError` is `block`: nothing was decided, so nothing is allowed. */
export class ReplayUnavailableError extends ReplayContractError {
  override readonly name = 'ReplayUnavailableError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, { outcome: 'blocked', decisions: [], blocked: [] }, options)
  }
}

/** The session was killed: no call goes through it any more. */
export class ReplayKillError extends Error {
  override readonly name = 'ReplayKillError'

  constructor(message = 'the session was killed; start a new one to go on', options?: ErrorOptions) {
    super(message, options)
  }
}

export const CONFIG_CONDITIONS = [
  'policy_without_principal',
  'constraints_without_wrapper',
  'compilation_failed',
  'provider_incompatible',
] as const
export type ConfigCondition = (typeof CONFIG_CONDITIONS)[number]

/** The configuration cannot be used. */
export class ReplayConfigError extends Error {
  override readonly name = 'ReplayConfigError'
  /** Null where the specification names no condition, such as a method that cannot be governed. */
  readonly condition: ConfigCondition | null

  constructor(message: string, condition: ConfigCondition | null, options?: ErrorOptions) {
    super(message, options)
    this.condition = condition
  }
}
