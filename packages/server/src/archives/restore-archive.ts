import { begin } from '../postgres/begin.js'
import { takeTime } from '../postgres/database.js'
import { codeVersion } from '../postgres/migrate.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { deleteArchivedLedgers, isStored, keepTenant, lockArchivedLedgers } from '../store/archives/archived-ledgers.js'
import { insertArchivedRows } from '../store/archives/archived-rows.js'
import { insertAuditEntry } from '../store/audit.js'
import { ArchiveError, readArchive } from './archive-file.js'
import { type CheckedArchive, checkArchive } from './check-archive.js'

/**
 * The first migration after which archived tables hold what they hold today. A migration that changes stored rows of them,
 * rather than adding a column with a default, raises this number to its own.
 */
const OLDEST_RESTORABLE = 23

/** About what one statement writes. */
const WRITTEN_CHARACTERS = 4_000_000
const WRITTEN_ROWS = 500

export interface Restored {
  readonly tenantId: string
  readonly sessions: number
  readonly workflows: number
}

/**
 * Puts the rows of an archive back, all or none. Only what this database archived comes back, and only from the file that it
 * wrote: its digest is kept, so that nobody can put another history in place.
 */
export async function restoreArchive(sql: Sql, file: string): Promise<Restored> {
  const checked = await checkArchive(file)
  await requireVersion(checked, file)
  const { tenantId, ledgers, digest } = checked
  const count = (kind: 'session' | 'workflow') => ledgers.filter(({ ledger }) => ledger === kind).length
  const restored = { tenantId, sessions: count('session'), workflows: count('workflow') }
  await begin(sql, async (tx) => {
    await takeTime(tx)
    if (!(await keepTenant(tx, tenantId))) {
      throw new ArchiveError(`${file} belongs to the tenant ${tenantId}, which this database does not have`)
    }
    await requireArchivedHere(tx, checked, file)
    // Read once more: the file may have been changed since it was checked.
    if ((await insertAll(tx, file)) !== digest) throw new ArchiveError(`${file} was changed while it was restored`)
    await deleteArchivedLedgers(tx, { tenantId, digest, ids: ledgers.map(({ id }) => id) })
    const workflows = restored.workflows === 0 ? '' : `, ${restored.workflows} workflows`
    const detail = `${restored.sessions} sessions${workflows}`
    await insertAuditEntry(tx, { tenantId, action: 'sessions_restored', actor: 'operator', detail })
  })
  return restored
}

async function requireVersion({ migration }: CheckedArchive, file: string): Promise<void> {
  const newest = await codeVersion()
  if (migration > newest) {
    throw new ArchiveError(
      `${file} was written by a newer version (its schema is ${migration}, this one's ${newest}): restore it with that version`,
    )
  }
  if (migration >= OLDEST_RESTORABLE) return
  throw new ArchiveError(
    `${file} was written by a version whose rows were different (schema ${migration}; this one reads ${OLDEST_RESTORABLE} to ${newest})`,
  )
}

async function requireArchivedHere(tx: Tx, { tenantId, ledgers, digest }: CheckedArchive, file: string): Promise<void> {
  const ids = ledgers.map(({ id }) => id)
  const archived = new Map(
    (await lockArchivedLedgers(tx, tenantId, ids)).map((row) => [`${row.ledger} ${row.id}`, row]),
  )
  for (const { ledger, id } of ledgers) {
    const known = archived.get(`${ledger} ${id}`)
    if (known?.digest === digest) continue
    if (known !== undefined) {
      throw new ArchiveError(
        `${file} is not the file that the ${ledger} ${id} was archived in: that is ${known.file}, and this one was changed or replaced`,
      )
    }
    throw new ArchiveError(
      (await isStored(tx, { tenantId, ledger, id }))
        ? `${file} cannot be restored: the ${ledger} ${id} is in the database already`
        : `${file} cannot be restored: this database did not archive the ${ledger} ${id}, so nothing here vouches for it`,
    )
  }
}

/** Returns the digest of what was put back. */
const insertAll = (tx: Tx, file: string): Promise<string> =>
  readArchive(file, async ({ rows }) => {
    let table = ''
    let waiting: string[] = []
    let characters = 0
    const insert = async () => {
      await insertArchivedRows(tx, table, waiting)
      waiting = []
      characters = 0
    }
    for (;;) {
      const next = await rows.next()
      if (next.done) {
        await insert()
        return next.value
      }
      if (next.value.table !== table || waiting.length >= WRITTEN_ROWS || characters >= WRITTEN_CHARACTERS)
        await insert()
      table = next.value.table
      characters += next.value.json.length
      waiting.push(next.value.json)
    }
  })
