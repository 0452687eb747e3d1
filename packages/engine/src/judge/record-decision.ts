import type { Decision, LedgerCall } from '@countersign/protocol'
import { saltedHash, sha256Hex } from '../json/hash.js'
import { callRecord, type HeldResource } from './call-effects.js'
import type { LadderResult } from './judge-call.js'
import type { Proposal } from './proposal.js'

/** One call, decided: what goes on the wire, what the ledger records, what the call holds. */
export interface RecordedDecision {
  readonly decision: Decision
  readonly record: LedgerCall
  readonly holds: readonly HeldResource[]
}

/** Turns what the rules say of one call into its decision on the wire and its record in the ledger. */
export function recordDecision(
  proposal: Proposal,
  result: LadderResult,
  registers: boolean,
  isHashed: boolean,
): RecordedDecision {
  const { call, contract, blocks, checkpoints } = result
  const isAllowed = blocks.length === 0
  const isRegistered = isAllowed && registers
  const pendingCallId = isRegistered ? result.pendingCallId : null
  const level = proposal.evidence === 'reported' ? 'reported' : (contract?.commitRequirement ?? 'executed')
  const decision: Decision = {
    index: call.index,
    call_id: call.id,
    tool_name: call.name,
    decision: isAllowed ? 'allow' : 'block',
    pending_call_id: pendingCallId,
    idempotency_key: isRegistered && isHashed ? sha256Hex(`${proposal.ids.sessionId}:${result.pendingCallId}`) : null,
    argument_hash: hashOfArguments(proposal, result, isHashed),
    reason: blocks[0]?.reason ?? null,
    reasons: [...blocks],
    remedy: isAllowed ? null : [...new Set(blocks.map(({ remedy }) => remedy))].join(' '),
    failures: isAllowed ? [] : blocks.flatMap(({ failures }) => failures),
    contract_file: contract?.file ?? null,
    checkpoint_required: isAllowed && checkpoints.length > 0,
    checkpoints: isAllowed ? [...checkpoints] : [],
    output_paths: isRegistered ? [...(contract?.outputPaths ?? [])] : [],
    commit_requirement: level,
  }
  if (!isRegistered || result.consequences === null) return { decision, record: callRecord(decision), holds: [] }
  const { effects, holds } = result.consequences
  return { decision, record: callRecord(decision, effects), holds }
}

/** Stands in for a hash that is not needed. */
const NOT_HASHED = ''

function hashOfArguments({ salt }: Proposal, { call, argumentHash }: LadderResult, isHashed: boolean): string | null {
  if (argumentHash !== null || call.arguments === null) return argumentHash
  return isHashed ? saltedHash(salt, call.arguments) : NOT_HASHED
}
