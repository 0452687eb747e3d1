import { parseArgs } from 'node:util'
import { QUOTA_NAMES } from '@countersign/protocol'
import { createTenant } from '@countersign/server'
import { type Command, UsageError } from '../command.js'
import { SETTING_FLAGS } from './start.js'

export const tenant: Command = {
  usage: 'tenant create NAME [--quota free|team|scale] [--data-folder FOLDER | --database-url URL]',
  summary: 'make a tenant and its API key, which is shown once',
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, quota: { type: 'string' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [verb, name, ...rest] = positionals
    if (verb !== 'create' || !name || rest.length > 0) throw new UsageError('expected: tenant create NAME')
    const { quota: given, ...flags } = values as Record<string, string | undefined>
    const quota = QUOTA_NAMES.find((known) => known === given) ?? null
    if (given !== undefined && quota === null) throw new UsageError(`--quota is one of ${QUOTA_NAMES.join(', ')}`)
    const created = await createTenant(name, quota, flags)
    note(`tenant ${created.tenantId} (${name}); its key is shown this once:`)
    print(created.key)
    return 0
  },
}
