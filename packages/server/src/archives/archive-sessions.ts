import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { makeFolder, NoFolder } from '../base/make-folder.js'
import { disableTimeouts } from '../postgres/database.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { codeVersion } from '../schema/migrate.js'
import { type ArchivePosition, loadWorkflowsOf, type WhatToArchive } from '../store/archives/archivable-sessions.js'
import { insertArchivedLedgers, isFileNeeded } from '../store/archives/archived-ledgers.js'
import {
  type Batch,
  deleteArchivedRows,
  holdSigning,
  lockBatch,
  readArchivedRows,
} from '../store/archives/archived-rows.js'
import { insertAuditEntry } from '../store/audit.js'
import { readClock } from '../store/clock.js'
import {
  ArchiveError,
  type ArchiveHeader,
  ArchivePlaceError,
  archiveLines,
  digestOf,
  publish,
  writeDraft,
} from './archive-file.js'
import { type CheckedArchive, type CheckedLedger, checkArchive } from './check-archive.js'
import { BATCH, nextBatch } from './next-batch.js'
import { finish, mark, removeReplaced } from './unfinished-files.js'

/**
 * Sessions that ended later stay: the dashboard counts and lists the last 30 days from their rows, and what else refers to a
 * session (captures, prepared requests, holds) is mostly gone by then.
 */
export const YOUNGEST_ARCHIVED_DAYS = 31

/** How often a batch is tried of which something changes meanwhile. */
const TRIES = 3
/** Then a smaller part of it is tried, down to one session or workflow, which stays if that does not help. */
const SMALLER = 8
/** For requests that meet one of the sessions. */
const LOCK_TIMEOUT_MS = 2_000

export interface ArchiveOptions extends WhatToArchive {
  readonly folder: string
  /** Called with each file once the disk has it, before anything is removed. */
  readonly onWritten?: (file: string, sessions: number) => Promise<void> | void
}

export interface Archived {
  sessions: number
  workflows: number
  files: number
  /** Sessions and workflows that stay because something is wrong with them. */
  readonly kept: { readonly id: string; readonly why: string }[]
}

export const nothingArchived = (): Archived => ({ sessions: 0, workflows: 0, files: 0, kept: [] })

/**
 * Moves sessions of one tenant into files, some at a time. The file is on the disk and was read back before its rows are
 * removed, and only rows that are still the same are: at any moment a session is in the database, in a file, or in both.
 * `done` says what was moved also when this throws.
 */
export async function archiveSessions(
  sql: Sql,
  options: ArchiveOptions,
  done: Archived = nothingArchived(),
): Promise<Archived> {
  await requireOld(sql, options.before)
  const header = { migration: await codeVersion(), tenantId: options.tenantId }
  const skipped = new Set<string>()
  const keep = (id: string, why: string): void => {
    skipped.add(id)
    done.kept.push({ id, why })
  }
  const planBytes = new Map<string, number>()
  let after: ArchivePosition | null = null
  let most = BATCH.sessions
  for (let tries = 1; ; ) {
    const page = await nextBatch(sql, options, { after, skipped, most, planBytes })
    if (page === null) break
    const { batch, units } = page
    if (units.length > 0) {
      const outcome = await archiveBatch(sql, batch, { ...options, header })
      if (outcome === 'changed') {
        if (++tries <= TRIES) continue
        tries = 1
        if (units.length > 1) most = Math.ceil(batch.sessionIds.length / SMALLER)
        else for (const id of units) keep(id, KEEPS_CHANGING)
        continue
      }
      if (outcome !== 'removed') {
        for (const { id, why } of outcome.broken) keep(id, why)
        continue
      }
      done.sessions += batch.sessionIds.length
      done.workflows += batch.workflowIds.length
      done.files += 1
      most = Math.min(BATCH.sessions, most * SMALLER)
    }
    after = page.last
    tries = 1
  }
  await removeReplaced(sql, options.tenantId, join(options.folder, folderOf(options.tenantId)))
  return done
}

const KEEPS_CHANGING = 'it keeps changing while it is archived: run the command again later'

/** Refuses a date that leaves too little in the database, of whichever tenant. */
export async function requireOld(sql: Sql, before: Date): Promise<void> {
  const now = await readClock(sql)
  const youngest = new Date(now.getTime() - YOUNGEST_ARCHIVED_DAYS * 86_400_000)
  if (before <= youngest) return
  throw new ArchiveError(
    `sessions of the last ${YOUNGEST_ARCHIVED_DAYS} days stay in the database, where the dashboard counts them: ` +
      `name a date up to ${youngest.toISOString().slice(0, 10)}`,
  )
}

