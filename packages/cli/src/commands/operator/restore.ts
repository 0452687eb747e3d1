import { parseArgs } from 'node:util'
import { configOf, type Flags, isArchive, restoreArchives, restoreFrom } from '@countersign/server'
import { archivesIn, isFolder } from '../../terminal/archives-in.js'
import { type Command, type Terminal, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const restore: Command = {
  usage: [`restore FILE [--keep-access] ${DATABASE_USAGE}`, `restore ARCHIVE|FOLDER... ${DATABASE_USAGE}`],
  summary: 'load a backup into an empty database, or bring archived sessions back',
  help: () =>
    [
      'FILE is a backup. Its API keys, sign-ins and emailed links are revoked, since some may have been revoked after the',
      'backup was made; --keep-access leaves them as they were.',
      '',
      'ARCHIVE is a file that `archive` wrote, and FOLDER holds such files, also in folders of its own.',
      'Archived sessions come back as they were, file by file, while the server runs. A file is refused if it was changed,',
      'if this database did not archive its sessions, or if they are there already; the others are restored. The files stay.',
      'Exit codes: 0 everything is restored; 1 something is refused, or no database; 2 wrong usage.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { ...SETTING_FLAGS, 'keep-access': { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { 'keep-access': keepAccess = false, ...flags } = values
    const [file, ...rest] = positionals
    if (file === undefined) throw new UsageError('expected a backup, or archives')
    if (rest.length > 0 || isFolder(file) || (await isArchive(file))) {
      if (keepAccess) throw new UsageError('--keep-access is for a backup: an archive holds no keys or sign-ins')
      return restoreSessions(await archivesIn(positionals), flags as Flags, terminal)
    }
    return restoreBackup(file, flags as Flags, keepAccess, terminal)
  },
}

async function restoreBackup(file: string, flags: Flags, keepAccess: boolean, { note }: Terminal): Promise<number> {
  const rows = await restoreFrom(file, configOf(flags), { keepAccess })
  note(`restored ${rows} rows from ${file}`)
  note('The data is as it was when the backup was made: sessions killed and content erased since then are back.')
  note(
    keepAccess
      ? 'Keys and sign-ins revoked since then work again: revoke them, and kill sessions that must not continue.'
      : 'All keys and sign-ins are revoked: kill sessions that must not continue, sign in again, create new keys (countersign key create).',
  )
  return 0
}

async function restoreSessions(files: readonly string[], flags: Flags, { print, note }: Terminal): Promise<number> {
  let [sessions, restored, refused] = [0, 0, 0]
  await restoreArchives(files, configOf(flags), (file, result) => {
    if ('refused' in result) {
      refused += 1
      note(result.refused)
    } else {
      restored += 1
      sessions += result.sessions
      note(`${file}: ${result.sessions} sessions of tenant ${result.tenantId}`)
    }
  })
  print(`restored ${sessions} sessions from ${restored} files${refused === 0 ? '' : `; ${refused} files were refused`}`)
  return refused === 0 ? 0 : 1
}
