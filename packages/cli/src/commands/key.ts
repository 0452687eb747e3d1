import { parseArgs } from 'node:util'
import { createKeyBody } from '@countersign/protocol'
import { configOf, createKey, type Flags, keysOf, revokeKeyOf } from '@countersign/server'
import { columns } from '../terminal/columns.js'
import { type Command, UsageError } from '../terminal/command.js'
import { SETTING_FLAGS } from './start.js'

export const key: Command = {
  usage:
    'key create TENANT [--name NAME] | key list TENANT [--json] | key revoke TENANT KEY, ' +
    'each with [--data-folder FOLDER | --database-url URL]',
  summary: 'make an API key of a tenant, which is shown once; list its keys; revoke one, at once and on every instance',
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, name: { type: 'string' as const }, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { name, json = false, ...settings } = values
    const config = configOf(settings as Flags)
    const [verb, tenantId, keyId, ...rest] = positionals
    if (tenantId === undefined || rest.length > 0) throw new UsageError(EXPECTED)
    if (verb === 'create' && keyId === undefined && !json) {
      const made = await createKey(tenantId, nameOf(name ?? 'made by an operator'), config)
      note(`key ${made.keyId} of ${tenantId}; it is shown this once:`)
      print(made.key)
    } else if (verb === 'list' && keyId === undefined && name === undefined) {
      const keys = await keysOf(tenantId, config)
      if (json) print(JSON.stringify(keys, null, 2))
      else for (const line of columns(keys.map(lineOf))) print(line)
    } else if (verb === 'revoke' && keyId !== undefined && name === undefined && !json) {
      await revokeKeyOf(tenantId, keyId, config)
      note(`key ${keyId} is revoked: the next request with it is refused`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED = 'expected: key create TENANT, key list TENANT, or key revoke TENANT KEY'

function nameOf(given: string): string {
  const { success, data } = createKeyBody.safeParse({ name: given })
  if (!success) throw new UsageError('--name has 1 to 100 characters')
  return data.name
}

type Key = Awaited<ReturnType<typeof keysOf>>[number]

const lineOf = ({ keyId, prefix, createdAt, lastUsedAt, revokedAt, name }: Key): string[] => [
  keyId,
  `${prefix}…`,
  `made ${createdAt.toISOString()}`,
  lastUsedAt === null ? 'never used' : `used ${lastUsedAt.toISOString()}`,
  revokedAt === null ? 'active' : `revoked ${revokedAt.toISOString()}`,
  name,
]