type Outcome = 'removed' | 'changed' | { readonly broken: readonly { readonly id: string; readonly why: string }[] }

async function archiveBatch(
  sql: Sql,
  batch: Batch,
  { folder, header, onWritten }: ArchiveOptions & { readonly header: ArchiveHeader },
): Promise<Outcome> {
  const into = join(folder, folderOf(batch.tenantId))
  makeOwnFolder(into)
  const draft = join(into, `${randomUUID()}.draft`)
  const writeRows = async (tx: Tx) => {
    await disableTimeouts(tx)
    await writeDraft(draft, archiveLines(header, readArchivedRows(tx, batch)))
  }
  await sql.begin(writeRows, 'isolation level repeatable read read only')
  let checked: CheckedArchive
  try {
    checked = await checkArchive(draft)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  const broken = await brokenUnits(sql, batch, checked)
  if (broken.length > 0) {
    await rm(draft, { force: true })
    return { broken }
  }
  const name = `${checked.digest.slice(0, 32)}.archive.gz`
  const file = join(into, name)
  await mark(file)
  await publish(draft, file)
  await onWritten?.(file, batch.sessionIds.length)
  if (await removeRows(sql, batch, checked, `${folderOf(batch.tenantId)}/${name}`)) {
    await finish(file)
    return 'removed'
  }
  // Another run may have written the same file, and removed the rows.
  if (!(await isFileNeeded(sql, { ...batch, ids: idsOf(batch), digest: checked.digest })))
    await rm(file, { force: true })
  await finish(file)
  return 'changed'
}

const idsOf = ({ sessionIds, workflowIds }: Batch): string[] => [...sessionIds, ...workflowIds]

/** Never more than one folder deep, whatever a tenant is called. */
const folderOf = (tenantId: string): string =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(tenantId) ? tenantId : `tenant-${Buffer.from(tenantId).toString('hex')}`

function makeOwnFolder(folder: string): void {
  try {
    makeFolder(folder, 0o700)
  } catch (error) {
    if (error instanceof NoFolder)
      throw new ArchivePlaceError(`${folder}${sep} cannot be created: choose another folder with --to`)
    const { code } = error as NodeJS.ErrnoException
    throw new ArchivePlaceError(
      `${folder}${sep} cannot be created (${code ?? String(error)}): choose another folder with --to`,
    )
  }
}

/** Sessions and workflows whose ledger does not hold, and workflows of which a session does not. */
async function brokenUnits(
  sql: Sql,
  { tenantId }: Batch,
  { ledgers }: CheckedArchive,
): Promise<{ id: string; why: string }[]> {
  const broken = ledgers.flatMap(({ ledger, id, broken: found }) =>
    found === null ? [] : [{ ledger, id, why: `its ledger does not hold (event ${found.seq}: ${found.problem})` }],
  )
  if (broken.length === 0) return []
  const workflows = await loadWorkflowsOf(
    sql,
    tenantId,
    broken.map(({ id }) => id),
  )
  return broken.map(({ ledger, id, why }) => ({ id: (ledger === 'session' && workflows.get(id)) || id, why }))
}

/** Removes what the file says, if the database still says the same. False where it does not. */
async function removeRows(
  sql: Sql,
  batch: Batch,
  { digest, ledgers, ...header }: CheckedArchive,
  file: string,
): Promise<boolean> {
  const { tenantId, sessionIds, workflowIds } = batch
  const remove = async (tx: Tx) => {
    await disableTimeouts(tx, LOCK_TIMEOUT_MS)
    if (!ledgers.every(isSigned)) await holdSigning(tx)
    if ((await lockBatch(tx, batch)) !== ledgers.length) throw new Changed()
    if ((await digestOf(archiveLines(header, readArchivedRows(tx, batch)))) !== digest) throw new Changed()
    await deleteArchivedRows(tx, batch)
    await insertArchivedLedgers(tx, { tenantId, file, digest }, ledgers)
    const detail = `${sessionIds.length} sessions${workflowIds.length === 0 ? '' : `, ${workflowIds.length} workflows`}: ${file}`
    await insertAuditEntry(tx, { tenantId, action: 'sessions_archived', actor: 'operator', detail })
    return true
  }
  try {
    return await sql.begin(remove, 'isolation level repeatable read')
  } catch (error) {
    if (error instanceof Changed || CHANGED_MEANWHILE.has(String((error as { code?: unknown }).code))) return false
    throw error
  }
}

/** Nothing is left to sign of it. */
const isSigned = ({ head, signed }: CheckedLedger): boolean => signed?.seq === head.seq

class Changed extends Error {}

/** Another transaction wrote one of the rows, holds it, or waits for one of ours. */
const CHANGED_MEANWHILE: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])
