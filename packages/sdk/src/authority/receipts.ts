import { checkStrictValue, holdsNul, readOutputs, saltedHash } from '@countersign/engine'
import type { BlockReason, CaptureLevel, JsonValue, Outcome, Receipt } from '@countersign/protocol'
import { writtenJson } from '../base/written-json.js'
import type { OpenCall } from './open-calls.js'

/** What became of a call that the wrapper ran. */
export interface Execution {
  readonly outcome: Outcome
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly result?: unknown
  readonly errorCode?: string
}

export interface EvidenceSettings {
  readonly salt: string
  readonly captureLevel: CaptureLevel
}

const MAX_RESULT_LENGTH = 256 * 1024

/** The wrapper's own evidence: it ran the tool with the allowed arguments and saw this result. */
export function executedReceipt(
  call: OpenCall,
  execution: Execution,
  { salt, captureLevel }: EvidenceSettings,
): Receipt {
  const hasSucceeded = execution.outcome === 'succeeded'
  const result = hasSucceeded ? writtenJson(execution.result) : undefined
  const receipt = reportedReceipt(call, execution.outcome)
  receipt.evidence_level = 'executed'
  receipt.started_at = execution.startedAt.toISOString()
  receipt.finished_at = execution.finishedAt.toISOString()
  if (result !== undefined) Object.assign(receipt, resultEvidence(call, result, salt))
  else if (hasSucceeded) receipt.result_unhashable = true
  if (result !== undefined && captureLevel === 'full' && canBeStored(result)) receipt.result = result
  if (execution.errorCode !== undefined) receipt.error_code = execution.errorCode.slice(0, 128)
  return receipt
}

const UNHASHABLE = { result_unhashable: true } as const

/** The report that an allowed call did not run; with the reason if it was stopped. */
export function notExecuted(call: OpenCall, reason: BlockReason | null = call.decision.reason): Receipt {
  const receipt = reportedReceipt(call, 'not_executed')
  if (reason !== null) receipt.block_reason = reason
  return receipt
}

/** What a report needs to know of a call. */
export type RunCall = Pick<OpenCall, 'pendingCallId' | 'argumentHash' | 'approvals'> & {
  readonly decision: Pick<OpenCall['decision'], 'output_paths'>
}

/** The client's report about a call that the wrapper did not run. */
export function reportedReceipt(call: RunCall, outcome: Outcome): Receipt {
  const { pendingCallId, argumentHash, approvals } = call
  const receipt: Receipt = {
    pending_call_id: pendingCallId,
    outcome,
    argument_hash: argumentHash,
    evidence_level: 'reported',
  }
  if (approvals.length > 0) receipt.approvals = [...approvals]
  return receipt
}

/** The program's own account of a call that it ran itself: weaker evidence, with the values that contracts read. */
export function settledReceipt(call: RunCall, outcome: Outcome, given: unknown, salt: string): Receipt {
  const result = outcome === 'succeeded' ? writtenJson(given) : undefined
  return { ...reportedReceipt(call, outcome), ...(result !== undefined && resultEvidence(call, result, salt)) }
}

function resultEvidence(
  call: RunCall,
  result: JsonValue,
  salt: string,
): Pick<Receipt, 'result_hash' | 'result_unhashable' | 'outputs'> {
  const { output_paths: paths } = call.decision
  const outputs = paths.length === 0 ? undefined : outputsAt(paths, readable(result))
  const hash = hashOf(result, salt)
  return { ...(hash === undefined ? UNHASHABLE : { result_hash: hash }), ...(outputs !== undefined && { outputs }) }
}

/** Undefined where the nesting is deeper than the stack. */
function hashOf(result: JsonValue, salt: string): string | undefined {
  try {
    return saltedHash(salt, result)
  } catch {
    return undefined
  }
}

/** Undefined where a path cannot be asked about this result: the tool ran all the same, and its receipt must be made. */
function outputsAt(paths: readonly string[], result: JsonValue): Receipt['outputs'] {
  try {
    return readOutputs(paths, result)
  } catch {
    return undefined
  }
}

/** Tools often return JSON as text, ready for the tool message: paths look inside it. */
function readable(result: JsonValue): JsonValue {
  if (typeof result !== 'string' || !/^\s*[[{]/.test(result)) return result
  try {
    return JSON.parse(result)
  } catch {
    return result
  }
}

function canBeStored(result: JsonValue): boolean {
  if (checkStrictValue(result) !== null) return false
  const written = JSON.stringify(result)
  return written.length <= MAX_RESULT_LENGTH && !holdsNul(written)
}
