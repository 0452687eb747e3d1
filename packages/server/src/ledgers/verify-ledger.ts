import { contradictionOf, createExportCheck, signedHeadProblem } from '@countersign/engine'
import type { ChainedEvent, JsonValue, LedgerBody, LedgerHead, SignedHead } from '@countersign/protocol'
import type { LoadedSession } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { findPlan } from '../store/governance/plans.js'
import { loadEvents } from '../store/sessions/ledger.js'
import type { FixedSession, SessionRow } from '../store/sessions/session-row.js'
import { loadTurns, type StoredTurn } from '../store/sessions/stored-turns.js'
import { changedQuestion } from './check-questions.js'
import { changedParts, checkContent } from './content-check.js'
import { withSignedHead } from './export-page.js'
import { requireStillStored } from './still-stored.js'

/** What one verification holds at a time: so much of the events, and of the content beside them; one of each at least. */
const BATCH = { limit: 1_000, maxBytes: 262_144 }

export interface LedgerVerdict {
  readonly verified: boolean
  readonly events: number
  readonly head: LedgerHead
  /** The first thing that is wrong; null: nothing is. */
  readonly problem: string | null
  /** Null: none was signed yet. */
  readonly signed: SignedHead | null
}

/**
 * Verifies the ledger of a session batch by batch: the chain, the fold, the head that was signed, and that the stored content
 * fits the hashes in the chain.
 */
export async function verifyLedger(ctx: Context, { session: known, plan }: LoadedSession): Promise<LedgerVerdict> {
  const { session, signed } = await inRead(ctx, (sql) => withSignedHead(sql, known))
  const { tenantId, sessionId, compiledHash } = session.fixed
  const { ledger: head, state } = session.head
  const compiled_session = await inRead(ctx, (sql) => findPlan(sql, tenantId, compiledHash))
  const exported = { session_id: sessionId, compiled_hash: compiledHash, compiled_session }
  const check = createExportCheck(exported, { plan })
  const verdict = async (events: number, problem: string | null): Promise<LedgerVerdict> => {
    if (problem !== null) await inRead(ctx, (sql) => requireStillStored(sql, session.fixed))
    return { verified: problem === null, events, head, problem, signed }
  }
  let read = 0
  let hashAt: string | null = null
  let changed: string | null = null
  const answered: ChainedEvent[] = []
  while (read < head.seq) {
    const events = await inRead(ctx, (sql) =>
      loadEvents(sql, { tenantId, sessionId, after: read, upTo: head.seq, ...BATCH }),
    )
    if (events.length === 0) break
    const broken = firstBroken(check, events)
    if (broken !== null) return verdict(read + events.length, `event ${broken.brokenAt}: ${broken.problem}`)
    changed ??= await changedContent(ctx, session, events)
    answered.push(...events.filter(({ type }) => type === 'answered'))
    for (const { seq, hash } of events) if (seq === signed?.seq) hashAt = hash
    read = events.at(-1)?.seq ?? head.seq
  }
  changed ??= await changedQuestion(ctx, session, answered)
  const end = check.end({ head, state: state as unknown as JsonValue })
  if (!end.ok) return verdict(read, `event ${end.brokenAt}: ${end.problem}`)
  return verdict(read, signatureProblem(ctx, signed, { head, hashAt }) ?? changed)
}

type Check = ReturnType<typeof createExportCheck>

function firstBroken(check: Check, events: readonly ChainedEvent[]): ReturnType<Check['add']> {
  for (const event of events) {
    const broken = check.add(event)
    if (broken !== null) return broken
  }
  return null
}

function signatureProblem(
  { app }: Context,
  signed: SignedHead | null,
  chain: { readonly head: LedgerHead; readonly hashAt: string | null },
): string | null {
  if (signed === null) return null
  const keys = app.ledgerSigner?.keys
  const forged = keys === undefined ? null : signedHeadProblem(signed, keys)
  return forged === null ? contradictionOf(signed, chain) : `the signed head is not genuine: ${forged}`
}

const isProposal = ({ type }: ChainedEvent) => type === 'proposal'

/** What of the content beside these events does not fit them, or null. */
async function changedContent(
  ctx: Context,
  { fixed }: SessionRow,
  events: readonly ChainedEvent[],
): Promise<string | null> {
  const proposals = events.filter(isProposal)
  let from: number | null = 0
  while (from !== null) {
    const first: number = from
    const left = proposals.filter(({ seq }) => seq >= first)
    const page = await inRead(ctx, (sql) => loadTurns(sql, fixed, left.map(seqOf), BATCH.maxBytes))
    const read = left.filter(({ seq }) => page.cutAt === null || seq < page.cutAt)
    const found = firstChange(fixed, read, page.turns)
    if (found !== null) await inRead(ctx, (sql) => requireStillStored(sql, fixed))
    if (found !== null) return `event ${found.seq}: ${reportChanged(ctx, fixed, found.seq, found.parts)}`
    from = page.cutAt
  }
  return null
}

const seqOf = ({ seq }: ChainedEvent): number => seq

/** The first proposal whose stored parts do not fit it, and which. */
function firstChange(
  { hashSalt }: FixedSession,
  proposals: readonly ChainedEvent[],
  turns: ReadonlyMap<number, StoredTurn>,
): { readonly seq: number; readonly parts: readonly string[] } | null {
  for (const { seq, body } of proposals) {
    const turn = turns.get(seq)
    const proposal = body as unknown as LedgerBody<'proposal'>
    const check = turn === undefined ? null : checkContent(hashSalt, proposal, turn)
    const parts = check === null ? ['its record'] : changedParts(proposal, check)
    if (parts.length > 0) return { seq, parts }
  }
  return null
}

/** Counts and logs that content was found changed. Returns it in words. */
export function reportChanged(
  { app, request }: Context,
  { tenantId, sessionId }: SessionRow['fixed'],
  seq: number,
  parts: readonly string[],
): string {
  app.metrics.count('countersign_content_mismatches_total')
  const found = { tenant_id: tenantId, session_id: sessionId, seq, parts }
  request.log.error(found, 'stored content does not match its hash in the ledger')
  return `stored content does not match its hash in the ledger: ${parts.join(', ')} changed after the fact`
}
