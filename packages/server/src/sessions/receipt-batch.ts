import { saltedHash } from '@countersign/engine'
import { type JsonValue, LIMITS, type Receipt } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { sessionProblem } from '../change/session-view.js'
import type { KnownCall, NewLateReceipt, StoredReceipt } from '../store/sessions/receipts.js'
import type { SessionRow } from '../store/sessions/session-row.js'

/** A batch of receipts, sorted by what each of them can still do. */
export interface ReceiptBatch {
  /** Recorded before, word for word: they get the same reply again. */
  readonly repeated: readonly { readonly receipt: Receipt; readonly stored: StoredReceipt }[]
  /** They resolve calls that wait for them. */
  readonly fresh: readonly { readonly receipt: Receipt; readonly bodyHash: string }[]
  /** From a former holder: evidence to store. */
  readonly late: readonly { readonly receipt: Receipt; readonly stored: NewLateReceipt }[]
  /** From a former holder, stored before or beyond what is stored of one call. */
  readonly surplus: readonly Receipt[]
}

/** The calls of the open step that have no receipt. */
export function awaitedCalls({ head: { state } }: SessionRow): ReadonlySet<string> {
  const calls = state.open?.calls ?? []
  return new Set(calls.filter((call) => call.state !== 'resolved').map((call) => call.pending_call_id))
}

/**
 * Sorts a batch. `known` holds the calls that were looked up; a
 * call that is neither awaited nor known is 404.
 */
export function sortReceipts(
  session: SessionRow,
  batch: { readonly fence: number; readonly receipts: readonly Receipt[] },
  known: ReadonlyMap<string, KnownCall>,
): ReceiptBatch {
  const isLate = batch.fence !== session.head.state.fence
  const awaited = awaitedCalls(session)
  const sorted = { repeated: [], fresh: [], late: [], surplus: [] } as Mutable<ReceiptBatch>
  for (const [bodyHash, receipt] of distinct(session, batch.receipts)) {
    const id = receipt.pending_call_id
    const call = known.get(id)
    if (call === undefined && (isLate || !awaited.has(id))) throw new ApiError('NOT_FOUND')
    const stored = call?.receipt ?? null
    if (stored?.body_hash === bodyHash) sorted.repeated.push({ receipt, stored })
    else if (isLate) sortLate(sorted, { receipt, bodyHash, fence: batch.fence, lateHashes: call?.lateHashes ?? [] })
    else if (stored === null) sorted.fresh.push({ receipt, bodyHash })
    else throw conflict(session, id)
  }
  return sorted
}

type Mutable<T> = { [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : T[Key] }

function sortLate(
  sorted: Mutable<ReceiptBatch>,
  item: { receipt: Receipt; bodyHash: string; fence: number; lateHashes: readonly string[] },
): void {
  const { receipt, bodyHash, fence, lateHashes } = item
  if (lateHashes.includes(bodyHash) || lateHashes.length >= LIMITS.lateReceiptsPerCall) {
    sorted.surplus.push(receipt)
    return
  }
  const { pending_call_id, outcome, evidence_level, argument_hash } = receipt
  const stored = {
    pending_call_id,
    number: lateHashes.length + 1,
    fence,
    body_hash: bodyHash,
    outcome,
    evidence_level,
    argument_hash,
    result_hash: receipt.result_hash ?? null,
  }
  sorted.late.push({ receipt, stored })
}

/** One receipt per call: two that are equal are one, two that differ contradict each other. */
function distinct(session: SessionRow, receipts: readonly Receipt[]): [bodyHash: string, Receipt][] {
  const byCall = new Map<string, [string, Receipt]>()
  for (const receipt of receipts) {
    const bodyHash = saltedHash(session.fixed.hashSalt, receipt as unknown as JsonValue)
    const other = byCall.get(receipt.pending_call_id)
    if (other !== undefined && other[0] !== bodyHash) throw conflict(session, receipt.pending_call_id)
    byCall.set(receipt.pending_call_id, [bodyHash, receipt])
  }
  return [...byCall.values()]
}

const conflict = (session: SessionRow, pendingCallId: string) =>
  new ApiError('RECEIPT_CONFLICT', { ...sessionProblem(session), pending_call_id: pendingCallId })
