import type { Block, BlockReason } from '@countersign/protocol'
import {
  forbiddenByCall,
  killed,
  labelGate,
  manualFilter,
  notOffered,
  outsideHandoff,
  outsideHours,
  policyDenied,
  unmatchedTool,
} from './rules/access.js'
import { aggregateLimit, aggregatePathMissing, loopDetected, sessionLimit } from './rules/budget.js'
import { envelopeNotEstablished, envelopeViolation } from './rules/envelopes.js'
import {
  argumentInvariants,
  argumentSchema,
  inputInvariant,
  outputInvariant,
  responseFormat,
} from './rules/invariants.js'
import { keyUnusable } from './rules/keys.js'
import { preconditionNotMet, resourceHeld } from './rules/order.js'
import { ambiguousPhase, illegalPhase } from './rules/phase.js'
import { checkpointBudget, questionDenied, questionExpired, refusedBefore, riskGate } from './rules/risk.js'
import type { CallContext, Rule } from './rules/rule.js'
import { bindingNotFound, refMismatch, resourceUnnamed, sourceMismatch } from './rules/values.js'

/** Every rule that judges a proposed call. Precedence is the order of this list. */
export const LADDER: readonly { readonly reason: BlockReason; readonly rule: Rule }[] = [
  { reason: 'killed', rule: killed },
  { reason: 'response_format_invalid', rule: responseFormat },
  { reason: 'unmatched_tool_blocked', rule: unmatchedTool },
  { reason: 'policy_denied', rule: policyDenied },
  { reason: 'forbidden_tool', rule: forbiddenByCall },
  { reason: 'forbidden_tool', rule: labelGate },
  { reason: 'forbidden_tool', rule: manualFilter },
  { reason: 'forbidden_tool', rule: outsideHandoff },
  { reason: 'forbidden_tool', rule: outsideHours },
  { reason: 'ambiguous_phase_transition', rule: ambiguousPhase },
  { reason: 'illegal_phase_transition', rule: illegalPhase },
  { reason: 'precondition_not_met', rule: preconditionNotMet },
  { reason: 'precondition_not_met', rule: resourceHeld },
  { reason: 'session_limit_exceeded', rule: sessionLimit },
  { reason: 'loop_detected', rule: loopDetected },
  { reason: 'input_invariant_failed', rule: inputInvariant },
  { reason: 'argument_value_mismatch', rule: argumentSchema },
  { reason: 'argument_value_mismatch', rule: argumentInvariants },
  { reason: 'argument_value_mismatch', rule: sourceMismatch },
  { reason: 'argument_value_mismatch', rule: resourceUnnamed },
  { reason: 'argument_value_mismatch', rule: keyUnusable },
  { reason: 'output_invariant_failed', rule: outputInvariant },
  { reason: 'binding_not_found', rule: bindingNotFound },
  { reason: 'ref_mismatch', rule: refMismatch },
  { reason: 'aggregate_path_missing', rule: aggregatePathMissing },
  { reason: 'aggregate_limit_exceeded', rule: aggregateLimit },
  { reason: 'envelope_not_established', rule: envelopeNotEstablished },
  { reason: 'envelope_violation', rule: envelopeViolation },
  { reason: 'risk_gate_blocked', rule: riskGate },
  { reason: 'checkpoint_denied', rule: refusedBefore },
  { reason: 'checkpoint_denied', rule: questionDenied },
  { reason: 'checkpoint_timeout', rule: questionExpired },
  { reason: 'checkpoint_budget_exceeded', rule: checkpointBudget },
]

/** Reasons that arise after a call was allowed: from the wrapper, or from the person who was asked. */
export const REASONS_AFTER_THE_DECISION = [
  'execution_constraint_violated',
  'checkpoint_denied',
  'checkpoint_timeout',
] as const satisfies readonly BlockReason[]

/** Every block of a call, in order of precedence. */
export function judgeByLadder(context: CallContext, offered: readonly string[] | null): Block[] {
  const blocks: Block[] = []
  for (const { rule } of LADDER) {
    const found = rule(context)
    if (found !== null) blocks.push(found)
  }
  if (blocks.length === 0 && offered !== null && !offered.includes(context.tool)) blocks.push(notOffered(context.tool))
  if (blocks.length === 0) return blocks
  const denied = blocks.findIndex(({ reason }) => reason === 'policy_denied')
  // A caller whom the policy denies must learn nothing else about the tool.
  return denied === -1 ? blocks : blocks.slice(0, Math.max(denied, 1))
}
