import { parseArgs } from 'node:util'
import { configOf, type Flags, restoreFrom } from '@countersign/server'
import { type Command, UsageError } from '../terminal/command.js'
import { SETTING_FLAGS } from './start.js'

export const restore: Command = {
  usage: 'restore FILE [--revoke-access] [--data-folder FOLDER | --database-url URL]',
  summary: 'fill an empty database from a backup',
  run: async (args, { note }) => {
    const options = { ...SETTING_FLAGS, 'revoke-access': { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
    const { 'revoke-access': revokeAccess = false, ...flags } = values
    const rows = await restoreFrom(file, configOf(flags as Flags), { revokeAccess })
    note(`${rows} rows from ${file}`)
    note('Everything is as it was when the backup was made: sessions killed and content erased since then are back.')
    note(
      revokeAccess
        ? 'Every key and sign-in is revoked: sign in anew, make new keys (countersign key create), kill what must not go on.'
        : 'So are keys and sign-ins revoked since then; --revoke-access revokes them all.',
    )
    return 0
  },
}
