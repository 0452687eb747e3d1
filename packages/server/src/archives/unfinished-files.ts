import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Queryable } from '../postgres/sql.js'
import { findArchivedLedger } from '../store/archives/archived-ledgers.js'
import { ArchiveError } from './archive-file.js'
import { checkArchive } from './check-archive.js'

const MARK = '.unfinished'

/** Says of a file that its rows may still be in the database, until `finish` says otherwise. */
export const mark = (file: string): Promise<void> => writeFile(`${file}${MARK}`, '', { mode: 0o600 })

export const finish = (file: string): Promise<void> => rm(`${file}${MARK}`, { force: true })

/**
 * Removes files of runs that were killed before they had removed the rows, once all that is in them was archived anew: they
 * may hold content that was erased since. A run that still works with such a file finds its rows gone, and removes nothing.
 */
export async function removeReplaced(sql: Queryable, tenantId: string, folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => one.endsWith(MARK))) {
    const file = join(folder, name.slice(0, -MARK.length))
    const fate = await fateOf(sql, tenantId, file)
    if (fate === 'waits') continue
    if (fate === 'replaced') await rm(file, { force: true })
    await finish(file)
  }
}

/** `needed`: the run was killed after its rows were gone. `waits`: something of it is still in the database. */
async function fateOf(sql: Queryable, tenantId: string, file: string): Promise<'needed' | 'replaced' | 'waits'> {
  try {
    const { digest, ledgers } = await checkArchive(file)
    let isReplaced = true
    for (const { ledger, id } of ledgers) {
      const found = await findArchivedLedger(sql, { tenantId, ledger, id })
      if (found?.digest === digest) return 'needed'
      if (found === null) isReplaced = false
    }
    return isReplaced ? 'replaced' : 'waits'
  } catch (error) {
    // Never published, or damaged since: what cannot be read is left to the operator.
    if (error instanceof ArchiveError) return 'waits'
    throw error
  }
}
