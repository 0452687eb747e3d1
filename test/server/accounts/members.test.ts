import { ROLES, ROUTES, type Role, type RouteName } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { passTime } from '../../support/postgres/pass-time.js'
import { proves } from '../../support/proves.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { startRuntime } from '../../support/runtime/runtime.js'
import { joinTeam, newOwner } from '../../support/runtime/team.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const mailbox = createMailbox()
const { runtime } = await withRuntime({
  mailer: mailbox,
  instances: 2,
  config: { COUNTERSIGN_DEFAULT_QUOTA: 'scale', COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1' },
})

/** Each signs up from an address of its own: an address opens five accounts an hour. */
let address = 0
const fetchFrom =
  (from: number): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', `198.51.100.${from}`)
    return runtime.fetch(request)
  }
const own = () => {
  address += 1
  return { ...runtime, fetch: fetchFrom(address) }
}
const team = async (role: Role, groups: string[] = []) => {
  const here = own()
  const owner = await newOwner(here, mailbox)
  return { here, owner, member: await joinTeam(here, mailbox, { owner, role, groups }) }
}
const audited = async (owner: Person, query: Record<string, string> = {}) =>
  (await owner.call('listAudit', { query })).body.items

const APPROVERS: readonly RouteName[] = [
  'answerQuestion',
  'answerQuestions',
  'killSessionByPerson',
  'killWorkflowByPerson',
  'addLabelByPerson',
  'startRun',
  'draftAskingLess',
  'draftPlan',
  'editPlan',
]
const OWNERS: readonly RouteName[] = [
  'askAgain',
  'listKeys',
  'createKey',
  'revokeKey',
  'listAudit',
  'eraseContent',
  'approvePlan',
  'rejectPlan',
  'approveToolPin',
  'listMembers',
  'inviteMember',
  'revokeInvitation',
  'changeMember',
  'removeMember',
  'listWebhooks',
  'createWebhook',
  'changeWebhook',
  'rollWebhookSecret',
  'testWebhook',
  'listWebhookDeliveries',
  'removeWebhook',
]

proves(
  'people.roles',
  'every route of the dashboard by every role: 403 below what it takes, and nothing else',
  async () => {
    const { owner, member: approver, here } = await team('approver')
    const viewer = await joinTeam(here, mailbox, { owner, role: 'viewer' })
    const people = { viewer, approver, owner } as const
    const names = (Object.keys(ROUTES) as RouteName[]).filter((name) => ROUTES[name].auth === 'cookie')
    let cells = 0
    for (const name of names) {
      const least: Role = OWNERS.includes(name) ? 'owner' : APPROVERS.includes(name) ? 'approver' : 'viewer'
      for (const role of ROLES) {
        const params = Object.fromEntries([...ROUTES[name].path.matchAll(/:(\w+)/g)].map(([, key]) => [key, 'none']))
        const { status, code } = await people[role].call(name, {
          params,
          ...(ROUTES[name].method !== 'GET' && { rawBody: '{"nothing":0}' }),
        })
        const isBelow = ROLES.indexOf(role) < ROLES.indexOf(least)
        expect([name, role, code === 'ROLE_NEEDED', status === 403]).toEqual([name, role, isBelow, isBelow])
        cells += 1
      }
    }
    expect([names.length, cells]).toEqual([58, 174])
  },
)

proves(
  'people.roles.at-once',
  'a role that was changed, and a member who was disabled, at the very next request',
  async () => {
    const { owner, member } = await team('approver')
    const other = new Person(runtime.instances[1]?.fetch ?? runtime.fetch)
    for (const [name, value] of member.cookies) other.cookies.set(name, value)
    const params = { user_id: member.userId }
    const kill = (person: Person) =>
      person.call('killSessionByPerson', { params: { session_id: 'none' }, body: { reason: 'why' } })
    expect([(await kill(member)).status, (await kill(other)).status]).toEqual([404, 404])
    expect((await owner.call('changeMember', { params, body: { role: 'viewer' } })).body.role).toBe('viewer')
    for (const one of [member, other]) expect(await kill(one)).toMatchObject({ status: 403, code: 'ROLE_NEEDED' })
    expect((await owner.call('changeMember', { params, body: { disabled: true } })).body.disabled_at).not.toBeNull()
    for (const one of [member, other]) expect((await one.call('me')).status).toBe(401)
    expect((await member.login()).status).toBe(401)
    await owner.call('changeMember', { params, body: { disabled: false } })
    expect((await member.call('me')).status).toBe(401)
    expect((await member.login()).status).toBe(200)
    const acts = await audited(owner, { subject: member.userId })
    expect(acts.map(({ action, detail }) => [action, detail])).toEqual([
      ['member_enabled', member.email],
      ['member_disabled', member.email],
      ['member_changed', `${member.email}: approver → viewer`],
      ['member_joined', `approver, invited by ${owner.email}`],
    ])
  },
)

