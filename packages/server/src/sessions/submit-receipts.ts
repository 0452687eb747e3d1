import { judgeReceipts } from '@countersign/engine'
import type { Input, Receipt, ReceiptsReply, Routes, SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import {
  advance,
  BEHIND_LOCK,
  BEHIND_WORKFLOW,
  changeSession,
  type Decided,
  leaseFrom,
  type Sight,
  type Write,
} from '../change/change-session.js'
import { standing } from '../change/view.js'
import type { Context } from '../context/context.js'
import { findCalls, type NewReceipt, writeReceipts } from '../store/sessions/receipts.js'
import { rowAfter } from '../store/sessions/session-change.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { holdersAmong, releaseHolds } from '../workflows/held-resources.js'
import { awaitedCalls, type ReceiptBatch, sortReceipts } from './receipt-batch.js'
import { contentOfReceipts } from './stored-content.js'

type Body = Input<Routes['submitReceipts']>['body']
type Result = ReceiptsReply['results'][number]

/**
 * Records execution evidence and resolves the calls it is about. The state advances when all calls of the step have an
 * outcome and one succeeded at the level that its contract requires. A receipt that was recorded gets its answer again.
 */
export async function submitReceipts(
  ctx: Context,
  { params, body }: Input<Routes['submitReceipts']>,
): Promise<ReceiptsReply> {
  return changeSession(ctx, params.session_id, async (sight) => {
    const { session, sql, locked } = sight
    if (body.fence > session.state.fence) throw new ApiError('FENCE_STALE', standing(session))
    const awaited = awaitedCalls(session)
    const ids = body.receipts.map((receipt) => receipt.pending_call_id)
    // The usual case needs no more than the session's row: every call waits for its first receipt.
    const isPlain = body.fence === session.state.fence && ids.every((id) => awaited.has(id))
    if (!isPlain && !locked) return BEHIND_LOCK
    const calls = isPlain ? [] : await findCalls(sql, session, ids)
    const batch = sortReceipts(session, body, new Map(calls.map((call) => [call.pendingCallId, call])))
    return batch.fresh.length + batch.late.length === 0 ? answerAgain(session, body, batch) : record(sight, body, batch)
  })
}

function record(sight: Sight, body: Body, batch: ReceiptBatch): Decided<ReceiptsReply> | typeof BEHIND_WORKFLOW {
  const { session, plan, workflow } = sight
  const fresh = batch.fresh.map(({ receipt }) => receipt)
  const holders = holdersAmong(
    session,
    fresh.map((receipt) => receipt.pending_call_id),
  )
  if (holders.length > 0 && workflow === null) return BEHIND_WORKFLOW
  const receipts = [...batch.fresh, ...batch.late].map(({ receipt }) => receipt)
  const at = isoTime(session.now)
  const judged = judgeReceipts({
    plan,
    state: session.state,
    receipts,
    fence: body.fence,
    salt: session.hashSalt,
    at,
  })
  const next = advance(sight, eventsOf(session, judged, at), judged.state)
  const { committed } = judged.event
  const leaseUntil = batch.fresh.length === 0 ? session.leaseUntil : leaseFrom(session.now, next.state, plan)
  const { state, events, ledger } = next
  const content = contentOfReceipts(session.captureLevel, fresh)
  const change = { session, state, events, ledger, leaseUntil, content }
  const after = rowAfter(change)
  const write = {
    change,
    after,
    receipts: batch.fresh.map(({ receipt, bodyHash }) =>
      newReceipt(receipt, resultOf(judged.results, receipt), {
        body_hash: bodyHash,
        committed,
        recorded_at: at,
        arguments_changed: judged.argumentsChanged.includes(receipt.pending_call_id),
      }),
    ),
    lateReceipts: batch.late.map(({ kept }) => kept),
  }
  const keep: Write = async (sql, proof) => {
    const isWritten = await writeReceipts(sql, write, proof)
    if (isWritten && workflow !== null && holders.length > 0) await releaseHolds(sql, session, workflow, holders)
    return isWritten
  }
  const appends = next.events.length
  const changed = [...judged.argumentsChanged, ...changedBefore(batch)]
  if (changed.length > 0) return { write: keep, appends, after, refusal: argumentsChanged(after, changed) }
  return {
    write: keep,
    appends,
    after,
    reply: replyOf(after, body, {
      committed: committed || batch.repeated.some(({ stored }) => stored.committed),
      results: [...judged.results, ...answersOf(batch)],
    }),
  }
}

/** A tool that ran with other arguments compromises the session; too many failures in a row kill it. */
function eventsOf(session: SessionRow, judged: ReturnType<typeof judgeReceipts>, at: string): SessionEvent[] {
  const events: SessionEvent[] = [{ type: 'receipts', at, body: judged.event }]
  const { status } = session.state
  const isLive = status === 'ACTIVE' || status === 'RECOVERING'
  if (judged.argumentsChanged.length > 0 && isLive) {
    events.push({ type: 'bypass', at, body: { method: null, cause: 'arguments_changed' } })
  } else if (judged.breaker && isLive) {
    events.push({ type: 'killed', at, body: { by: 'breaker' } })
  }
  return events
}

/** Nothing in the batch is new. */
function answerAgain(session: SessionRow, body: Body, batch: ReceiptBatch): Decided<ReceiptsReply> {
  const changed = changedBefore(batch)
  if (changed.length > 0) throw argumentsChanged(session, changed)
  const committed = batch.repeated.some(({ stored }) => stored.committed)
  return { reply: replyOf(session, body, { committed, results: answersOf(batch) }) }
}

const changedBefore = (batch: ReceiptBatch) =>
  batch.repeated.filter(({ stored }) => stored.arguments_changed).map(({ receipt }) => receipt.pending_call_id)

const argumentsChanged = (session: SessionRow, pendingCallIds: string[]) =>
  new ApiError('ARGUMENTS_CHANGED', { ...standing(session), pending_call_ids: pendingCallIds })

/** The answers that need no judgement: recorded before, or evidence from a former holder. */
function answersOf(batch: ReceiptBatch): Result[] {
  const repeated = batch.repeated.map(({ receipt: { pending_call_id }, stored: { outcome, at_level, late } }) => ({
    pending_call_id,
    outcome,
    at_level,
    late,
  }))
  const evidence = [...batch.late.map(({ receipt }) => receipt), ...batch.surplus].map(
    ({ pending_call_id, outcome }) => ({
      pending_call_id,
      outcome,
      at_level: false,
      late: true,
    }),
  )
  return [...repeated, ...evidence]
}

function replyOf(
  session: SessionRow,
  { receipts }: Body,
  { committed, results }: { committed: boolean; results: readonly Result[] },
): ReceiptsReply {
  return {
    results: receipts.map((receipt) => resultOf(results, receipt)),
    committed,
    status: session.state.status,
    state_version: session.state.stateVersion,
    control_revision: session.state.controlRevision,
    labels: [...session.state.labels],
    lease_until: isoTime(session.leaseUntil),
    ledger: session.ledger,
  }
}

/** The first of a call's counts: what was judged just now comes before what was answered earlier. */
function resultOf(results: readonly Result[], { pending_call_id }: Receipt): Result {
  const result = results.find((one) => one.pending_call_id === pending_call_id)
  if (result === undefined) throw new Error(`the receipt of ${pending_call_id} was not judged`)
  return result
}

function newReceipt(
  receipt: Receipt,
  result: Result,
  recorded: Pick<NewReceipt, 'body_hash' | 'committed' | 'recorded_at' | 'arguments_changed'>,
): NewReceipt {
  return {
    pending_call_id: receipt.pending_call_id,
    body_hash: recorded.body_hash,
    outcome: result.outcome,
    evidence_level: receipt.evidence_level,
    at_level: result.at_level,
    late: result.late,
    arguments_changed: recorded.arguments_changed,
    committed: recorded.committed,
    argument_hash: receipt.argument_hash,
    result_hash: receipt.result_hash ?? null,
    started_at: receipt.started_at ?? null,
    finished_at: receipt.finished_at ?? null,
    error_code: receipt.error_code ?? null,
    // Free text that an approver wrote is content.
    approvals: receipt.approvals?.map(({ reason: _, ...rest }) => rest) ?? null,
    recorded_at: recorded.recorded_at,
  }
}
