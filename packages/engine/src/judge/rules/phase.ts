import { advised, block, oneOf, type Rule, type ToolRule } from './rule.js'

/** If the calls of a response lead to different phases, none of the moves is made. */
export const ambiguousPhase: Rule = ({ tool, contract, response }) => {
  const target = contract?.definition.transitions?.advances_to
  if (target === undefined || response.targets.size < 2) return null
  const phases = [...response.targets].sort()
  return block('ambiguous_phase_transition', contract, {
    detail: phases.join(', '),
    ...advised(
      `The calls of this response lead to different phases (${phases.join(', ')}).`,
      `Call "${tool}" without the others, or leave it out.`,
      [],
    ),
  })
}

export const illegalPhase: ToolRule = ({ tool, contract, plan, state }) => {
  const transitions = contract?.definition.transitions
  const phase = state.phase
  if (transitions === undefined || phase === null || plan.phases === null) return null
  const { valid_in_phases: valid, advances_to: target } = transitions
  if (valid !== undefined && !valid.includes(phase)) {
    return block('illegal_phase_transition', contract, {
      detail: `phase ${phase}`,
      remedy: `"${tool}" can be called in phase ${oneOf(valid)}; the session is in ${phase}.`,
      rules: [],
    })
  }
  if (target === undefined || target === phase || plan.phases.moves.get(phase)?.has(target) === true) return null
  const legal = [...(plan.phases.moves.get(phase) ?? [])]
  const onward = legal.length === 0 ? 'no other phase follows it' : `it can move to ${oneOf(legal)}`
  return block('illegal_phase_transition', contract, {
    detail: `${phase} -> ${target}`,
    remedy: `"${tool}" would move the session from ${phase} to ${target}, which is not allowed; ${onward}.`,
    rules: [],
  })
}
