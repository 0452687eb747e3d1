import type { AskedRule, Decision, DecisionQuestion, LedgerCall, LedgerQuestion } from '@countersign/protocol'
import { saltedHash, sha256Hex } from '../json/hash.js'
import type { StateQuestion } from '../state/questions.js'
import type { NewQuestion } from './asking.js'
import { callRecord, type HeldResource } from './call-effects.js'
import { type CallAsking, type LadderResult, waits } from './judge-call.js'
import type { Proposal } from './proposal.js'
import { waitingText } from './rules/question-texts.js'

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
  { registers, isHashed, question }: Recording,
): RecordedDecision {
  const { call, contract, blocks, checkpoints, asking } = result
  if (asking !== null && waits(result) && (question !== null || asking.standing.kind === 'waiting')) {
    return waitingCall(result, asking, question)
  }
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
  if (!isAllowed && asking !== null) notOf(decision, asking)
  if (!isRegistered || result.consequences === null) return { decision, record: callRecord(decision), holds: [] }
  const { effects, holds } = result.consequences
  if (asking?.standing.kind !== 'approved') return { decision, record: callRecord(decision, effects), holds }
  const { id, cardNo, cardHash, hash } = asking.standing.question
  decision.approval = { question_id: id, card_no: cardNo }
  const rules = namesOf(asking.asked.rules)
  const used = { step: 'used', question_id: id, card_no: cardNo, card_hash: cardHash, asked_hash: hash, rules } as const
  return { decision, record: { ...callRecord(decision, effects), question: used }, holds }
}

/** What is decided beside the call itself. */
export interface Recording {
  readonly registers: boolean
  readonly isHashed: boolean
  /** The question that the call asks from now on. */
  readonly question: NewQuestion | null
}

/** A call that is blocked for what became of its question names it. */
function notOf(decision: Decision, { standing }: CallAsking): void {
  if (standing.kind === 'refused' || standing.kind === 'ended') decision.question = shownQuestion(standing.question)
}

const shownQuestion = (question: StateQuestion): DecisionQuestion => ({
  question_id: question.id,
  state: question.state,
  have: question.yes.length,
  needed: question.needed,
  expires_at: question.until,
})

/** A call that people are asked about is not registered: it holds nothing, and nobody waits for its receipt. */
function waitingCall(
  { call, contract }: LadderResult,
  { asked, standing, triggers, hash }: CallAsking,
  question: NewQuestion | null,
): RecordedDecision {
  const before = standing.kind === 'waiting' ? standing : null
  const shown: DecisionQuestion =
    before === null
      ? {
          question_id: question?.id ?? '',
          state: 'waiting',
          have: 0,
          needed: asked.needed,
          expires_at: asked.expiresAt,
        }
      : { ...shownQuestion(before.question), ...(before.edited && { edited: true as const }) }
  const decision: Decision = {
    index: call.index,
    call_id: call.id,
    tool_name: call.name,
    decision: 'block',
    pending_call_id: null,
    idempotency_key: null,
    argument_hash: hash,
    reason: null,
    reasons: [],
    remedy: waitingText(call.name, shown.question_id),
    failures: [],
    contract_file: contract?.file ?? null,
    checkpoint_required: false,
    checkpoints: [],
    output_paths: [],
    commit_requirement: contract?.commitRequirement ?? 'executed',
    question: shown,
  }
  return { decision, record: { ...callRecord(decision), question: recordOf(shown, question, triggers) }, holds: [] }
}

function recordOf(shown: DecisionQuestion, question: NewQuestion | null, triggers: number): LedgerQuestion {
  if (question === null) return { step: 'waiting', question_id: shown.question_id }
  const { id, card, cardHash } = question
  return {
    step: 'asked',
    question_id: id,
    card_no: card.card_no,
    card_hash: cardHash,
    rules: namesOf(card.rules),
    triggers,
    needed: card.needed,
    expires_at: card.expires_at,
  }
}

const namesOf = (rules: readonly AskedRule[]): string[] => rules.map(({ rule }) => rule)

/** Stands in for a hash that is not needed. */
const NOT_HASHED = ''

function hashOfArguments({ salt }: Proposal, { call, argumentHash }: LadderResult, isHashed: boolean): string | null {
  if (argumentHash !== null || call.arguments === null) return argumentHash
  return isHashed ? saltedHash(salt, call.arguments) : NOT_HASHED
}
