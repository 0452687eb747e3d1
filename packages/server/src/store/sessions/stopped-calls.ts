import type { BlockReason, LedgerBody } from '@countersign/protocol'
import type { SessionChange } from './session-change.js'

/** An allowed call that a person, a constraint or a control stopped before it ran. */
export interface StoppedCall {
  readonly proposal_id: string
  readonly call_index: number
  readonly proposed_at: string
  readonly reason: BlockReason
}

/** The calls of the session's open step that the receipts of a change report as stopped. */
export function stoppedCalls({ session, events, receipts }: SessionChange): readonly StoppedCall[] {
  const { open } = session.head.state
  if (receipts === undefined || receipts.length === 0 || open === null) return NONE
  const body = events[0]?.body as unknown as LedgerBody<'receipts'>
  const stopped: StoppedCall[] = []
  for (const { pending_call_id: id, block_reason: reason } of body.receipts) {
    const call = reason === undefined ? undefined : open.calls.find((one) => one.pending_call_id === id)
    if (call === undefined || reason === undefined) continue
    stopped.push({ proposal_id: open.proposalId, call_index: call.index, proposed_at: call.proposed_at, reason })
  }
  return stopped
}

const NONE: readonly StoppedCall[] = []

/** The CTE `stops`: the calls of the value `stopped`, noted for the session in `changed`. */
export const NOTE_STOPPED_CALLS = `stops as (
    insert into stopped_calls (tenant_id, at, session_id, proposal_id, call_index, proposed_at, reason)
    select changed.tenant_id, :stopped_at::text::timestamptz, changed.session_id, c.proposal_id, c.call_index,
      c.proposed_at, c.reason
    from changed, json_to_recordset(:stopped::text::json)
      as c (proposal_id text, call_index int, proposed_at timestamptz, reason text)
    on conflict do nothing
  )`
