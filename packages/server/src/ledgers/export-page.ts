import type { JsonValue, LedgerExport, SignedHead } from '@countersign/protocol'
import type { Sql } from '../postgres/sql.js'
import { findPlan } from '../store/governance/plans.js'
import { findSignedHead } from '../store/ledgers/signed-heads.js'
import { loadEvents, PAGE_BYTES } from '../store/sessions/ledger.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { loadSession } from '../store/sessions/sessions.js'
import { requireStillStored } from './still-stored.js'

/** One page of a session's export, bounded by events and bytes, up to where its ledger stands now. */
export async function exportPage(
  sql: Sql,
  session: SessionRow,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<LedgerExport> {
  return after === 0 ? firstPage(sql, session, limit) : laterPage(sql, session, { after, limit })
}

/** The session with the newest head that was signed of it, read such that the signed head is not the newer one. */
export async function withSignedHead(
  sql: Sql,
  session: SessionRow,
): Promise<{ readonly session: SessionRow; readonly signed: SignedHead | null; readonly problem: string | null }> {
  const { tenantId, sessionId } = session.fixed
  const found = await findSignedHead(sql, { ledger: 'session', tenantId, id: sessionId })
  if (found === null) return { session, signed: null, problem: null }
  // It may have been signed after the session was read.
  const isBehind = found.signed.seq > session.head.ledger.seq
  return { session: isBehind ? ((await loadSession(sql, tenantId, sessionId)) ?? session) : session, ...found }
}

async function firstPage(sql: Sql, known: SessionRow, limit: number): Promise<LedgerExport> {
  const { session, signed } = await withSignedHead(sql, known)
  const { tenantId, compiledHash } = session.fixed
  return {
    ...(await laterPage(sql, session, { after: 0, limit })),
    compiled_session: await findPlan(sql, tenantId, compiledHash),
    state: session.head.state as unknown as JsonValue,
    signed_head: signed,
  }
}

async function laterPage(
  sql: Sql,
  { fixed, head: { ledger } }: SessionRow,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<LedgerExport> {
  const { tenantId, sessionId, compiledHash } = fixed
  const page = { tenantId, sessionId, after, upTo: ledger.seq, limit, maxBytes: PAGE_BYTES }
  const events = await loadEvents(sql, page)
  if (events.length === 0 && after < ledger.seq) await requireStillStored(sql, fixed)
  const last = events.at(-1)?.seq ?? ledger.seq
  return {
    session_id: sessionId,
    events,
    next: last < ledger.seq ? last : null,
    head: ledger,
    compiled_hash: compiledHash,
    compiled_session: null,
    state: null,
  }
}
