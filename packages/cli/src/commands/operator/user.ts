import { parseArgs } from 'node:util'
import { emailSchema, groupSchema, LIMITS, ROLES, type Role } from '@countersign/protocol'
import { changeUser, configOf, type Flags, inviteUser, type UserChange, usersOf } from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

const PLACE = '[--role owner|approver|viewer] [--group GROUP]...'

export const user: Command = {
  usage: [
    `user create EMAIL --tenant TENANT ${PLACE} ${DATABASE_USAGE}`,
    `user invite EMAIL --tenant TENANT ${PLACE} ${DATABASE_USAGE}`,
    `user list --tenant TENANT [--json] ${DATABASE_USAGE}`,
    `user role EMAIL owner|approver|viewer ${DATABASE_USAGE}`,
    `user disable EMAIL ${DATABASE_USAGE}`,
    `user enable EMAIL ${DATABASE_USAGE}`,
    `user remove EMAIL ${DATABASE_USAGE}`,
  ],
  summary: 'let people into the dashboard of a tenant: the first owner, and anybody after that',
  help: () =>
    [
      `create prints a link with which the person joins; it works once, for ${LIMITS.invitationDays} days, for the first who opens it. invite has the`,
      'running service send it by email instead. Without --role, a person is a viewer. The address in the link is that of',
      'COUNTERSIGN_PUBLIC_URL, or --public-url.',
      'An owner may do everything; an approver may also stop agents and edit drafts; a viewer may look.',
      'disable signs a person out and keeps them out; remove also erases their name and address. The audit trail keeps what',
      'they did. The last owner of a tenant can be neither disabled nor removed.',
      'Exit codes: 0 done; 1 no such tenant or person, or no database; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const options = {
      ...SETTING_FLAGS,
      tenant: { type: 'string' as const },
      role: { type: 'string' as const },
      group: { type: 'string' as const, multiple: true },
      json: { type: 'boolean' as const },
    }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { tenant, role, json = false, group: _, ...settings } = values
    const group = values.group as readonly string[] | undefined
    const config = configOf(settings as Flags)
    const [verb = '', email, given, ...rest] = positionals
    const isPlaced = role !== undefined || group !== undefined
    if (rest.length > 0 || (json && verb !== 'list')) throw new UsageError(EXPECTED)
    if (
      (verb === 'create' || verb === 'invite') &&
      email !== undefined &&
      tenant !== undefined &&
      given === undefined
    ) {
      const invited = {
        email: emailOf(email),
        tenantId: tenant,
        role: roleOf(role ?? 'viewer'),
        groups: groupsOf(group),
      }
      const link = await inviteUser(invited, verb === 'create' ? 'link' : 'mail', config)
      if (link === null) note(`${email} is invited as ${invited.role}; the running service sends the email`)
      else {
        note(
          `with this link ${email} joins tenant ${tenant} as ${invited.role}, once, within ${LIMITS.invitationDays} days:`,
        )
        print(link)
      }
    } else if (verb === 'list' && email === undefined && tenant !== undefined && !isPlaced) {
      const users = await usersOf(tenant, config)
      if (json) print(snakeJson(users))
      else if (users.length === 0) note(`no users yet: countersign user create EMAIL --tenant ${tenant} --role owner`)
      else for (const line of columns(users.map(lineOf))) print(line)
    } else if (email !== undefined && tenant === undefined && !isPlaced) {
      const change = changeOf(verb, given)
      await changeUser(emailOf(email), change, config)
      note(`${email}: ${DONE[verb] ?? `is ${given ?? ''} now`}, from the next request on`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED =
  'expected: user create, invite or list with --tenant TENANT, or user role, disable, enable or remove EMAIL'

const DONE: Readonly<Record<string, string>> = {
  disable: 'is signed out and cannot sign in',
  enable: 'can sign in again',
  remove: 'is removed',
}

function changeOf(verb: string, given: string | undefined): UserChange {
  if (verb === 'role' && given !== undefined) return { role: roleOf(given) }
  if (given !== undefined) throw new UsageError(EXPECTED)
  if (verb === 'disable' || verb === 'enable') return { disabled: verb === 'disable' }
  if (verb === 'remove') return 'remove'
  throw new UsageError(EXPECTED)
}

function emailOf(given: string): string {
  const { success, data } = emailSchema.safeParse(given)
  if (!success) throw new UsageError(`${given} is not an email address`)
  return data
}

function roleOf(given: string): Role {
  const role = ROLES.find((known) => known === given)
  if (role === undefined) throw new UsageError(`the role must be one of ${ROLES.join(', ')}, not ${given}`)
  return role
}

function groupsOf(given: readonly string[] = []): string[] {
  for (const name of given) {
    const { error } = groupSchema.safeParse(name)
    if (error !== undefined) throw new UsageError(`--group ${name}: ${error.issues[0]?.message}`)
  }
  return [...new Set(given)]
}

type User = Awaited<ReturnType<typeof usersOf>>[number]

const lineOf = ({ email, role, groups, disabledAt, signedInAt, name }: User): string[] => [
  email,
  groups.length === 0 ? role : `${role} in ${groups.join(', ')}`,
  disabledAt === null ? 'active' : `disabled ${disabledAt.toISOString()}`,
  signedInAt === null ? 'never signed in' : `signed in ${signedInAt.toISOString()}`,
  name ?? '',
]
