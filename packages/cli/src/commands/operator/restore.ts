import { parseArgs } from 'node:util'
import { configOf, type Flags, restoreFrom } from '@countersign/server'
import { type Command, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const restore: Command = {
  usage: [`restore FILE [--keep-access] ${DATABASE_USAGE}`],
  summary: 'load a backup into an empty database',
  help: () =>
    [
      'FILE is a backup. Its API keys, issuers, sign-ins and emailed links are revoked, since some may have been after the',
      'backup was made; --keep-access leaves them as they were.',
      'Exit codes: 0 restored; 1 the file or the database does not allow it; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { note }) => {
    const options = { ...SETTING_FLAGS, 'keep-access': { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { 'keep-access': keepAccess = false, ...flags } = values
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one backup')
    const rows = await restoreFrom(file, configOf(flags as Flags), { keepAccess })
    note(`restored ${rows} rows from ${file}`)
    note('The data is as it was when the backup was made: sessions killed and content erased since then are back.')
    note(
      keepAccess
        ? 'Keys and sign-ins revoked since then work again: revoke them, and kill sessions that must not continue.'
        : 'All keys, issuers and sign-ins are revoked: kill sessions that must not continue, sign in again, create new keys (countersign key create) and list issuers again (countersign issuer add).',
    )
    return 0
  },
}
