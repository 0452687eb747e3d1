/** Why a tool is left out of a request before the model sees it. */
export const NARROWING_REASONS = {
  wrong_phase: 'the tool is not valid in the current phase',
  precondition_not_met: 'a tool that must come first has not been called',
  forbidden_in_state: 'an earlier call forbids this tool',
  no_contract: 'no contract covers this tool',
  policy_denied: 'the policy does not allow it for this principal',
  manual_filter: 'the tool filter of the session leaves it out',
  label_gate: 'a label of the session forbids it',
} as const satisfies Record<string, string>
export type NarrowingReason = keyof typeof NARROWING_REASONS
export const NARROWING_REASON_NAMES = Object.keys(NARROWING_REASONS) as [NarrowingReason, ...NarrowingReason[]]

interface BlockReasonEntry {
  /** The reason under which preflight removes the tool for the same cause; null where only a call can be judged. */
  readonly narrowsAs: NarrowingReason | null
  readonly meaning: string
}

/** In order of precedence: where several apply to one call, the first is reported. */
export const BLOCK_REASONS = {
  killed: { narrowsAs: null, meaning: 'kill was called' },
  response_format_invalid: { narrowsAs: null, meaning: 'the finish reason, content or call format is not as required' },
  unmatched_tool_blocked: {
    narrowsAs: 'no_contract',
    meaning: 'no contract covers the tool and unmatched tools are blocked',
  },
  policy_denied: { narrowsAs: 'policy_denied', meaning: 'the policy does not allow it for this principal' },
  forbidden_tool: {
    narrowsAs: 'forbidden_in_state',
    meaning: 'an earlier call, a label or the tool filter forbids the tool',
  },
  ambiguous_phase_transition: { narrowsAs: null, meaning: 'calls of one response lead to different phases' },
  illegal_phase_transition: { narrowsAs: 'wrong_phase', meaning: 'the phase does not allow the tool or the move' },
  precondition_not_met: { narrowsAs: 'precondition_not_met', meaning: 'a required earlier call is missing' },
  session_limit_exceeded: { narrowsAs: null, meaning: 'a budget or rate of the session is used up' },
  loop_detected: { narrowsAs: null, meaning: 'the same call with the same arguments is repeated' },
  input_invariant_failed: { narrowsAs: null, meaning: 'an assertion on the request failed' },
  argument_value_mismatch: { narrowsAs: null, meaning: 'an argument has a value, shape or source that is not allowed' },
  output_invariant_failed: { narrowsAs: null, meaning: 'an assertion on the response failed' },
  binding_not_found: { narrowsAs: null, meaning: 'the binding that an argument refers to is not set yet' },
  ref_mismatch: { narrowsAs: null, meaning: 'an argument differs from the binding it refers to' },
  aggregate_path_missing: { narrowsAs: null, meaning: 'the value that is summed is missing or not a usable number' },
  aggregate_limit_exceeded: {
    narrowsAs: null,
    meaning: 'the sum, count or maximum of the session would pass its bound',
  },
  envelope_not_established: { narrowsAs: null, meaning: 'the value that bounds the argument is not established yet' },
  envelope_violation: { narrowsAs: null, meaning: 'the argument lies outside its established bound' },
  risk_gate_blocked: { narrowsAs: null, meaning: 'tools with this side effect are blocked by default' },
  execution_constraint_violated: { narrowsAs: null, meaning: 'the check right before execution failed' },
  checkpoint_denied: { narrowsAs: null, meaning: 'the approver said no' },
  checkpoint_timeout: { narrowsAs: null, meaning: 'no approver answered in time' },
  checkpoint_budget_exceeded: { narrowsAs: null, meaning: 'the session has asked for approval as often as it may' },
} as const satisfies Record<string, BlockReasonEntry>
export type BlockReason = keyof typeof BLOCK_REASONS
export const BLOCK_REASON_NAMES = Object.keys(BLOCK_REASONS) as [BlockReason, ...BlockReason[]]

/** How a policy denial is shown to the model, which must not learn the policy. */
export const RESTRICTED = 'restricted'
