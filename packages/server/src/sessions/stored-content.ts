import type { Plan, ReadResponse } from '@countersign/engine'
import { BLOCK_REASONS, type CaptureLevel, type Decision, type JsonValue, type Receipt } from '@countersign/protocol'
import { storedPath } from '../base/stored-path.js'
import { type NewContent, newContent } from '../store/sessions/content.js'

interface RecordedProposal {
  readonly proposalId: string
  readonly response: ReadResponse
  /** The response as the client sent it. */
  readonly sent: JsonValue
  readonly decisions: readonly Decision[]
}

/**
 * What a capture level lets us store of a proposal. `metadata`: nothing. `redacted`: arguments, and what was found
 * where a call was blocked. `full`: the whole response besides.
 */
export function contentOfProposal(
  level: CaptureLevel,
  { proposalId, response, sent, decisions }: RecordedProposal,
): NewContent[] {
  if (level === 'metadata') return []
  const content: NewContent[] = []
  const calls = response.calls.map(({ index, id, name, arguments: parsed, argumentsText }) => ({
    index,
    call_id: id,
    tool_name: name,
    arguments: parsed ?? argumentsText,
  }))
  if (calls.length > 0) content.push(newContent('arguments', proposalId, calls))
  if (decisions.some((decision) => decision.reasons.length > 0)) {
    content.push(newContent('decisions', proposalId, decisions as unknown as JsonValue))
  }
  if (level === 'full') content.push(newContent('response', proposalId, sent))
  return content
}

/** What a capture level lets us store of receipts: what approvers wrote, and at `full` the results. */
export function contentOfReceipts(level: CaptureLevel, receipts: readonly Receipt[]): NewContent[] {
  const content: NewContent[] = []
  if (level === 'metadata') return content
  for (const { pending_call_id: ref, approvals = [], result } of receipts) {
    const reasons = approvals.flatMap(({ checkpoint_id, reason }) =>
      reason === undefined ? [] : [{ checkpoint_id, reason }],
    )
    if (reasons.length > 0) content.push(newContent('approval', ref, reasons))
    if (level === 'full' && result !== undefined) content.push(newContent('result', ref, result))
  }
  return content
}

/** Decisions without values, names and sentences of the model's: the part that is no content. */
export function withoutContent(decisions: readonly Decision[], plan: Plan): Decision[] {
  const bare: Decision[] = []
  for (const decision of decisions) {
    if (decision.reasons.length === 0) {
      bare.push(decision)
      continue
    }
    const contract = plan.contracts.get(decision.tool_name)
    const failuresOf = ({ failures }: Pick<Decision, 'failures'>) =>
      failures.map(({ path, operator, contract_file }) => ({
        path: storedPath(path, contract),
        operator,
        ...(contract_file === undefined ? {} : { contract_file }),
      }))
    bare.push({
      ...decision,
      remedy: decision.reason === null ? null : BLOCK_REASONS[decision.reason].meaning,
      failures: failuresOf(decision),
      reasons: decision.reasons.map((block) => ({
        ...block,
        remedy: BLOCK_REASONS[block.reason].meaning,
        failures: failuresOf(block),
      })),
    })
  }
  return bare
}
