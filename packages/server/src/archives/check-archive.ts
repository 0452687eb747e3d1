import { contradictionOf, createExportCheck, doubtfulJson, verifyWorkflowExport } from '@countersign/engine'
import type { ChainedEvent, ChainedWorkflowEvent, JsonValue, LedgerHead, SignedHead } from '@countersign/protocol'
import { type PackedText, packText, unpackText } from '../base/packed-text.js'
import { PLANS } from '../store/archives/archived-rows.js'
import { ArchiveError, type ArchiveHeader, readArchive } from './archive-file.js'
import { collectPlans } from './archived-plans.js'

/** A ledger in an archive, and whether it holds. */
export interface CheckedLedger {
  readonly ledger: SignedHead['ledger']
  readonly id: string
  readonly head: LedgerHead
  /** The newest head that was signed; null: none was. */
  readonly signed: SignedHead | null
  /** The hash of the event with the number of the signed one; null: there is none. */
  readonly hashAtSigned: string | null
  readonly broken: { readonly seq: number; readonly problem: string } | null
}

export interface CheckedArchive extends ArchiveHeader {
  readonly digest: string
  /** Workflows first, then sessions, each in the order of the file. */
  readonly ledgers: readonly CheckedLedger[]
}

/**
 * Reads a whole archive and verifies each ledger in it as an export is verified: chain, plan, fold, and the head that was
 * signed. Throws an `ArchiveError` where the file is not as it was written.
 */
export const checkArchive = (file: string): Promise<CheckedArchive> =>
  readArchive(file, async ({ header, rows }) => {
    const ledgers = collectLedgers(header, file)
    for (;;) {
      const next = await rows.next()
      if (next.done) return { ...header, digest: next.value, ledgers: ledgers.end() }
      ledgers.add(next.value.table, next.value.json)
    }
  })

type Row = Readonly<Record<string, unknown>>

interface Session {
  readonly compiledHash: string
  head: LedgerHead
  /** The state and its recent part, as stored, until the session was checked. */
  stored: readonly PackedText[]
  /** `waits`: none of its events was read. `over`: all of them were. */
  progress: 'waits' | 'checked' | 'over'
  broken: CheckedLedger['broken']
}

interface Workflow {
  readonly head: LedgerHead
  /** Few and small, so that they are held. */
  readonly events: ChainedWorkflowEvent[]
}

/** The session whose events are read. Only its plan and state are needed. */
interface Current {
  readonly id: string
  readonly session: Session
  readonly check: ReturnType<typeof createExportCheck>
}

/**
 * What is known of the ledgers of an archive while it is read. The events of a session follow each other, so that one session
 * is checked at a time: plans and states of a file may have hundreds of megabytes.
 */
