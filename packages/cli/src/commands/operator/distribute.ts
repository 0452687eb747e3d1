import { parseArgs } from 'node:util'
import { configOf, distribute as distributeTables, type Flags } from '@countersign/server'
import type { Command } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const distribute: Command = {
  usage: [`distribute ${DATABASE_USAGE}`],
  summary: 'divide the database over the machines of Citus, by tenant',
  help: () =>
    [
      'Run it on the coordinator, which is also what DATABASE_URL names afterwards. A new database is made first; one with',
      'data keeps it, and nothing else may use it meanwhile. What is divided already stays as it is, so that it can be run',
      'again. The guide "When one machine is not enough" says when, and how.',
      "Exit codes: 0 divided; 1 no database, no Citus, or a table that is not Countersign's; 2 wrong usage.",
    ].join('\n'),
  run: async (args, { print, note }) => {
    const { values } = parseArgs({ args: [...args], options: SETTING_FLAGS })
    let steps = 0
    await distributeTables(configOf(values as Flags), (step) => {
      steps += 1
      print(step)
    })
    note(steps === 0 ? 'nothing to do: every table is where it belongs' : 'done: start the service as before')
    return 0
  },
}
