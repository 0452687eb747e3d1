import type { BlockReason, LedgerBody } from '@countersign/protocol'
import { isoTime } from '../../base/iso-time.js'
import type { NewAuditEntry } from '../audit.js'
import type { NewContent } from './content.js'
import type { NewEvent } from './ledger.js'
import type { NewReceipt } from './receipts.js'
import { holdsEndAfterKill } from './resource-holds.js'
import type { SessionChange } from './session-change.js'
import { facetsOf } from './session-facets.js'
import { textOf } from './session-head.js'
import type { SessionRow } from './session-row.js'
import type { StickyLabels } from './sticky-labels.js'

/** What a function takes by no argument of its own. */
interface Rest {
  /** After the first. */
  readonly events?: readonly NewEvent[]
  readonly receipts?: readonly NewReceipt[]
  readonly content?: readonly NewContent[] | undefined
}

/** The argument `extras` of a write, as `write_extras` reads it. Null: the change has none, like most. */
export function extrasOf(change: SessionChange, { events, receipts, content }: Rest): string | null {
  const { session, head, lateReceipts, superseded, counts, sticky } = change
  const extras: string[] = []
  const add = (name: string, json: string) => extras.push(`"${name}":${json}`)
  const addList = (name: string, list: readonly object[] | undefined) => {
    if (list !== undefined && list.length > 0) add(name, JSON.stringify(list))
  }
  addList('events', events)
  if (change.created === undefined) addStatus(add, change)
  const facets = facetsOf(change)
  if (facets.length > 0) {
    addList('facets', facets)
    add('created_at', JSON.stringify(session.fixed.createdAt))
  }
  if (content !== undefined && content.length > 0) add('content', contentText(content))
  addList('receipts', receipts)
  addList('late', lateReceipts)
  addList('stopped', stoppedCalls(change))
  if (superseded) add('superseded', textOf(superseded))
  if (isKilledInWorkflow(change)) add('holds_end', JSON.stringify(holdsEndAfterKill(session.now)))
  const audit = change.audit ?? breakerEntry(change)
  if (audit !== undefined) add('audit', auditText(audit))
  addFindable(add, session, change.findBy ?? [])
  if (sticky !== undefined) add('sticky', stickyText(sticky))
  addList('counts', counts)
  if (extras.length === 0) return null
  add('at', JSON.stringify(isoTime(session.now)))
  add('seq', String(head.ledger.seq - (events?.length ?? 0)))
  return `{${extras.join()}}`
}

type Add = (name: string, json: string) => void

function addStatus(add: Add, { session, head }: SessionChange): void {
  const { status, endedAt } = head.state
  if (status === session.head.state.status && endedAt === session.head.state.endedAt) return
  add('status', JSON.stringify(status))
  if (endedAt !== undefined) add('ended_at', JSON.stringify(endedAt))
}

/** Bodies are JSON already, and are stored to the letter. */
const contentText = (content: readonly NewContent[]): string =>
  `[${content.map(({ kind, ref, text }) => `{"kind":"${kind}","ref":${JSON.stringify(ref)},"body":${text}}`).join(',')}]`

/** What the calls of a killed session hold must come free, even if no receipt comes. */
const isKilledInWorkflow = ({ session, head }: SessionChange): boolean =>
  session.fixed.workflowId !== null && head.state.status === 'KILLED' && session.head.state.status !== 'KILLED'

/** A circuit breaker kills in the course of a request: that is done by the service, not by whoever sent the request. */
function breakerEntry({ session: { fixed }, events }: SessionChange): NewAuditEntry | undefined {
  if (!events.some(({ type, body }) => type === 'killed' && body.by === 'breaker')) return undefined
  const { tenantId, sessionId } = fixed
  return {
    tenantId,
    action: 'session_killed',
    actor: 'system',
    subject: sessionId,
    detail: 'the circuit breaker tripped',
  }
}

const auditText = ({ action, userId, actor, signedInBy, keyId, ip, subject, detail }: NewAuditEntry): string =>
  JSON.stringify({ action, user_id: userId, actor, signed_in_by: signedInBy, key_id: keyId, ip, subject, detail })

const stickyText = ({ owner, added, settled }: StickyLabels): string =>
  JSON.stringify({ owner, added: added.map(({ label, callId }) => ({ label, call_id: callId ?? '' })), settled })

function addFindable(add: Add, { fixed, head }: SessionRow, ids: readonly string[]): void {
  const { agent } = head.state
  if (ids.length === 0 || agent === null || fixed.environment === null) return
  add('find', JSON.stringify({ agent, environment: fixed.environment, ids }))
}

/** An allowed call that a person, a constraint or a control stopped before it ran. */
interface StoppedCall {
  readonly proposal_id: string
  readonly call_index: number
  readonly proposed_at: string
  readonly reason: BlockReason
}

/** The calls of the session's open step that the receipts of a change report as stopped. */
function stoppedCalls({ session, events, receipts }: SessionChange): readonly StoppedCall[] {
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