function collectLedgers({ tenantId }: ArchiveHeader, file: string) {
  const plans = collectPlans()
  let current: Current | null = null
  const sessions = new Map<string, Session>()
  const workflows = new Map<string, Workflow>()
  const signed = new Map<string, { readonly head: SignedHead; hashAt: string | null }>()

  const sessionOf = (id: string): Session => {
    const session = sessions.get(id)
    if (session === undefined) throw new ArchiveError(`${file} has a row of the session ${id}, which is not in it`)
    return session
  }
  const finish = (): void => {
    if (current === null) return
    const { session, check } = current
    session.broken ??= brokenAtEnd(session, check)
    session.progress = 'over'
    session.stored = []
    current = null
  }
  const begin = (id: string): Current => {
    const session = sessionOf(id)
    if (session.progress === 'over') throw new ArchiveError(`${file} has events of the session ${id} in two places`)
    session.progress = 'checked'
    const { compiledHash: compiled_hash } = session
    const plan = plans.get(compiled_hash)
    const compiled_session = plan?.compiled ?? null
    const check = createExportCheck({ session_id: id, compiled_hash, compiled_session }, plan?.known)
    return { id, session, check }
  }
  const addEvent = (row: Row): void => {
    const event = eventOf(row)
    if (current?.id !== event.session_id) {
      finish()
      current = begin(event.session_id)
    }
    const { session, check } = current
    const wanted = signed.get(`session ${event.session_id}`)
    if (wanted?.head.seq === event.seq) wanted.hashAt = event.hash
    if (session.broken !== null) return
    const doubt = doubtfulJson(String(row.body))
    const broken = doubt === null ? check.add(event) : { brokenAt: event.seq, problem: doubt }
    if (broken !== null) session.broken = { seq: broken.brokenAt, problem: broken.problem }
  }
  const addWorkflowEvent = (row: Row): void => {
    const event = workflowEventOf(row)
    const wanted = signed.get(`workflow ${event.workflow_id}`)
    if (wanted?.head.seq === event.seq) wanted.hashAt = event.hash
    workflows.get(event.workflow_id)?.events.push(event)
  }
  const readers: Readonly<Record<string, (row: Row, json: string) => void>> = {
    [PLANS]: (row, json) => plans.add(String(row.compiled_hash), json),
    workflows: (row) => {
      const head = { seq: Number(row.ledger_seq), hash: String(row.ledger_hash) }
      workflows.set(String(row.workflow_id), { head, events: [] })
    },
    sessions: (row) => {
      const compiledHash = String(row.compiled_hash)
      const session: Session = { compiledHash, head: NO_HEAD, stored: [], progress: 'waits', broken: null }
      sessions.set(String(row.session_id), session)
    },
    session_heads: (row) => {
      const session = sessionOf(String(row.session_id))
      session.head = (JSON.parse(String(row.facts)) as { ledger: LedgerHead }).ledger
      session.stored = [row.state, row.recent].map((text) => packText(String(text)))
    },
    signed_heads: (row) => {
      const head = signedOf(row)
      signed.set(`${head.ledger} ${head.id}`, { head, hashAt: null })
    },
    session_events: addEvent,
    workflow_events: addWorkflowEvent,
  }
  const withSigned = (ledger: SignedHead['ledger'], id: string, head: LedgerHead, broken: CheckedLedger['broken']) => {
    const found = signed.get(`${ledger} ${id}`)
    const hashAtSigned = found?.hashAt ?? null
    const problem = found === undefined ? null : contradictionOf(found.head, { head, hashAt: hashAtSigned })
    const contradicted = problem === null ? null : { seq: found?.head.seq ?? head.seq, problem }
    return { ledger, id, head, signed: found?.head ?? null, hashAtSigned, broken: broken ?? contradicted }
  }
  return {
    add: (table: string, json: string): void => {
      const row = JSON.parse(json) as Row
      if (row.tenant_id !== tenantId) throw new ArchiveError(`${file} has a row of another tenant than ${tenantId}`)
      readers[table]?.(row, json)
    },
    end: (): CheckedLedger[] => {
      finish()
      return [
        ...[...workflows].map(([id, { head, events }]) => {
          const result = verifyWorkflowExport({ workflow_id: id, events, head })
          return withSigned('workflow', id, head, result.ok ? null : { seq: result.brokenAt, problem: result.problem })
        }),
        ...[...sessions].map(([id, { head, progress, broken }]) =>
          withSigned('session', id, head, progress === 'waits' ? NO_EVENTS : broken),
        ),
      ]
    },
  }
}

const NO_HEAD: LedgerHead = { seq: 0, hash: '' }

const NO_EVENTS = { seq: 1, problem: 'it has no events' }

function brokenAtEnd({ head, stored }: Session, check: Current['check']): CheckedLedger['broken'] {
  const [state, recent] = stored.map((text) => JSON.parse(unpackText(text)))
  const result = check.end({ head, state: { ...state, recent } as JsonValue })
  return result.ok ? null : { seq: result.brokenAt, problem: result.problem }
}

const timeOf = (value: unknown): string => new Date(String(value)).toISOString()

const eventOf = (row: Row): ChainedEvent => ({
  session_id: String(row.session_id),
  seq: Number(row.seq),
  type: row.type as ChainedEvent['type'],
  at: timeOf(row.at),
  body: JSON.parse(String(row.body)) as ChainedEvent['body'],
  prev_hash: String(row.prev_hash),
  hash: String(row.hash),
})

const workflowEventOf = (row: Row): ChainedWorkflowEvent => ({
  workflow_id: String(row.workflow_id),
  seq: Number(row.seq),
  type: row.type as ChainedWorkflowEvent['type'],
  at: timeOf(row.at),
  body: row.body as ChainedWorkflowEvent['body'],
  prev_hash: String(row.prev_hash),
  hash: String(row.hash),
})

const signedOf = (row: Row): SignedHead => ({
  ledger: row.ledger === 'workflow' ? 'workflow' : 'session',
  tenant_id: String(row.tenant_id),
  id: String(row.id),
  seq: Number(row.seq),
  hash: String(row.hash),
  signed_at: timeOf(row.signed_at),
  key_id: String(row.key_id),
  signature: String(row.signature),
})
