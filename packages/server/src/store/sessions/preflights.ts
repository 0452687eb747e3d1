import type { NarrowingSnapshot } from '@countersign/protocol'
import { statementByParts, type Values } from '../../postgres/fixed-statement.js'
import type { Queryable } from '../../postgres/sql.js'
import { type KeyProof, PROVEN, proofOf } from './key-proof.js'
import { SET_ASIDE, setAside } from './prepared-requests.js'
import { writeHead, writtenHead } from './session-change.js'
import { changedParts, type HeadPart, partTexts, textOf } from './session-head.js'
import type { PreparedRequest, SessionRow } from './session-row.js'
import { copyRow } from './session-row.js'

export interface PreparedWrite {
  readonly session: SessionRow
  readonly request: PreparedRequest
  readonly lastNarrowing: NarrowingSnapshot
  readonly leaseUntil: Date
}

/** The session's row as `writePreparedRequest` leaves it. */
export function requestRowAfter({ session, request, lastNarrowing, leaseUntil }: PreparedWrite): SessionRow {
  const after = copyRow(session)
  after.stamp = request.digest
  after.leaseUntil = leaseUntil
  if (session.lastNarrowing === null || textOf(session.lastNarrowing) !== textOf(lastNarrowing))
    after.lastNarrowing = lastNarrowing
  if (!request.withTools || session.prepared !== null) after.hasAside = true
  if (request.withTools) after.prepared = request
  return after
}

/**
 * Keeps a prepared request; one with tools becomes the session's, and the one before is void. False when the session
 * was written since it was read, or the id was used before.
 * Not waited for by the disk: a prepared request that a crash loses only makes its proposal fail.
 */
export async function writePreparedRequest(
  sql: Queryable,
  write: PreparedWrite,
  after: SessionRow,
  proof: KeyProof | undefined,
): Promise<boolean> {
  const { session, request } = write
  const aside = request.withTools ? session.prepared : request
  const changed = changedParts(session, after)
  const values: Values[] = [writtenHead(session, after), partTexts(after, changed), { prepared_request_id: request.id }]
  if (proof) values.push(proofOf(proof))
  if (aside !== null) values.push(setAside(aside))
  const parts: Part[] = [...changed]
  if (proof) parts.push('proof')
  if (session.hasAside) parts.push('others')
  if (aside !== null) parts.push('aside')
  const rows = await keepRequest(parts)(sql, ...values)
  return rows.length === 1
}

type Part = HeadPart | 'proof' | 'others' | 'aside'

const keepRequest = statementByParts<Part>((has) => {
  const guards = [has('proof') ? PROVEN : '', NOT_USED, has('others') ? NOT_SET_ASIDE : '']
  const changed = writeHead(has, guards.join(' '))
  const withoutDisk = `set_config('synchronous_commit', 'off', true)`
  if (!has('aside')) return `${changed} returning ${withoutDisk}`
  return `with changed as (${changed} returning h.tenant_id, h.session_id), ${SET_ASIDE} select ${withoutDisk} from changed`
})

/** No proposal used a request of this id. */
const NOT_USED = `and not exists (
          select 1 from session_events e where e.tenant_id = :tenant_id::text and e.session_id = :session_id::text
            and e.request_id = :prepared_request_id::text
        )`

/** None of this id is set aside. Asked only where any ever was. */
const NOT_SET_ASIDE = `and not exists (
          select 1 from set_aside_requests r where r.tenant_id = :tenant_id::text and r.session_id = :session_id::text
            and r.prepared_request_id = :prepared_request_id::text
        )`
