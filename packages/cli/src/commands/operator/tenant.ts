import { parseArgs } from 'node:util'
import { QUOTA_NAMES, QUOTAS, type Quota } from '@countersign/protocol'
import { changeQuota, configOf, createTenant, type Flags, tenantsOf } from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const tenant: Command = {
  usage: [
    `tenant create NAME [--quota free|team|scale] ${DATABASE_USAGE}`,
    `tenant list [--json] ${DATABASE_USAGE}`,
    `tenant quota TENANT free|team|scale ${DATABASE_USAGE}`,
  ],
  summary: "create a tenant and show its API key once; list all tenants; change a tenant's quota",
  help: () =>
    [
      'The reference of limits shows what each quota allows. Without --quota, a tenant gets team.',
      'A new quota applies from the next request on. The dashboard shows the id of a tenant under Limits and usage.',
      'Exit codes: 0 done; 1 unknown tenant or no database; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, quota: { type: 'string' as const }, json: { type: 'boolean' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { quota, json = false, ...settings } = values
    const [verb = '', ...names] = positionals
    const [first = '', second] = names
    if (verb === 'create' && names.length === 1 && first !== '' && !json) {
      const created = await createTenant(
        first,
        quota === undefined ? null : quotaOf(quota),
        configOf(settings as Flags),
      )
      note(
        `tenant ${created.tenantId} (${first}, quota ${created.quota}: ${turnsOf(created.quota)}); its API key, shown only once:`,
      )
      print(created.key)
      note(`let its first owner in: countersign user create EMAIL --tenant ${created.tenantId} --role owner`)
    } else if (verb === 'list' && names.length === 0 && quota === undefined) {
      const tenants = await tenantsOf(configOf(settings as Flags))
      if (json) print(snakeJson(tenants))
      else for (const line of columns(tenants.map(lineOf))) print(line)
    } else if (verb === 'quota' && names.length === 2 && second !== undefined && quota === undefined && !json) {
      await changeQuota(first, quotaOf(second), configOf(settings as Flags))
      note(`tenant ${first} now has the quota ${second}, from its next request on`)
    } else throw new UsageError('expected: tenant create NAME, tenant list, or tenant quota TENANT QUOTA')
    return 0
  },
}

/** What a quota means for an agent, and how to change it. */
const turnsOf = (quota: Quota): string =>
  `${QUOTAS[quota].write} ${quota === 'free' ? 'POST requests' : 'turns'} per minute; countersign tenant quota TENANT team|scale changes it`

function quotaOf(given: string): Quota {
  const quota = QUOTA_NAMES.find((known) => known === given)
  if (quota === undefined) throw new UsageError(`the quota must be one of ${QUOTA_NAMES.join(', ')}, not ${given}`)
  return quota
}

type Tenant = Awaited<ReturnType<typeof tenantsOf>>[number]

const lineOf = ({ tenantId, name, quota, verified, activeKeys, createdAt }: Tenant): string[] => [
  tenantId,
  quota,
  activeKeys === 1 ? '1 key' : `${activeKeys} keys`,
  verified ? 'verified' : 'not verified',
  createdAt.toISOString(),
  name,
]
