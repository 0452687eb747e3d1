import { type CallFlow, isLive, type JsonObject, type LeafFlow } from '@countersign/protocol'
import type { PreparedContract } from '../contract/plan.js'
import { saltedHash } from '../json/hash.js'
import { leavesOf } from '../json/leaves.js'
import type { ToolCall } from '../response/tool-call.js'
import type { StateQuestion } from '../state/questions.js'
import type { Proposal } from './proposal.js'

/** Where the call's arguments were seen; null where no rule asks, or the client did not say. */
export function flowFor(
  proposal: Proposal,
  { sources, definition }: PreparedContract,
  call: ToolCall,
): CallFlow | null {
  if (sources.length === 0 && definition.surprise === undefined) return null
  const { flows } = proposal
  return (
    flowWhenAsked(proposal, call) ??
    flows?.calls.find((item) => item.call_id === call.id && item.tool === call.name) ??
    null
  )
}

/** Of a call that people are asked about: the process that runs it may know nothing of the conversation. */
function flowWhenAsked({ people, state, salt }: Proposal, { name, arguments: args }: ToolCall): CallFlow | undefined {
  if (!people || people.flows.size === 0 || args === null) return undefined
  const hash = saltedHash(salt, args)
  const isMeant = (one: StateQuestion) => one.tool === name && (one.editedHash ?? one.hash) === hash
  const question = state.questions?.find((one) => people.flows.has(one.id) && isLive(one.state) && isMeant(one))
  const flow = question === undefined ? undefined : people.flows.get(question.id)
  return flow === undefined || question?.editedHash === undefined ? flow : alignedFlow(flow, args)
}

/** What was seen of the values that are left of a call when a person has left some out. Of new values nothing is known. */
export function alignedFlow(flow: CallFlow, edited: JsonObject): CallFlow {
  const seen = new Map<string, LeafFlow[]>()
  for (const leaf of flow.leaves) seen.set(leaf.path, [...(seen.get(leaf.path) ?? []), leaf])
  const leaves = leavesOf(edited).leaves.map(
    ({ path }): LeafFlow => seen.get(path)?.shift() ?? { path, kind: 'empty', sources: [] },
  )
  return { ...flow, leaves }
}
