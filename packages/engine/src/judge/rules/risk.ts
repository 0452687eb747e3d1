import { LIMITS } from '@countersign/protocol'
import { block, type Rule, type ToolRule } from './rule.js'

/** What `risk_defaults` says about the tool's side effect, unless the contract has its own gate. */
export const riskGate: ToolRule = ({ tool, contract }) => {
  if (contract?.risk !== 'block') return null
  const { side_effect: effect, gate } = contract.definition
  return block('risk_gate_blocked', contract, {
    detail: gate === 'block' ? 'gate' : effect,
    remedy: `"${tool}" is ${effect} and blocked here. Go on without it, or ask a person to do it.`,
  })
}

/** The number of checkpoints in a session is limited; the call that would exceed it is blocked. */
export const checkpointBudget: Rule = ({ tool, contract, state, tally, checkpoints }) => {
  const most = LIMITS.checkpointTriggersPerSession
  if (checkpoints === 0 || state.checkpointsTriggered + tally.checkpoints + checkpoints <= most) return null
  return block('checkpoint_budget_exceeded', contract, {
    detail: `${most} per session`,
    remedy: `This session has asked for approval ${most} times, and "${tool}" would need it again. Go on without it.`,
  })
}
