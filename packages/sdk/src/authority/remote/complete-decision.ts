import { type Plan, type ReadResponse, triggeredCheckpoints } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { ProposalRequest } from '../authority.js'
import { blockedDecision } from '../blocked-decision.js'

/**
 * Adds what the server does not know or store: the file of a contract, and the values of the request. Conditions of
 * checkpoints are judged here, too: a person is asked if either side says so.
 */
export function completeDecision(
  decision: Decision,
  plan: Plan,
  { prepared, read }: ProposalRequest,
  asks: 'people' | null,
): Decision {
  const { inputs } = prepared.request
  if (decision.decision === 'allow') {
    // Where every checkpoint asks people, the server knows whether it has to.
    const isAskedThere = asks !== null || plan.session.ask !== undefined
    return isAskedThere ? decision : withOwnCheckpoints(decision, plan, read)
  }
  const file = plan.contracts.get(decision.tool_name)?.file
  const failures = decision.failures.map((failure) => ({
    ...(Object.hasOwn(inputs, failure.path) && { found: inputs[failure.path] }),
    ...(file !== undefined && { contract_file: file }),
    ...failure,
  }))
  return { ...decision, contract_file: decision.contract_file ?? file ?? null, failures }
}

function hasCheckpoints({ contracts }: Plan, tool: string): boolean {
  const contract = contracts.get(tool)
  return contract !== undefined && (contract.checkpoints.length > 0 || contract.risk === 'checkpoint')
}

function withOwnCheckpoints(decision: Decision, plan: Plan, { calls }: ReadResponse): Decision {
  const { tool_name: tool, pending_call_id: idPrefix, index, approval } = decision
  // What people have approved, the server asked by all of its rules.
  if (idPrefix === null || approval !== undefined || !hasCheckpoints(plan, tool)) return decision
  const args = calls.find((call) => call.index === index)?.arguments
  if (args == null) return decision
  const own = triggeredCheckpoints(plan, { tool, arguments: args, idPrefix }, [])
  const checkpoints = plan.contracts.get(tool)?.checkpoints ?? []
  const ofPeople = checkpoints.flatMap(({ definition }, index) =>
    definition.ask === undefined ? [] : [`${idPrefix}#${index}`],
  )
  return withCheckpoints(
    decision,
    own.filter(({ checkpoint_id }) => !ofPeople.includes(checkpoint_id)),
  )
}

function withCheckpoints(decision: Decision, own: Decision['checkpoints']): Decision {
  const known = new Set(decision.checkpoints.map(({ checkpoint_id }) => checkpoint_id))
  const missing = own.filter(({ checkpoint_id }) => !known.has(checkpoint_id))
  if (missing.length === 0) return decision
  return { ...decision, checkpoint_required: true, checkpoints: [...decision.checkpoints, ...missing] }
}

/** What people are asked, this side cannot judge. */
const onlyServerAsks = ({ reasons }: Decision): boolean => reasons.some(({ detail }) => detail === 'ask_needs_service')

/** Labels and filters take effect here at once, on the server later: what they block meanwhile, or ask about. */
export function underControls(decision: Decision, here: readonly Decision[]): Decision {
  const own = here.find(({ index }) => index === decision.index)
  if (decision.decision !== 'allow' || own === undefined || onlyServerAsks(own)) return decision
  if (own.reason === null) return withCheckpoints(decision, own.checkpoints)
  const { reason, remedy, failures, reasons } = own
  return { ...blockedDecision(decision, reason, remedy ?? ''), failures, reasons }
}
