import {
  deniedByControls,
  type Plan,
  type ReadResponse,
  type SessionState,
  triggeredCheckpoints,
} from '@countersign/engine'
import type { Block, Decision } from '@countersign/protocol'
import type { ProposalRequest } from '../authority.js'
import type { LocalSession, LocalSessionOptions } from '../local/local-session.js'

/**
 * Adds what the server does not know or store: the file of a contract, and the values of the request. Conditions of
 * checkpoints are judged here, too: a person is asked if either side says so.
 */
export function completeDecision(decision: Decision, plan: Plan, { prepared, read }: ProposalRequest): Decision {
  const { inputs } = prepared.request
  if (decision.decision === 'allow') return withOwnCheckpoints(decision, plan, read)
  const file = plan.contracts.get(decision.tool_name)?.file
  const failures = decision.failures.map((failure) => ({
    ...(Object.hasOwn(inputs, failure.path) && { found: inputs[failure.path] }),
    ...(file !== undefined && { contract_file: file }),
    ...failure,
  }))
  return { ...decision, contract_file: decision.contract_file ?? file ?? null, failures }
}

function asksPeople({ contracts }: Plan, tool: string): boolean {
  const contract = contracts.get(tool)
  return contract !== undefined && (contract.checkpoints.length > 0 || contract.risk === 'checkpoint')
}

function withOwnCheckpoints(decision: Decision, plan: Plan, { calls }: ReadResponse): Decision {
  const { tool_name: tool, pending_call_id: idPrefix, index } = decision
  if (idPrefix === null || !asksPeople(plan, tool)) return decision
  const args = calls.find((call) => call.index === index)?.arguments
  if (args == null) return decision
  const known = new Set(decision.checkpoints.map(({ checkpoint_id }) => checkpoint_id))
  const own = triggeredCheckpoints(plan, { tool, arguments: args, idPrefix }, [])
  const missing = own.filter(({ checkpoint_id }) => !known.has(checkpoint_id))
  if (missing.length === 0) return decision
  return { ...decision, checkpoint_required: true, checkpoints: [...decision.checkpoints, ...missing] }
}

interface Denying extends Pick<LocalSession, 'salt' | 'principal'> {
  readonly state: SessionState
}

/** Why calls may not run any more, by index: labels and filters take effect here at once, on the server later. */
export function deniedSince(
  { identity, plan, nowMs }: LocalSessionOptions,
  { state, salt, principal }: Denying,
  { read }: ProposalRequest,
): ReadonlyMap<number, Block> {
  const { unmatchedPolicy, agent } = identity
  const about = { plan, state, salt, unmatchedPolicy, principal, agent, nowMs: nowMs() }
  const denied = read.calls.flatMap((call): [number, Block][] => {
    const block = deniedByControls({ ...about, call })
    return block === null ? [] : [[call.index, block]]
  })
  return new Map(denied)
}
