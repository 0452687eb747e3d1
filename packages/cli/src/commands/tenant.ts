import { parseArgs } from 'node:util'
import { QUOTA_NAMES, type Quota } from '@countersign/protocol'
import { changeQuota, createTenant } from '@countersign/server'
import { type Command, UsageError } from '../command.js'
import { SETTING_FLAGS } from './start.js'

export const tenant: Command = {
  usage:
    'tenant create NAME [--quota free|team|scale] | tenant quota TENANT_ID free|team|scale [--data-folder FOLDER | --database-url URL]',
  summary: 'make a tenant and its API key, which is shown once, or give a tenant another quota',
  help: () =>
    'What each quota may use is under Quotas in the reference of limits. Without --quota a tenant gets that of the\n' +
    'setting COUNTERSIGN_DEFAULT_QUOTA. A changed one holds from the next request on; the dashboard shows the id of a\n' +
    'tenant under Limits and usage. Exit code 0: done; 1: there is no such tenant, or no database; 2: wrong usage.',
  run: async (args, { print, note }) => {
    const options = { ...SETTING_FLAGS, quota: { type: 'string' as const } }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { quota: given, ...flags } = values as Record<string, string | undefined>
    const [verb, subject, named, ...rest] = positionals
    if (verb === 'quota' && subject && named && rest.length === 0 && given === undefined) {
      const quota = quotaOf(named, 'the quota')
      if (!(await changeQuota(subject, quota, flags))) {
        note(
          `there is no tenant ${subject}: its id begins with tnt_, and the dashboard shows it under Limits and usage`,
        )
        return 1
      }
      note(`tenant ${subject} has the quota ${quota} from its next request on`)
      return 0
    }
    if (verb !== 'create' || !subject || named !== undefined) {
      throw new UsageError('expected: tenant create NAME, or tenant quota TENANT_ID free|team|scale')
    }
    const quota = given === undefined ? null : quotaOf(given, '--quota')
    const created = await createTenant(subject, quota, flags)
    note(`tenant ${created.tenantId} (${subject}, quota ${created.quota}); its key is shown this once:`)
    print(created.key)
    return 0
  },
}

function quotaOf(word: string, what: string): Quota {
  const quota = QUOTA_NAMES.find((known) => known === word)
  if (quota === undefined) throw new UsageError(`${what} is one of ${QUOTA_NAMES.join(', ')}`)
  return quota
}
