import { parseArgs } from 'node:util'
import { createKeyBody } from '@countersign/protocol'
import { configOf, createKey, type Flags, keysOf, revokeKeyOf } from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const key: Command = {
  usage: [
    `key create TENANT [--name NAME] ${DATABASE_USAGE}`,
    `key list TENANT [--json] ${DATABASE_USAGE}`,
    `key revoke TENANT KEY ${DATABASE_USAGE}`,
  ],
  summary: 'create an API key and show it once; list the keys of a tenant; revoke a key immediately on every instance',
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, name: { type: 'string' as const }, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { name, json = false, ...settings } = values
    const config = configOf(settings as Flags)
    const [verb, tenantId, keyId, ...rest] = positionals
    if (tenantId === undefined || rest.length > 0) throw new UsageError(EXPECTED)
    if (verb === 'create' && keyId === undefined && !json) {
      const created = await createKey(tenantId, nameOf(name ?? 'created by an operator'), config)
      note(`key ${created.keyId} of tenant ${tenantId}, shown only once:`)
      print(created.key)
    } else if (verb === 'list' && keyId === undefined && name === undefined) {
      const keys = await keysOf(tenantId, config)
      if (json) print(snakeJson(keys))
      else for (const line of columns(keys.map(lineOf))) print(line)
    } else if (verb === 'revoke' && keyId !== undefined && name === undefined && !json) {
      await revokeKeyOf(tenantId, keyId, config)
      note(`key ${keyId} is revoked; requests with it are refused from now on`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED = 'expected: key create TENANT, key list TENANT, or key revoke TENANT KEY'

function nameOf(given: string): string {
  const { success, data } = createKeyBody.safeParse({ name: given })
  if (!success) throw new UsageError('--name must have 1 to 100 characters')
  return data.name
}

type Key = Awaited<ReturnType<typeof keysOf>>[number]

const lineOf = ({ keyId, prefix, createdAt, lastUsedAt, revokedAt, name }: Key): string[] => [
  keyId,
  `${prefix}…`,
  `created ${createdAt.toISOString()}`,
  lastUsedAt === null ? 'never used' : `used ${lastUsedAt.toISOString()}`,
  revokedAt === null ? 'active' : `revoked ${revokedAt.toISOString()}`,
  name,
]