describe('the last owner', () => {
  proves('people.last-owner', 'cannot be demoted, disabled or removed', async () => {
    const { owner } = await team('approver')
    const params = { user_id: owner.userId }
    for (const body of [{ role: 'viewer' as const }, { disabled: true }])
      expect(await owner.call('changeMember', { params, body })).toMatchObject({ status: 409, code: 'LAST_OWNER' })
    expect(await owner.call('removeMember', { params })).toMatchObject({ status: 409, code: 'LAST_OWNER' })
    expect((await owner.call('me')).body.user.role).toBe('owner')
  })

  proves('people.last-owner', 'of two owners who remove each other at once, one is left', async () => {
    for (let round = 0; round < 5; round++) {
      const { owner, member } = await team('owner')
      const [one, two] = await Promise.all([
        owner.call('removeMember', { params: { user_id: member.userId } }),
        member.call('removeMember', { params: { user_id: owner.userId } }),
      ])
      expect([one.status, two.status].sort()).toEqual([200, 401])
      const left = one.status === 200 ? owner : member
      expect((await left.call('me')).body.user.role).toBe('owner')
    }
  })
})

describe('an invitation', () => {
  proves(
    ['people.invitation', 'people.invitation.reading'],
    'is read as often as one likes, and works once',
    async () => {
      const here = own()
      const owner = await newOwner(here, mailbox)
      const guest = new Person(here.fetch)
      await owner.call('inviteMember', { body: { email: guest.email, role: 'approver', groups: ['finance'] } })
      await runtime.instances[0].parts.accounts.mail.idle()
      const token = mailbox.tokenFor(guest.email)
      for (let look = 0; look < 3; look++) {
        expect((await guest.call('readInvitation', { body: { token } })).body).toEqual({
          email: guest.email,
          role: 'approver',
          tenant_name: owner.email,
          invited_by: owner.email,
        })
      }
      const accept = () => guest.call('acceptInvitation', { body: { token, password: guest.password, name: 'Guest' } })
      const both = await Promise.all([accept(), accept()])
      expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
      const user = both.find(({ status }) => status === 200)?.body.user
      expect(user).toMatchObject({ role: 'approver', groups: ['finance'], email_verified: true, name: 'Guest' })
      expect(await accept()).toMatchObject({ status: 400, code: 'INVALID_TOKEN' })
      expect(await guest.call('readInvitation', { body: { token } })).toMatchObject({ code: 'INVALID_TOKEN' })
    },
  )

  proves('people.invitation', 'ends by a newer one, by a revocation and after seven days', async () => {
    const here = own()
    const owner = await newOwner(here, mailbox)
    const guest = new Person(here.fetch)
    const invite = async () => {
      const { body } = await owner.call('inviteMember', { body: { email: guest.email, role: 'viewer' } })
      await runtime.instances[0].parts.accounts.mail.idle()
      return { id: body.invitation_id, token: mailbox.tokenFor(guest.email) }
    }
    const read = async (token: string) => (await guest.call('readInvitation', { body: { token } })).status
    const [first, second] = [await invite(), await invite()]
    expect([await read(first.token), await read(second.token)]).toEqual([400, 200])
    await owner.call('revokeInvitation', { params: { invitation_id: second.id } })
    expect(await read(second.token)).toBe(400)
    const third = await invite()
    const day = 24 * 3_600_000
    await passTime(runtime.sql, 7 * day - 60_000, ['invitations'])
    expect(await read(third.token)).toBe(200)
    await passTime(runtime.sql, 60_000, ['invitations'])
    expect(await read(third.token)).toBe(400)
    expect((await owner.call('listMembers')).body.invitations).toEqual([])
  })

  proves(
    'people.tenants-apart',
    'of another tenant, its members and sign-ins are as if they were not there',
    async () => {
      const { owner, member } = await team('viewer')
      const stranger = await newOwner(own(), mailbox)
      const params = { user_id: member.userId }
      const guest = { email: 'guest@example.test', role: 'viewer' as const }
      const { body: invited } = await owner.call('inviteMember', { body: guest })
      const { sign_ins } = (await member.call('listSignIns')).body
      const tries = [
        await stranger.call('changeMember', { params, body: { role: 'owner' } }),
        await stranger.call('removeMember', { params }),
        await stranger.call('revokeInvitation', { params: { invitation_id: invited.invitation_id } }),
        await stranger.call('endSignIn', { params: { sign_in_id: sign_ins[0]?.sign_in_id ?? '' } }),
        await owner.call('endSignIn', { params: { sign_in_id: sign_ins[0]?.sign_in_id ?? '' } }),
      ]
      expect(tries.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
      expect((await stranger.call('listMembers')).body.members).toHaveLength(1)
      expect((await member.call('me')).body.user.role).toBe('viewer')
    },
  )

  test('of an address that has an account elsewhere is refused only to whoever reads its mail', async () => {
    const [owner, elsewhere] = [await newOwner(own(), mailbox), await newOwner(own(), mailbox)]
    const body = { email: elsewhere.email, role: 'viewer' as const }
    expect((await owner.call('inviteMember', { body })).status).toBe(201)
    await runtime.instances[0].parts.accounts.mail.idle()
    const token = mailbox.tokenFor(elsewhere.email)
    const accepted = await elsewhere.call('acceptInvitation', { body: { token, password: 'another password' } })
    expect(accepted).toMatchObject({ status: 409, code: 'EMAIL_TAKEN' })
    expect((await elsewhere.call('readInvitation', { body: { token } })).status).toBe(200)
    const again = await owner.call('inviteMember', { body: { email: owner.email, role: 'viewer' } })
    expect(again).toMatchObject({ status: 409, code: 'EMAIL_TAKEN' })
  })
})

proves(
  'people.removed',
  'a removed member is gone from everything but the audit trail, and may join again',
  async () => {
    const { here, owner, member } = await team('approver', ['on-call'])
    const params = { user_id: member.userId }
    expect((await owner.call('removeMember', { params })).status).toBe(200)
    expect((await member.call('me')).status).toBe(401)
    expect((await member.login()).status).toBe(401)
    const { members } = (await owner.call('listMembers')).body
    expect(members.map(({ email }) => email)).toEqual([owner.email])
    const [row] = await runtime.sql`select * from users where user_id = ${member.userId}`
    expect(JSON.stringify(row)).not.toContain(member.email)
    expect(await runtime.sql`select 1 from group_members where user_id = ${member.userId}`).toEqual([])
    expect((await audited(owner, { who: member.email })).map(({ action }) => action)).toContain('member_joined')
    await owner.call('inviteMember', { body: { email: member.email, role: 'viewer' } })
    await here.instances[0].parts.accounts.mail.idle()
    const body = { token: mailbox.tokenFor(member.email), password: member.password }
    expect((await member.call('acceptInvitation', { body })).body.user.role).toBe('viewer')
  },
)

proves('people.password-change', 'by whoever knows the one before, and nobody else stays signed in', async () => {
  const { member } = await team('viewer')
  const elsewhere = new Person(own().fetch, { email: member.email })
  expect((await elsewhere.login(member.password)).status).toBe(200)
  const change = (current: string) => member.call('changePassword', { body: { current, password: 'a new password' } })
  expect(await change('not my password')).toMatchObject({ status: 400, code: 'INVALID_REQUEST' })
  expect((await elsewhere.call('me')).status).toBe(200)
  expect((await change(member.password)).status).toBe(200)
  expect([(await member.call('me')).status, (await elsewhere.call('me')).status]).toEqual([200, 401])
  expect([(await elsewhere.login(member.password)).status, (await elsewhere.login('a new password')).status]).toEqual([
    401, 200,
  ])
})

test('ten wrong guesses of the own password, and there are no more for a while', async () => {
  const { member } = await team('viewer')
  const guess = () => member.call('changePassword', { body: { current: 'a wrong guess', password: 'a new password' } })
  const statuses = []
  for (let turn = 0; turn < 11; turn++) statuses.push((await guess()).status)
  expect(statuses).toEqual([...Array(10).fill(400), 429])
})

proves('people.sign-ins', "one's own sign-ins: where, how, and each ended at once", async () => {
  const { member } = await team('viewer')
  const phone = new Person(own().fetch, { email: member.email })
  await phone.call('login', {
    body: { email: member.email, password: member.password },
    headers: { 'user-agent': `A phone ${'x'.repeat(300)}` },
  })
  const { sign_ins } = (await member.call('listSignIns')).body
  expect(sign_ins.map(({ method, current }) => [method, current])).toEqual([
    ['password', false],
    ['invitation', true],
  ])
  expect(sign_ins[0]?.browser).toHaveLength(200)
  await member.call('endSignIn', { params: { sign_in_id: sign_ins[0]?.sign_in_id ?? '' } })
  expect([(await phone.call('me')).status, (await member.call('me')).status]).toEqual([401, 200])
})

proves('people.audit', 'who, how they were signed in, what and when', async () => {
  const { owner, member } = await team('owner')
  await member.call('createKey', { body: { name: 'reports', access: 'read' } })
  const by = async (query: Record<string, string>) =>
    (await audited(owner, query)).map(({ action, actor, signed_in_by }) => [action, actor, signed_in_by])
  expect(await by({ who: member.email })).toEqual([
    ['key_created', member.email, 'invitation'],
    ['member_joined', member.email, 'invitation'],
  ])
  expect(await by({ action: 'member_invited' })).toEqual([['member_invited', owner.email, 'password']])
  const [newest] = await audited(owner)
  const at = newest?.at ?? ''
  expect(await by({ from: at })).toHaveLength(1)
  expect((await by({ to: at })).map(([action]) => action)).not.toContain('key_created')
  expect((await audited(owner, { action: 'key_created' }))[0]?.detail).toBe('reports (reading only)')
})

describe('where people may come in', () => {
  const production = {
    COUNTERSIGN_MODE: 'production',
    COUNTERSIGN_PUBLIC_URL: 'https://countersign.example',
    COUNTERSIGN_SIGNING_KEYS: 'x'.repeat(40),
  }
  const ways = async (config: Record<string, string>) => {
    const server = await startRuntime({ config, mailer: mailbox })
    try {
      const origin = config.COUNTERSIGN_PUBLIC_URL
      const person = new Person(server.fetch, origin === undefined ? {} : { origin })
      return {
        ways: (await person.call('listWaysIn')).body,
        signup: (await person.signup()).code ?? 'done',
        login: (await person.login()).code ?? 'done',
        forgot: (await person.call('forgotPassword', { body: { email: person.email } })).code ?? 'done',
        reset:
          (await person.call('resetPassword', { body: { token: 'x'.repeat(20), password: 'a password' } })).code ??
          'done',
      }
    } finally {
      await server.close()
    }
  }

  proves(
    'people.signup-closed',
    'sign-up is open in development, closed in production, and as the operator says',
    async () => {
      expect(await ways({})).toMatchObject({ ways: { signup: true }, signup: 'done' })
      expect(await ways(production)).toMatchObject({
        ways: { signup: false, passwords: true, providers: [] },
        signup: 'SIGNUP_CLOSED',
        login: 'UNAUTHENTICATED',
      })
      expect(await ways({ ...production, COUNTERSIGN_SIGNUP: 'open' })).toMatchObject({ signup: 'done', login: 'done' })
      expect(await ways({ COUNTERSIGN_SIGNUP: 'closed' })).toMatchObject({ signup: 'SIGNUP_CLOSED' })
    },
  )

  proves('people.passwords-off', 'none is taken, set or reset', async () => {
    expect(await ways({ COUNTERSIGN_PASSWORDS: 'off' })).toEqual({
      ways: { signup: false, passwords: false, providers: [] },
      signup: 'SIGNUP_CLOSED',
      login: 'PASSWORDS_OFF',
      forgot: 'PASSWORDS_OFF',
      reset: 'PASSWORDS_OFF',
    })
  })
})
