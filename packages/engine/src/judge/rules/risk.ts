import { LIMITS } from '@countersign/protocol'
import { expiredText, notAskedText, refusedText, usedText, withdrawnText } from './question-texts.js'
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

/** What people were asked about the call has ended without a yes, or they cannot be asked. */
export const questionDenied: Rule = ({ tool, contract, standing }) => {
  switch (standing?.kind) {
    case 'refused':
      return block('checkpoint_denied', contract, { detail: 'denied', remedy: refusedText(tool, standing.note) })
    case 'not_asked':
      return block('checkpoint_denied', contract, { detail: standing.detail, remedy: notAskedText(tool) })
    case 'ended': {
      const { id, state } = standing.question
      if (state === 'used') return block('checkpoint_denied', contract, { detail: state, remedy: usedText(tool, id) })
      if (state !== 'withdrawn') return null
      return block('checkpoint_denied', contract, { detail: state, remedy: withdrawnText(tool, id) })
    }
    default:
      return null
  }
}

/** Nobody answered in time, or the answer was not used in time. */
export const questionExpired: Rule = ({ tool, contract, standing }) => {
  if (standing?.kind !== 'ended') return null
  const { id, state } = standing.question
  if (state === 'used' || state === 'withdrawn') return null
  return block('checkpoint_timeout', contract, { detail: 'expired', remedy: expiredText(tool, id) })
}

/** The number of checkpoints in a session is limited; the call that would exceed it is blocked. */
export const checkpointBudget: Rule = ({ tool, contract, state, tally, triggers }) => {
  const most = LIMITS.checkpointTriggersPerSession
  if (triggers === 0 || state.checkpointsTriggered + tally.checkpoints + triggers <= most) return null
  return block('checkpoint_budget_exceeded', contract, {
    detail: `${most} per session`,
    remedy: `This session has asked for approval ${most} times, and "${tool}" would need it again. Go on without it.`,
  })
}
