import { parseArgs } from 'node:util'
import { configOf, distributionOf, type Flags } from '@countersign/server'
import type { Command } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const distribute: Command = {
  usage: [`distribute ${DATABASE_USAGE}`],
  summary: 'print the SQL that divides the database over several machines by tenant, for Citus',
  help: () =>
    [
      'Changes nothing: it reads which tables there are and prints one call of Citus for each, in an order that their',
      'foreign keys allow. Tables that Citus has already are left out.',
      'Not for production: Citus 13.0 runs these statements, but refuses statements of this version of the service,',
      'which cannot work on divided tables yet. The guide "Operate" says what was tried, and what to do instead.',
      "Exit codes: 0 printed; 1 no database, or a table that is not Countersign's; 2 wrong usage.",
    ].join('\n'),
  run: async (args, { print, note }) => {
    const { values } = parseArgs({ args: [...args], options: SETTING_FLAGS })
    const statements = await distributionOf(configOf(values as Flags))
    for (const statement of statements) print(statement)
    if (statements.length === 0) note('nothing to do: Citus has every table already')
    else note('for a trial only: this version of the service cannot work on divided tables yet (--help says more)')
    return 0
  },
}
