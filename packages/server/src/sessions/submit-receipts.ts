import { judgeReceipts } from '@countersign/engine'
import type { Input, LedgerBody, Receipt, ReceiptsReply, Routes, SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { advance } from '../change/advance.js'
import {
  type ChangeResult,
  changeSession,
  type LoadedSession,
  NEEDS_LOCK,
  NEEDS_WORKFLOW_LOCK,
} from '../change/change-session.js'
import { sessionProblem } from '../change/session-view.js'
import { countsOfReceipts, stickyLabelsOfReceipts } from '../change/shared-limits.js'
import type { Context } from '../context/context.js'
import { findCalls, type KnownCall, type NewReceipt } from '../store/sessions/receipts.js'
import type { SessionChange } from '../store/sessions/session-change.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { holdersAmong, releaseResources } from '../workflows/held-resources.js'
import { preparedBefore, prepareNext } from './prepared-request.js'
import { awaitedCalls, type ReceiptBatch, sortReceipts } from './receipt-batch.js'
import { contentOfReceipts } from './stored-content.js'

type Body = Input<Routes['submitReceipts']>['body']
type Result = ReceiptsReply['results'][number]

/**
 * Records execution evidence and resolves the calls it is about. The state advances when all calls of the step have an
 * outcome and one succeeded at the level that its contract requires. A receipt that was recorded gets the same reply again.
 * The request of the next turn may be prepared in the same write.
 */
export async function submitReceipts(
  ctx: Context,
  { params, body }: Input<Routes['submitReceipts']>,
): Promise<ReceiptsReply> {
  return changeSession(ctx, params.session_id, async (loaded) => {
    const { session, query, locked } = loaded
    if (body.fence > session.head.state.fence) throw new ApiError('FENCE_STALE', sessionProblem(session))
    const awaited = awaitedCalls(session)
    const ids = body.receipts.map((receipt) => receipt.pending_call_id)
    // The usual case needs no more than the session's row: every call waits for its first receipt.
    const isPlain = body.fence === session.head.state.fence && ids.every((id) => awaited.has(id))
    if (!isPlain && !locked) return NEEDS_LOCK
    const calls = isPlain ? [] : await query((sql) => findCalls(sql, session, ids))
    return judge(ctx, loaded, body, calls)
  })
}

type Judged = ChangeResult<ReceiptsReply> | typeof NEEDS_WORKFLOW_LOCK

async function judge(ctx: Context, loaded: LoadedSession, body: Body, calls: readonly KnownCall[]): Promise<Judged> {
  const { session } = loaded
  const batch = sortReceipts(session, body, new Map(calls.map((call) => [call.pendingCallId, call])))
  if (batch.fresh.length + batch.late.length === 0) return answerAgain(loaded, body, batch)
  return record(ctx, loaded, body, batch)
}

async function record({ app }: Context, loaded: LoadedSession, body: Body, batch: ReceiptBatch): Promise<Judged> {
  const { session, plan, workflow } = loaded
  const { fixed, head: before } = session
  const fresh = batch.fresh.map(({ receipt }) => receipt)
  const holders = holdersAmong(
    session,
    fresh.map((receipt) => receipt.pending_call_id),
  )
  if (holders.length > 0 && workflow === null) return NEEDS_WORKFLOW_LOCK
  const receipts = [...batch.fresh, ...batch.late].map(({ receipt }) => receipt)
  const at = isoTime(session.now)
  const judged = judgeReceipts({ plan, state: before.state, receipts, fence: body.fence, salt: fixed.hashSalt, at })
  const { head, events } = advance(loaded, eventsOf(session, judged, at), {
    leaseUntil: batch.fresh.length === 0 ? before.leaseUntil : 'renewed',
    first: judged.state,
  })
  const { committed } = judged.event
  const change: SessionChange = {
    session,
    head,
    events,
    content: contentOfReceipts(fixed.captureLevel, fresh),
    receipts: batch.fresh.map(({ receipt, bodyHash }) =>
      newReceipt(receipt, resultOf(judged.results, receipt), {
        body_hash: bodyHash,
        committed,
        recorded_at: at,
        arguments_changed: judged.argumentsChanged.includes(receipt.pending_call_id),
        ...stopReasonOf(judged.event, receipt),
      }),
    ),
    lateReceipts: batch.late.map(({ stored }) => stored),
    counts: countsOfReceipts(loaded, judged.event),
    sticky: stickyLabelsOfReceipts(loaded, judged.event),
    workflow: workflow === null || holders.length === 0 ? undefined : releaseResources(session, workflow, holders),
  }
  const after = { fixed, head, now: session.now }
  const changed = [...judged.argumentsChanged, ...changedBefore(batch)]
  if (changed.length > 0) return { change, refusal: argumentsChanged(after, changed) }
  // In a thread a request may be refused for the time that it takes, and evidence must not be.
  const asked = body.fence === before.state.fence && app.isInPlace ? body.next : undefined
  const next = asked === undefined ? null : await prepareNext(loaded, { session: after, plan }, asked)
  const reply = replyOf(next === null ? after : { ...after, head: next.head }, body, {
    committed: committed || batch.repeated.some(({ stored }) => stored.committed),
    results: [...judged.results, ...answersOf(batch)],
    next: next?.reply ?? null,
  })
  return { change: next === null ? change : { ...change, ...next.change, head: next.head }, reply }
}

/** A tool that ran with other arguments compromises the session; too many failures in a row kill it. */
function eventsOf(session: SessionRow, judged: ReturnType<typeof judgeReceipts>, at: string): SessionEvent[] {
  const events: SessionEvent[] = [{ type: 'receipts', at, body: judged.event }]
  const { status } = session.head.state
  const isLive = status === 'ACTIVE' || status === 'RECOVERING'
  if (judged.argumentsChanged.length > 0 && isLive) {
    events.push({ type: 'bypass', at, body: { method: null, cause: 'arguments_changed' } })
  } else if (judged.breaker && isLive) {
    events.push({ type: 'killed', at, body: { by: 'breaker' } })
  }
  return events
}

/** Nothing in the batch is new. */
function answerAgain(loaded: LoadedSession, body: Body, batch: ReceiptBatch): ChangeResult<ReceiptsReply> {
  const { session } = loaded
  const changed = changedBefore(batch)
  if (changed.length > 0) throw argumentsChanged(session, changed)
  const committed = batch.repeated.some(({ stored }) => stored.committed)
  const next = body.next === undefined ? null : preparedBefore(loaded, body.next)
  return { reply: replyOf(session, body, { committed, results: answersOf(batch), next }) }
}

const changedBefore = (batch: ReceiptBatch) =>
  batch.repeated.filter(({ stored }) => stored.arguments_changed).map(({ receipt }) => receipt.pending_call_id)

const argumentsChanged = (session: SessionRow, pendingCallIds: string[]) =>
  new ApiError('ARGUMENTS_CHANGED', { ...sessionProblem(session), pending_call_ids: pendingCallIds })

/** The results that need no judgement: recorded before, or evidence from a former holder. */
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
  { head: { state, leaseUntil, ledger } }: SessionRow,
  { receipts }: Body,
  { committed, results, next }: Pick<ReceiptsReply, 'committed' | 'next'> & { results: readonly Result[] },
): ReceiptsReply {
  return {
    results: receipts.map((receipt) => resultOf(results, receipt)),
    committed,
    status: state.status,
    state_version: state.stateVersion,
    control_revision: state.controlRevision,
    labels: [...state.labels],
    lease_until: isoTime(leaseUntil),
    ledger,
    next,
  }
}

/** The first of a call's counts: what was judged just now comes before what was recorded earlier. */
function resultOf(results: readonly Result[], { pending_call_id }: Receipt): Result {
  const result = results.find((one) => one.pending_call_id === pending_call_id)
  if (result === undefined) throw new Error(`the receipt of ${pending_call_id} was not judged`)
  return result
}

function newReceipt(
  receipt: Receipt,
  result: Result,
  recorded: Pick<NewReceipt, 'body_hash' | 'committed' | 'recorded_at' | 'arguments_changed' | 'block_reason'>,
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
    ...(recorded.block_reason !== undefined && { block_reason: recorded.block_reason }),
  }
}

/** Why a call was stopped before it ran, where it was. */
function stopReasonOf(
  { receipts }: LedgerBody<'receipts'>,
  { pending_call_id, outcome }: Receipt,
): Pick<NewReceipt, 'block_reason'> {
  if (outcome !== 'not_executed') return {}
  const reason = receipts.find((one) => one.pending_call_id === pending_call_id)?.block_reason
  return reason === undefined ? {} : { block_reason: reason }
}
