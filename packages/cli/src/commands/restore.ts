import { parseArgs } from 'node:util'
import { restoreFrom } from '@countersign/server'
import { type Command, UsageError } from '../command.js'
import { SETTING_FLAGS } from './start.js'

export const restore: Command = {
  usage: 'restore FILE [--data-folder FOLDER | --database-url URL]',
  summary: 'fill an empty database from a backup',
  run: async (args, { note }) => {
    const { values, positionals } = parseArgs({ args: [...args], options: SETTING_FLAGS, allowPositionals: true })
    const [file, ...rest] = positionals
    if (file === undefined || rest.length > 0) throw new UsageError('expected one file')
    const rows = await restoreFrom(file, values as Record<string, string | undefined>)
    note(`${rows} rows from ${file}`)
    return 0
  },
}
