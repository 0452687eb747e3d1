import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { backUpTo, configOf, type Flags } from '@countersign/server'
import { type Command, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const backup: Command = {
  usage: [`backup FILE [--overwrite] ${DATABASE_USAGE}`],
  summary: 'write all data of the server to one compressed file, while it runs',
  run: async (args, { note }) => {
    const options = { ...SETTING_FLAGS, overwrite: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { overwrite = false, ...settings } = values
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
    if (!overwrite && existsSync(file)) {
      throw new UsageError(`${file} exists, and may be the only backup: name another file, or add --overwrite`)
    }
    const rows = await backUpTo(file, configOf(settings as Flags))
    note(`wrote ${rows} rows to ${file}; protect it like the database itself`)
    return 0
  },
}
