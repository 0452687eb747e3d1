import { parseArgs } from 'node:util'
import { archiveTo, configOf, type Flags, type TenantArchived, YOUNGEST_ARCHIVED_DAYS } from '@countersign/server'
import { type Command, type Terminal, UsageError } from '../../terminal/command.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const archive: Command = {
  usage: [`archive --before DATE --to FOLDER [--tenant TENANT] [--idle] ${DATABASE_USAGE}`],
  summary: 'move old sessions into files that `verify` checks, while the server runs',
  help: () =>
    [
      'Moves sessions that have ended and of which nothing was written since DATE (such as 2026-01-31, UTC) into compressed',
      `files in FOLDER/TENANT, and removes their rows. DATE is at least ${YOUNGEST_ARCHIVED_DAYS} days ago. A workflow is moved whole, once`,
      'all its sessions have ended. --idle also moves sessions that were not ended and not held since DATE.',
      'A file is on the disk and was read back before its rows are removed. A run that was interrupted is run again.',
      'A session whose ledger does not hold, or that keeps changing meanwhile, stays and is named. A tenant for which something',
      'fails is named with why; the others are archived. What is left of an archived session is its id, so that the id is not',
      'used again and a request for it says when it was archived. A file is as secret as the database.',
      'Exit codes: 0 done; 1 some sessions could not be archived, or there is no database, tenant or folder; 2 wrong usage.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { ...SETTING_FLAGS, before: text, to: text, tenant: text, idle: { type: 'boolean' as const } }
    const { values } = parseArgs({ args: [...args], options })
    const { before, to, tenant, idle = false, ...settings } = values as Record<string, string> & { idle?: boolean }
    if (before === undefined || to === undefined) throw new UsageError('expected: archive --before DATE --to FOLDER')
    const onWritten = (file: string, sessions: number) => terminal.note(`${file}: ${sessions} sessions`)
    const what = { before: dateOf(before), folder: to, tenantId: tenant ?? null, idle, onWritten }
    const archived: TenantArchived[] = []
    try {
      await archiveTo(what, configOf(settings as Flags), (one) => archived.push(one))
    } catch (error) {
      const saysMore = archived.some(
        ({ failed, kept }, at) => kept.length > 0 || (failed !== null && at < archived.length - 1),
      )
      if (saysMore || sessionsIn(archived) > 0) {
        report(archived, terminal)
        terminal.note('the run ended there: tenants after it were not looked at')
      }
      throw error
    }
    return report(archived, terminal)
  },
}

const text = { type: 'string' as const }

function dateOf(given: string): Date {
  const date = new Date(given)
  if (/^\d{4}-\d{2}-\d{2}(T.+)?$/.test(given) && !Number.isNaN(date.getTime())) return date
  throw new UsageError(`--before must be a date, such as 2026-01-31, not ${given}`)
}

const sessionsIn = (archived: readonly TenantArchived[]): number =>
  archived.reduce((total, one) => total + one.sessions, 0)

function report(archived: readonly TenantArchived[], { print, note }: Terminal): number {
  const sum = (count: (one: TenantArchived) => number) => archived.reduce((total, one) => total + count(one), 0)
  const [sessions, workflows, files] = [sessionsIn(archived), sum((one) => one.workflows), sum((one) => one.files)]
  const failed = archived.filter((one) => one.failed !== null)
  if (sessions === 0) print(failed.length === 0 ? 'nothing to archive' : 'nothing was archived')
  else
    print(
      `archived ${sessions} sessions${workflows === 0 ? '' : ` of ${workflows} workflows and others`} in ${files} files`,
    )
  for (const { tenantId, kept } of archived)
    for (const { id, why } of kept) note(`${id} of tenant ${tenantId} stays: ${why}`)
  for (const one of failed)
    note(`tenant ${one.tenantId} failed: ${one.failed}; ${one.sessions} of its sessions were archived, the others stay`)
  return failed.length > 0 || archived.some(({ kept }) => kept.length > 0) ? 1 : 0
}
