import type { Fact } from './fact.js'

export const blockReasons = [
  {
    id: 'block.output-invariant-failed',
    behaviour: 'A failing output assertion blocks with output_invariant_failed',
    state: 'built',
  },
  {
    id: 'block.input-invariant-failed',
    behaviour: 'A failing input assertion blocks with input_invariant_failed',
    state: 'built',
  },
  {
    id: 'block.response-format-invalid',
    behaviour: 'A wrong finish reason or unexpected content blocks with response_format_invalid',
    state: 'built',
  },
  {
    id: 'block.argument-value-mismatch',
    behaviour: 'An argument outside its invariant blocks with argument_value_mismatch',
    state: 'built',
  },
  {
    id: 'block.precondition-not-met',
    behaviour: 'A missing prior tool blocks with precondition_not_met',
    state: 'built',
  },
  {
    id: 'block.forbidden-tool',
    behaviour: 'A tool forbidden by an earlier call blocks with forbidden_tool',
    state: 'built',
  },
  {
    id: 'block.session-limit-exceeded',
    behaviour: 'A used-up budget or rate blocks with session_limit_exceeded',
    state: 'built',
  },
  {
    id: 'block.loop-detected',
    behaviour: 'The same tool with the same arguments again and again blocks with loop_detected',
    state: 'built',
  },
  {
    id: 'block.illegal-phase-transition',
    behaviour: 'A move outside the transitions blocks with illegal_phase_transition',
    state: 'built',
  },
  {
    id: 'block.ambiguous-phase-transition',
    behaviour: 'Calls towards different phases in one response block with ambiguous_phase_transition',
    state: 'built',
  },
  {
    id: 'block.unmatched-tool-blocked',
    behaviour: 'A tool without contract blocks with unmatched_tool_blocked under unmatchedPolicy block',
    state: 'built',
  },
  {
    id: 'block.policy-denied',
    behaviour: 'A principal without authorization blocks with policy_denied',
    state: 'built',
  },
  {
    id: 'block.execution-constraint-violated',
    behaviour: 'Arguments that fail the check before execution block with execution_constraint_violated',
    state: 'built',
  },
  {
    id: 'block.risk-gate-blocked',
    behaviour: 'A side effect that risk_defaults refuse blocks with risk_gate_blocked',
    state: 'built',
  },
  {
    id: 'block.killed',
    behaviour: 'A call after kill blocks with killed',
    state: 'built',
  },
  {
    id: 'block.binding-not-found',
    behaviour: 'A reference to a binding not yet set blocks with binding_not_found',
    state: 'built',
  },
  {
    id: 'block.ref-mismatch',
    behaviour: 'A value other than the bound one blocks with ref_mismatch',
    state: 'built',
  },
  {
    id: 'block.aggregate-limit-exceeded',
    behaviour: 'A breached session aggregate blocks with aggregate_limit_exceeded',
    state: 'built',
  },
  {
    id: 'block.aggregate-path-missing',
    behaviour: 'A missing aggregated argument blocks with aggregate_path_missing',
    state: 'built',
  },
  {
    id: 'block.envelope-not-established',
    behaviour: 'An envelope without its reference value blocks with envelope_not_established',
    state: 'built',
  },
  {
    id: 'block.envelope-violation',
    behaviour: 'A value on the wrong side of its envelope blocks with envelope_violation',
    state: 'built',
  },
  {
    id: 'block.checkpoint-denied',
    behaviour: 'A denied checkpoint blocks with checkpoint_denied',
    state: 'built',
  },
  {
    id: 'block.checkpoint-timeout',
    behaviour: 'An unanswered checkpoint blocks with checkpoint_timeout',
    state: 'built',
  },
  {
    id: 'block.checkpoint-budget-exceeded',
    behaviour: 'A checkpoint beyond the tenth blocks with checkpoint_budget_exceeded',
    state: 'built',
  },
] as const satisfies readonly Fact[]
