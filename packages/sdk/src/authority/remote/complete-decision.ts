import { type Plan, type ReadResponse, triggeredCheckpoints } from '@countersign/engine'
import type { Block, BlockReason, Decision } from '@countersign/protocol'
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

/** What took effect here since the server prepared the request. */
export interface OwnControls {
  /** What the mirror says under them. */
  readonly decisions: readonly Decision[]
  /** There is a label among them: with it, other rules may ask. */
  readonly labels: boolean
}

/** Labels and filters take effect here at once, on the server later: what they block meanwhile, or ask about. */
export function underControls(decision: Decision, plan: Plan, controls: OwnControls | null): Decision {
  const own = controls?.decisions.find(({ index }) => index === decision.index)
  if (controls === null || own === undefined || decision.decision !== 'allow') return decision
  if (own.reason === null) return withCheckpoints(decision, own.checkpoints)
  const reasons = own.reasons.filter((block) => !isJudgedThere(block, decision))
  const isNewlyAsked = controls.labels && asksByLabel(plan, decision.tool_name)
  const asked = isNewlyAsked ? own.reasons.filter(isForPeople).map((block) => askedNext(block, decision)) : []
  return blockedBy(decision, [...reasons, ...asked])
}

function blockedBy(decision: Decision, reasons: Decision['reasons']): Decision {
  const [first] = reasons
  if (first === undefined) return decision
  const remedy = [...new Set(reasons.map((block) => block.remedy))].join(' ')
  const failures = reasons.flatMap((block) => block.failures)
  return { ...blockedDecision(decision, first.reason, remedy), failures, reasons }
}

/** What people are asked, the mirror cannot judge. */
const isForPeople = ({ detail }: Block): boolean => detail === 'ask_needs_service'

/** The request and the response of an approved call were judged when people were asked; no label or filter changes that. */
const JUDGED_WHEN_ASKED: ReadonlySet<BlockReason> = new Set([
  'response_format_invalid',
  'input_invariant_failed',
  'output_invariant_failed',
])

const isJudgedThere = (block: Block, { approval }: Decision): boolean =>
  isForPeople(block) || (approval !== undefined && JUDGED_WHEN_ASKED.has(block.reason))

/** Any label counts: by one, another call of the response may add another. */
function asksByLabel({ contracts }: Plan, tool: string): boolean {
  const { checkpoints = [], sources = [] } = contracts.get(tool) ?? {}
  return [...checkpoints, ...sources].some(({ when }) => when.some(({ subject }) => subject === 'label'))
}

/** The next request delivers the label, so that the server asks. */
const askedNext = (block: Block, { tool_name: tool }: Decision): Block => ({
  ...block,
  remedy: `${tool} needs a person, who has not been asked yet; it did not run. Call it again to ask.`,
})
