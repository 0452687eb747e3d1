import { parseArgs } from 'node:util'
import { configOf, type Flags, restoreFrom } from '@countersign/server'
import { type Command, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const restore: Command = {
  usage: [`restore FILE [--revoke-access] ${DATABASE_USAGE}`],
  summary: 'load a backup into an empty database',
  run: async (args, { note }) => {
    const options = { ...SETTING_FLAGS, 'revoke-access': { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
    const { 'revoke-access': revokeAccess = false, ...flags } = values
    const rows = await restoreFrom(file, configOf(flags as Flags), { revokeAccess })
    note(`restored ${rows} rows from ${file}`)
    note('The data is as it was when the backup was made: sessions killed and content erased since then are back.')
    note(
      revokeAccess
        ? 'All keys and sign-ins are revoked: sign in again, create new keys (countersign key create), kill sessions that must not continue.'
        : 'Keys and sign-ins revoked since then work again; --revoke-access revokes them all.',
    )
    return 0
  },
}
