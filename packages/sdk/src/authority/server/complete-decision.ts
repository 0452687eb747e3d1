import { narrowTools, type Plan, type SessionState } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { PreflightRequest, ProposalRequest } from '../authority.js'
import type { LocalSessionOptions } from '../local/local-session.js'

/** Adds what the server does not know or store: the file of a contract, and the values of the request. */
export function completeDecision(decision: Decision, plan: Plan, { inputs }: PreflightRequest): Decision {
  if (decision.decision === 'allow') return decision
  const file = plan.contracts.get(decision.tool_name)?.file
  const failures = decision.failures.map((failure) => ({
    ...(Object.hasOwn(inputs, failure.path) && { found: inputs[failure.path] }),
    ...(file !== undefined && { contract_file: file }),
    ...failure,
  }))
  return { ...decision, contract_file: decision.contract_file ?? file ?? null, failures }
}

/** Why tools that the model called may not run any more: labels and filters take effect here at once, on the server later. */
export function deniedSince(
  { identity, plan }: LocalSessionOptions,
  state: SessionState,
  { read }: ProposalRequest,
): ReadonlyMap<string, string> {
  const { unmatchedPolicy, principal, agent } = identity
  const tools = read.calls.map(({ name }) => ({ name }))
  const { removed } = narrowTools({ plan, state, tools, unmatchedPolicy, principal, agent })
  const controlled = removed.filter(({ reason }) => reason === 'label_gate' || reason === 'manual_filter')
  return new Map(controlled.map(({ tool, detail = '' }) => [tool, detail]))
}
