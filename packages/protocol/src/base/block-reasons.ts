/** Why preflight removes a tool before the model sees the request. */
export const NARROWING_REASONS = {
  wrong_phase: 'the tool is not valid in the current phase',
  precondition_not_met: 'a tool that must come first has not been called',
  forbidden_in_state: 'an earlier call forbids this tool',
  no_contract: 'no contract covers this tool',
  policy_denied: 'the policy does not allow this principal to use it',
  manual_filter: "the session's tool filter excludes it",
  label_gate: 'a label on the session forbids it',
} as const satisfies Record<string, string>
export type NarrowingReason = keyof typeof NARROWING_REASONS
export const NARROWING_REASON_NAMES = Object.keys(NARROWING_REASONS) as [NarrowingReason, ...NarrowingReason[]]

interface BlockReasonEntry {
  /** The reason preflight gives for removing the tool; null if only a call can be judged. */
  readonly narrowsAs: NarrowingReason | null
  readonly meaning: string
}

/** In order of precedence: if several apply to one call, the first is its `reason`. */
export const BLOCK_REASONS = {
  killed: { narrowsAs: null, meaning: 'the session was killed' },
  response_format_invalid: {
    narrowsAs: null,
    meaning: 'the finish reason, the content or the format of a call is not allowed',
  },
  unmatched_tool_blocked: {
    narrowsAs: 'no_contract',
    meaning: 'no contract covers the tool, and unmatched tools are blocked',
  },
  policy_denied: { narrowsAs: 'policy_denied', meaning: 'the policy does not allow this principal to use it' },
  forbidden_tool: {
    narrowsAs: 'forbidden_in_state',
    meaning: 'an earlier call, a label or the tool filter forbids the tool',
  },
  ambiguous_phase_transition: { narrowsAs: null, meaning: 'calls in one response lead to different phases' },
  illegal_phase_transition: {
    narrowsAs: 'wrong_phase',
    meaning: 'the current phase does not allow the tool or the transition',
  },
  precondition_not_met: { narrowsAs: 'precondition_not_met', meaning: 'a call that must come first has not been made' },
  session_limit_exceeded: { narrowsAs: null, meaning: 'a budget or rate limit of the session is used up' },
  loop_detected: { narrowsAs: null, meaning: 'the same call was repeated with the same arguments' },
  input_invariant_failed: { narrowsAs: null, meaning: 'an assertion on the request failed' },
  argument_value_mismatch: { narrowsAs: null, meaning: 'the value, shape or source of an argument is not allowed' },
  output_invariant_failed: { narrowsAs: null, meaning: 'an assertion on the response failed' },
  binding_not_found: { narrowsAs: null, meaning: 'an argument refers to a binding that is not set yet' },
  ref_mismatch: { narrowsAs: null, meaning: 'an argument differs from the value it must refer to' },
  aggregate_path_missing: { narrowsAs: null, meaning: 'the value to aggregate is missing or is not a usable number' },
  aggregate_limit_exceeded: {
    narrowsAs: null,
    meaning: 'a sum, count or maximum over the session would exceed its limit',
  },
  envelope_not_established: { narrowsAs: null, meaning: 'the value that limits the argument is not established yet' },
  envelope_violation: { narrowsAs: null, meaning: 'the argument is outside its established limits' },
  risk_gate_blocked: { narrowsAs: null, meaning: 'tools with this side effect are blocked by default' },
  execution_constraint_violated: { narrowsAs: null, meaning: 'the check just before execution failed' },
  checkpoint_denied: { narrowsAs: null, meaning: 'the approver said no' },
  checkpoint_timeout: { narrowsAs: null, meaning: 'no approver answered in time' },
  checkpoint_budget_exceeded: { narrowsAs: null, meaning: 'the session has used up its requests for approval' },
} as const satisfies Record<string, BlockReasonEntry>
export type BlockReason = keyof typeof BLOCK_REASONS
export const BLOCK_REASON_NAMES = Object.keys(BLOCK_REASONS) as [BlockReason, ...BlockReason[]]

/** How a policy denial is shown to the model, which must not learn the policy. */
export const RESTRICTED = 'restricted'
