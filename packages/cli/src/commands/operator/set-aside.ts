import { parseArgs } from 'node:util'
import {
  configOf,
  dropAside,
  type Flags,
  findAside,
  retryAside,
  SET_ASIDE_KINDS,
  type SetAside,
  type SetAsideKey,
  setAsideOf,
} from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const setAside: Command = {
  usage: [
    `set-aside list [--json] ${DATABASE_USAGE}`,
    `set-aside show KIND TENANT ID ${DATABASE_USAGE}`,
    `set-aside retry KIND TENANT ID ${DATABASE_USAGE}`,
    `set-aside drop KIND TENANT ID ${DATABASE_USAGE}`,
  ],
  summary: 'list work that failed too often and is not tried again; show why; try it again; drop it',
  help: () =>
    [
      'KIND is capture (learning from it failed), run (a backtest that did not get through) or mail (no server took it).',
      'retry puts it back into its queue, and a running service takes it up. drop takes it off the list for good: a',
      'capture stays stored and teaches nothing, a run stays failed, a mail is deleted. Both are in the audit trail.',
      'Exit codes: 0 done; 1 nothing by this name, or no database; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { json = false, ...settings } = values
    const config = configOf(settings as Flags)
    const [verb, ...names] = positionals
    if (verb === 'list' && names.length === 0) {
      const found = await setAsideOf(config)
      if (json) print(JSON.stringify(found, null, 2))
      else if (found.length === 0) note('nothing is set aside')
      else for (const line of columns(found.map(lineOf))) print(line)
      return 0
    }
    const key = keyOf(names)
    if (json || key === null) throw new UsageError(EXPECTED)
    if (verb === 'show') for (const line of columns(detailsOf(await findAside(key, config)))) print(line)
    else if (verb === 'retry') {
      await retryAside(key, config)
      note(`${key.kind} ${key.id} is back in its queue; a running service takes it up within seconds`)
    } else if (verb === 'drop') {
      await dropAside(key, config)
      note(`${key.kind} ${key.id} is dropped and will not be tried again`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED = 'expected: set-aside list, or set-aside show, retry or drop with KIND TENANT ID'

function keyOf(names: readonly string[]): SetAsideKey | null {
  const [given, tenantId, id, ...rest] = names
  if (tenantId === undefined || id === undefined || rest.length > 0) return null
  const kind = SET_ASIDE_KINDS.find((known) => known === given)
  if (kind === undefined) throw new UsageError(`KIND must be one of ${SET_ASIDE_KINDS.join(', ')}, not ${given}`)
  return { kind, tenantId, id }
}

const lineOf = ({ kind, tenantId, id, agent, at, error }: SetAside): string[] => [
  kind,
  tenantId,
  id,
  at.toISOString(),
  agent ?? '',
  error,
]

const detailsOf = ({ kind, tenantId, id, agent, attempts, error, at }: SetAside): string[][] => [
  ['kind', kind],
  ['tenant', tenantId],
  ['id', id],
  ['agent', agent ?? 'none'],
  ['attempts', String(attempts)],
  ['set aside', at.toISOString()],
  ['why', error],
]
