import { LIMITS, type PendingCallView, type Receipt } from '@countersign/protocol'
import type { Evidence } from '../authority.js'
import { isAboutContent, isTooCostly } from '../refusals.js'
import { ServiceRefusal, ServiceThrottled } from '../transport.js'

/** Receipts that have not reached the server yet. They are sent in order, and again until they get there. */
export interface Outbox {
  add(receipts: readonly Receipt[]): void
  /** Sends all that is unsent; null then. Otherwise why not, as `send` throws it; then it is tried again later. */
  deliver(send: SendReceipts): Promise<Undelivered | null>
  /**
   * The last chance of receipts that a used-up quota keeps back: tries for as long as one of a minute takes to fill, and
   * not at all where the server says that it takes longer. Returns how many it still keeps back.
   */
  insist(send: SendReceipts): Promise<number>
  count(): number
  /** Remembers the evidence of a call that was decided here, in case the server turns out to have allowed it too. */
  remember(evidence: Evidence): void
  /** That evidence, as a receipt for the server's pending call; null when this call did not run here. */
  evidenceFor(call: PendingCallView): Receipt | null
  stop(): void
}

/** Throws what the transport throws. */
export type SendReceipts = (receipts: readonly Receipt[]) => Promise<unknown>

export interface Undelivered {
  readonly why: unknown
}

const REMEMBERED = 256
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000
const QUOTA_FILLS_MS = 60_000

export function createOutbox(): Outbox {
  let unsent: Receipt[] = []
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS
  let stopped = false
  /** How the last attempt found the quota used up; null: it did not. */
  let keptBack: ServiceThrottled | null = null
  const remembered = new Map<string, Evidence>()
  let delivering: Promise<Undelivered | null> | null = null

  const retryLater = (send: SendReceipts): void => {
    if (stopped || retry !== undefined) return
    retry = setTimeout(() => {
      retry = undefined
      void deliver(send)
    }, retryMs)
    retry.unref()
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)
  }

  async function sendBatch(batch: readonly Receipt[], send: SendReceipts): Promise<void> {
    try {
      await send(batch)
    } catch (error) {
      if (!(error instanceof ServiceRefusal) || saysNothingOfIt(error)) throw error
      const [receipt] = batch
      // One receipt that the server refuses must not hold up the others.
      if (batch.length > 1) for (const one of batch) await sendBatch([one], send)
      else if (receipt !== undefined && (isAboutContent(error) || isTooCostly(error)) && hasContent(receipt))
        await sendBatch([bare(receipt)], send)
    }
  }

  async function deliverAll(send: SendReceipts): Promise<Undelivered | null> {
    try {
      while (unsent.length > 0) {
        const batch = unsent.slice(0, LIMITS.receiptsPerBatch)
        await sendBatch(batch, send)
        unsent = unsent.slice(batch.length)
      }
      retryMs = FIRST_RETRY_MS
      keptBack = null
      return null
    } catch (error) {
      keptBack = error instanceof ServiceThrottled ? error : null
      retryLater(send)
      return { why: error }
    }
  }

  async function insist(send: SendReceipts): Promise<number> {
    const endMs = performance.now() + QUOTA_FILLS_MS
    while (keptBack !== null && performance.now() + (keptBack.retryAfterMs ?? 0) < endMs) {
      await new Promise((resolve) => setTimeout(resolve, FIRST_RETRY_MS))
      await deliver(send)
    }
    return keptBack === null ? 0 : unsent.length
  }

  async function deliver(send: SendReceipts): Promise<Undelivered | null> {
    delivering ??= deliverAll(send).finally(() => {
      delivering = null
    })
    const undelivered = await delivering
    return undelivered === null && unsent.length > 0 ? deliver(send) : undelivered
  }

  return {
    add(receipts) {
      unsent.push(...receipts)
    },
    deliver,
    insist,
    count: () => unsent.length,
    remember(evidence) {
      remembered.set(evidence.call.callId, evidence)
      const oldest = remembered.keys().next()
      if (remembered.size > REMEMBERED && !oldest.done) remembered.delete(oldest.value)
    },
    evidenceFor({ call_id, tool_name, pending_call_id, argument_hash }) {
      const known = remembered.get(call_id)
      if (known === undefined || known.call.toolName !== tool_name) return null
      const { approvals: _, ...receipt } = known.receipt
      // A provider may use an id again: what ran is this call only if it ran with these arguments.
      return receipt.argument_hash === argument_hash ? { ...receipt, pending_call_id } : null
    },
    stop() {
      stopped = true
      clearTimeout(retry)
    },
  }
}

/** A revoked key or a quota that is used up says nothing about the receipt: it stays unsent. */
const saysNothingOfIt = (error: ServiceRefusal): boolean =>
  error.status === 401 || error.status === 403 || error instanceof ServiceThrottled

const hasContent = ({ outputs, result, error_code, approvals }: Receipt): boolean =>
  [outputs, result, error_code, approvals].some((part) => part !== undefined)

/** That the tool ran must get through, whatever it returned: without it the call would count as not executed. */
function bare({
  outputs: _outputs,
  result: _result,
  error_code: _code,
  approvals: _approvals,
  ...rest
}: Receipt): Receipt {
  return rest
}
