import { parseArgs } from 'node:util'
import { createKeyBody } from '@countersign/protocol'
import { configOf, createKey, type Flags, keysOf, revokeKeyOf } from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const key: Command = {
  usage: [
    `key create TENANT [--name NAME] [--access all|read|observe] [--agent AGENT] [--environment ENVIRONMENT] [--principal none] [--expires DATE] ${DATABASE_USAGE}`,
    `key list TENANT [--json] ${DATABASE_USAGE}`,
    `key revoke TENANT KEY ${DATABASE_USAGE}`,
  ],
  summary: 'create an API key and show it once; list the keys of a tenant; revoke a key immediately on every instance',
  run: async (args, { print, note }) => {
    const text = { type: 'string' as const }
    const made = { name: text, access: text, agent: text, environment: text, principal: text, expires: text }
    const options = { ...SETTING_FLAGS, ...made, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { name, access, agent, environment, principal, expires, json = false, ...settings } = values
    const isMade = [name, access, agent, environment, principal, expires].some((value) => value !== undefined)
    const config = configOf(settings as Flags)
    const [verb, tenantId, keyId, ...rest] = positionals
    if (tenantId === undefined || rest.length > 0) throw new UsageError(EXPECTED)
    if (verb === 'create' && keyId === undefined && !json) {
      const given = newKeyOf({ name: name ?? 'created by an operator', access, agent, environment, principal, expires })
      const created = await createKey(tenantId, given, config)
      note(`key ${created.keyId} of tenant ${tenantId}, shown only once:`)
      print(created.key)
    } else if (verb === 'list' && keyId === undefined && !isMade) {
      const keys = await keysOf(tenantId, config)
      if (json) print(snakeJson(keys))
      else for (const line of columns(keys.map(lineOf))) print(line)
    } else if (verb === 'revoke' && keyId !== undefined && !isMade && !json) {
      await revokeKeyOf(tenantId, keyId, config)
      note(`key ${keyId} is revoked; requests with it are refused from now on`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED = 'expected: key create TENANT, key list TENANT, or key revoke TENANT KEY'

function newKeyOf({ expires, ...given }: Record<string, string | undefined>): Parameters<typeof createKey>[1] {
  const date = expires === undefined ? undefined : new Date(expires)
  if (date !== undefined && !(date.getTime() > Date.now()))
    throw new UsageError('--expires must be a date to come, such as 2030-01-31')
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const { data, error } = createKeyBody.safeParse(asked)
  if (error !== undefined) throw new UsageError(`--${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`)
  const { name, access, agent = null, environment = null, principal = null } = data
  return { name, access, agent, environment, principal, expiresAt: date ?? null }
}

type Key = Awaited<ReturnType<typeof keysOf>>[number]

const lineOf = ({ keyId, prefix, createdAt, lastUsedAt, revokedAt, expiresAt, name, ...scope }: Key): string[] => [
  keyId,
  `${prefix}…`,
  `created ${createdAt.toISOString()}`,
  lastUsedAt === null ? 'never used' : `used ${lastUsedAt.toISOString()}`,
  revokedAt !== null
    ? `revoked ${revokedAt.toISOString()}`
    : expiresAt === null
      ? 'active'
      : `until ${expiresAt.toISOString()}`,
  [scope.access, scope.agent, scope.environment, scope.principal && 'for no person']
    .filter((part) => part !== null)
    .join(' '),
  name,
]
