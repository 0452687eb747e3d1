import type { JsonValue, LedgerBody, LedgerReceipt, Receipt, ReceiptsReply } from '@countersign/protocol'
import { checkInvariants, type Finder, findAmong } from '../contract/check-invariant.js'
import type { Plan, PreparedBind, Provision } from '../contract/plan.js'
import { applyReceipts } from '../state/apply-receipts.js'
import type { PendingCall, SessionState } from '../state/state.js'
import { bindFacts, establishedValues, slotOfBind } from './call-effects.js'
import { approvalRecords, isApproved, isRefused, stoppedBy } from './checkpoint.js'
import { Room, rowValues } from './row-values.js'
import { tripsOnBlock } from './trips-on-block.js'

/** Receipts with everything that judging them depends on. */
export interface ReceiptBatch {
  readonly plan: Plan
  readonly state: SessionState
  readonly receipts: readonly Receipt[]
  /** The fence that the batch came with. With an old one its receipts are late evidence and resolve nothing. */
  readonly fence: number
  readonly salt: string
  readonly at: string
}

/** What a batch of receipts does to its session. */
export interface ReceiptResult {
  readonly event: LedgerBody<'receipts'>
  /** The session after the event. */
  readonly state: SessionState
  readonly results: ReceiptsReply['results']
  /** Pending calls that ran with other arguments than were allowed: the session is compromised. */
  readonly argumentsChanged: string[]
  /** The circuit breaker has tripped: the session must be killed. */
  readonly breaker: boolean
}

/** Weighs the evidence of a batch. The event contains only facts; `applyEvent` says what they do to the session. */
export function judgeReceipts(batch: ReceiptBatch): ReceiptResult {
  const { plan, state, at } = batch
  const argumentsChanged: string[] = []
  const room = new Room(state)
  const weigh = (receipt: Receipt, index: number): LedgerReceipt => {
    const id = receipt.pending_call_id
    const call = state.open?.calls.find(({ pending_call_id: pending }) => pending === id)
    const isRepeated = batch.receipts.findIndex(({ pending_call_id: other }) => other === id) < index
    const isLate = batch.fence !== state.fence || call?.state === 'resolved' || isRepeated
    if (call === undefined || isLate) return evidence(receipt, batch.salt, { late: true })
    if (receipt.argument_hash !== call.argument_hash) {
      argumentsChanged.push(id)
      return evidence(receipt, batch.salt, { outcome: 'unknown' })
    }
    if (!isAtLevel(receipt, call, plan)) return stopped(receipt, call, batch)
    return proof(receipt, call, batch, room)
  }
  const receipts = batch.receipts.map((receipt, index) => undoing(weigh(receipt, index), batch))
  const next = applyReceipts(state, { type: 'receipts', at, body: { receipts, committed: false } }, plan)
  const isStopped = state.status === 'KILLED' || state.status === 'COMPROMISED'
  const blocks = next.consecutiveBlocks
  const mostErrors = plan.session.session_limits?.circuit_breaker?.consecutive_errors
  return {
    event: { receipts, committed: next.stateVersion > state.stateVersion },
    state: next,
    results: receipts.map(({ pending_call_id, outcome, at_level, late }) => ({
      pending_call_id,
      outcome,
      at_level,
      late: late || isStopped,
    })),
    argumentsChanged,
    breaker:
      (mostErrors !== undefined &&
        next.consecutiveErrors >= mostErrors &&
        next.consecutiveErrors > state.consecutiveErrors) ||
      (blocks > state.consecutiveBlocks && tripsOnBlock(plan, blocks)),
  }
}

type Weighed = Partial<Pick<LedgerReceipt, 'outcome' | 'at_level' | 'late' | 'binds' | 'establishes' | 'satisfies'>>

/** Written out, like `copyState`: a spread here costs several times more than everything else. */
function evidence(receipt: Receipt, salt: string, changes: Weighed): LedgerReceipt {
  const written: LedgerReceipt = {
    pending_call_id: receipt.pending_call_id,
    outcome: changes.outcome ?? receipt.outcome,
    evidence_level: receipt.evidence_level,
    argument_hash: receipt.argument_hash,
    result_hash: receipt.result_hash ?? null,
    started_at: receipt.started_at ?? null,
    finished_at: receipt.finished_at ?? null,
    at_level: changes.at_level ?? false,
    late: changes.late ?? false,
    approvals: receipt.approvals === undefined ? [] : approvalRecords(receipt.approvals, salt),
    binds: changes.binds ?? {},
    establishes: changes.establishes ?? {},
    satisfies: changes.satisfies ?? [],
  }
  if (receipt.result_unhashable === true) written.result_unhashable = true
  return written
}

