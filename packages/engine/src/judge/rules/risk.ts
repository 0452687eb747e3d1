import { LIMITS } from '@countersign/protocol'
import { advised, block, quoted, type Rule, type ToolRule } from './rule.js'

/** What `risk_defaults` says about the tool's side effect, unless the contract has its own gate. */
export const riskGate: ToolRule = ({ tool, contract }) => {
  if (contract?.risk !== 'block') return null
  const { side_effect: effect, gate } = contract.definition
  return block('risk_gate_blocked', contract, {
    detail: gate === 'block' ? 'gate' : effect,
    ...advised(`"${tool}" is ${effect} and blocked here.`, 'Go on without it, or ask a person to do it.', []),
  })
}

/** A person said no to the same call before: it is not asked again, however often the model tries. */
export const refusedBefore: Rule = ({ tool, contract, state, checkpoints, argumentHash }) => {
  const isRefused = state.refused?.some((one) => one.tool === tool && one.hash === argumentHash) === true
  const asked = isRefused ? checkpoints.filter(({ asksAgain }) => !asksAgain) : []
  if (asked.length === 0) return null
  return block('checkpoint_denied', contract, {
    detail: 'denied_before',
    ...advised(
      `A person refused this call of ${quoted(tool)} before.`,
      'Do not repeat it; ask what to do instead.',
      asked.map(({ message }) => ({ message })),
    ),
  })
}

/** The number of checkpoints in a session is limited; the call that would exceed it is blocked. */
export const checkpointBudget: Rule = ({ tool, contract, state, tally, checkpoints }) => {
  const most = LIMITS.checkpointTriggersPerSession
  const { length } = checkpoints
  if (length === 0 || state.checkpointsTriggered + tally.checkpoints + length <= most) return null
  return block('checkpoint_budget_exceeded', contract, {
    detail: `${most} per session`,
    remedy: `This session has asked for approval ${most} times, and "${tool}" would need it again. Go on without it.`,
  })
}
