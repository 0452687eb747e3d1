import { parseArgs } from 'node:util'
import { backUpTo, configOf, type Flags } from '@countersign/server'
import { type Command, UsageError } from '../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from './start.js'

export const backup: Command = {
  usage: [`backup FILE ${DATABASE_USAGE}`],
  summary: 'write all data of the server to one compressed file, while it runs',
  run: async (args, { note }) => {
    const { values, positionals } = parseArgs({ args: [...args], options: SETTING_FLAGS, allowPositionals: true })
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
    const rows = await backUpTo(file, configOf(values as Flags))
    note(`wrote ${rows} rows to ${file}; protect it like the database itself`)
    return 0
  },
}