/** A call that did not prove anything, and why, if it was stopped. */
function stopped(receipt: Receipt, call: PendingCall, { plan, salt }: ReceiptBatch): LedgerReceipt {
  const written = evidence(receipt, salt, {})
  if (receipt.outcome !== 'not_executed') return written
  const reason = receipt.block_reason ?? stoppedBy(call, receipt.approvals ?? [], plan)
  if (isRefused(call, receipt.approvals ?? [])) written.refused = true
  const isAsked = receipt.unanswered === true && call.checkpoints.length > 0 && receipt.approvals === undefined
  if (isAsked) written.unanswered = true
  return reason === null ? written : { ...written, block_reason: reason }
}

/** `executed` requires times and a result hash, or the word that the result has none; a call with checkpoints also requires the approvals. */
function isAtLevel(receipt: Receipt, call: PendingCall, plan: Plan): boolean {
  if (receipt.outcome !== 'succeeded' || !isApproved(call, receipt.approvals ?? [], plan)) return false
  if (call.commit_requirement === 'reported') return true
  return (
    receipt.evidence_level === 'executed' &&
    (receipt.result_hash !== undefined || receipt.result_unhashable === true) &&
    receipt.started_at !== undefined &&
    receipt.finished_at !== undefined
  )
}

/** What a success at its level widens: bindings, envelopes, and the preconditions whose terms its output meets. */
function proof(receipt: Receipt, call: PendingCall, { plan, salt }: ReceiptBatch, room: Room): LedgerReceipt {
  const contract = plan.contracts.get(call.tool_name)
  if (contract === undefined) return evidence(receipt, salt, { at_level: true })
  const reported = (receipt.outputs ?? {}) as Record<string, JsonValue>
  const outputs = findAmong(reported)
  const ofRows = rowValues(contract, reported, salt, room)
  // A result that was never read proves nothing, not even that something is absent.
  const isRead = receipt.outputs !== undefined
  const met = contract.provides.filter(
    ({ key, withOutput, same }) =>
      (isRead || withOutput.length === 0) &&
      meets(withOutput, outputs) &&
      (same.length === 0 || Object.hasOwn(call.witnesses, key)),
  )
  const source = { find: outputs.first, keys: call.keys ?? NO_KEYS }
  const establishes = { ...establishedValues(contract.establishes, 'output', source), ...ofRows.establishes }
  const proven = evidence(receipt, salt, {
    at_level: true,
    binds: { ...bindFacts(contract.binds, 'output', source, salt), ...ofRows.binds },
    establishes,
    satisfies: met.filter(({ consumed }) => !consumed).map(({ key }) => key),
  })
  const opens = met.filter(({ consumed }) => consumed).map(({ key }) => key)
  const bounds = boundsAfter(contract.establishes, call, establishes)
  const { tightens } = bounds
  const ends = [...bounds.ends, ...ofRows.ends]
  if (opens.length === 0 && tightens.length === 0 && ends.length === 0) return proven
  return {
    ...proven,
    ...(ends.length > 0 && { ends }),
    ...(tightens.length > 0 && { tightens }),
    ...(opens.length > 0 && { opens }),
  }
}

/** A call that ran, or may have, and did not meet terms of which the newest run counts undoes what met them before. */
function undoing(receipt: LedgerReceipt, { plan, state }: ReceiptBatch): LedgerReceipt {
  if (receipt.late || receipt.outcome === 'not_executed') return receipt
  const call = state.open?.calls.find(({ pending_call_id }) => pending_call_id === receipt.pending_call_id)
  const provides = call === undefined ? undefined : plan.contracts.get(call.tool_name)?.provides
  const undoes = (provides ?? []).filter(({ key, latest }) => latest && !receipt.satisfies.includes(key))
  return undoes.length === 0 ? receipt : { ...receipt, undoes: undoes.map(({ key }) => key) }
}

const NO_KEYS: Readonly<Record<string, string>> = {}

/** Envelopes without a key count with all their values; one that the call should have set and did not ends. */
function boundsAfter(
  list: readonly PreparedBind[],
  call: PendingCall,
  establishes: LedgerReceipt['establishes'],
): { readonly tightens: string[]; readonly ends: string[] } {
  const tightens: string[] = []
  const ends: string[] = []
  for (const bind of list) {
    if (bind.rows !== null) continue
    const slot = slotOfBind(bind, call.keys ?? NO_KEYS)
    if (slot === null) continue
    if (!Object.hasOwn(establishes, slot) && !Object.hasOwn(call.establishes, slot)) ends.push(slot)
    else if (bind.key === null) tightens.push(slot)
  }
  return { tightens, ends }
}

const meets = (withOutput: Provision['withOutput'], outputs: Finder): boolean =>
  withOutput.length === 0 || checkInvariants(withOutput, outputs, (path) => path).length === 0
