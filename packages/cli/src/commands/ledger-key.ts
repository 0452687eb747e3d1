import { parseArgs } from 'node:util'
import { configOf, type Flags, ledgerKeysOf, newLedgerKey } from '@countersign/server'
import { columns } from '../terminal/columns.js'
import { type Command, UsageError } from '../terminal/command.js'
import { SETTING_FLAGS } from './start.js'

export const ledgerKey: Command = {
  usage: ['ledger-key new', 'ledger-key list [--json] [--data-folder FOLDER]'],
  summary: 'make a key that signs heads of ledgers, or show the public keys that `verify` checks them with',
  help: () =>
    [
      '`new` prints a private key for COUNTERSIGN_LEDGER_KEYS. Store it where the database is not: with both one can',
      'rewrite the past. To change the key, put the new one first and the public half of the old one behind it:',
      '  COUNTERSIGN_LEDGER_KEYS=private:NEW,public:OLD',
      '`list` shows the public keys of the settings, the current one first. --json prints what `verify --keys` reads.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { json = false, ...flags } = values
    const [verb, ...rest] = positionals
    if (rest.length > 0) throw new UsageError(EXPECTED)
    if (verb === 'new' && !json) {
      note('a private key for COUNTERSIGN_LEDGER_KEYS, shown only once:')
      print(newLedgerKey())
    } else if (verb === 'list') {
      const keys = ledgerKeysOf(configOf(flags as Flags))
      if (json) print(JSON.stringify({ keys }, null, 2))
      else for (const line of columns(keys.map(lineOf))) print(line)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED = 'expected: ledger-key new, or ledger-key list'

type Key = ReturnType<typeof ledgerKeysOf>[number]

const lineOf = ({ key_id, public_key, current }: Key): string[] => [
  key_id,
  `public:${public_key}`,
  current ? 'signs' : 'former key',
]
