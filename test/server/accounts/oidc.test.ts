import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { inviteUser } from '../../../packages/server/src/process/operator-users.js'
import { insertTenant } from '../../../packages/server/src/store/accounts/tenants.js'
import { type LoopbackOidc, signInAt, startOidcProvider } from '../../support/process/oidc-provider.js'
import { proves } from '../../support/proves.js'
import { createMailbox, tokenIn } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { type Runtime, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'

/** The service in front of a provider of the company; a person signs in at one and comes back to the other. */
const CALLBACK = `${TEST_ORIGIN}/api/auth/oidc/callback`
const TENANT = 'tnt_company'
const mailbox = createMailbox()
let folder: string
let provider: LoopbackOidc
let other: LoopbackOidc
let runtime: Runtime
let owner: Person
let now = new Date('2026-01-01T00:00:00Z')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-oidc-'))
  ;[provider, other] = [await startOidcProvider(CALLBACK), await startOidcProvider(CALLBACK)]
  const place = { tenant: TENANT, client_id: provider.clientId, client_secret_file: 'secret' }
  await writeFile(join(folder, 'secret'), `${provider.clientSecret}\n`)
  const providers = [
    { id: 'company', name: 'Company', issuer: provider.issuer, ...place },
    { id: 'open', name: 'Open', issuer: other.issuer, ...place, create: 'viewer', hours: 1 },
    {
      ...{ id: 'groups', name: 'Groups', issuer: provider.issuer, ...place, create: 'viewer' },
      ...{ roles: { admins: 'owner', leads: 'approver' }, groups: { 'Finance Dept': 'finance' } },
    },
  ]
  await writeFile(join(folder, 'oidc.json'), JSON.stringify({ providers }))
  runtime = await startRuntime({
    config: { COUNTERSIGN_OIDC_FILE: join(folder, 'oidc.json'), COUNTERSIGN_DEFAULT_QUOTA: 'scale' },
    mailer: mailbox,
    parts: { clock: () => now },
  })
  await insertTenant(runtime.sql, { tenantId: TENANT, name: 'Company', quota: 'scale', verified: true })
  const first = { email: 'ada@company.example', tenantId: TENANT, role: 'owner' as const, groups: [] }
  const link = await inviteUser(first, 'link', readConfig({ DATABASE_URL: runtime.databaseUrl }))
  owner = new Person(runtime.fetch, { email: first.email })
  await owner.call('acceptInvitation', { body: { token: tokenIn(link ?? ''), password: owner.password } })
})
afterAll(async () => {
  await runtime.close()
  await provider.close()
  await other.close()
  await rm(folder, { recursive: true })
})

/** Goes to the provider and comes back. Where the service sends the person on. */
async function come(
  person: Person,
  subject: string,
  { id = 'company', query = '' }: { id?: string; query?: string } = {},
): Promise<string> {
  return back(person, await signInAt(await go(person, id, query), subject))
}

const cookiesOf = (person: Person) => [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

/** A redirect of the service. Its cookies are the person's. */
async function follow(person: Person, url: string): Promise<string> {
  const answer = await runtime.fetch(new Request(url, { headers: { cookie: cookiesOf(person) }, redirect: 'manual' }))
  for (const line of answer.headers.getSetCookie()) {
    const [pair = '', ...flags] = line.split('; ')
    const [name = '', value = ''] = pair.split('=', 2)
    if (flags.includes('Max-Age=0')) person.cookies.delete(name)
    else person.cookies.set(name, value)
  }
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`no redirect but ${answer.status}: ${await answer.text()}`)
  return location
}
const go = (person: Person, id: string, query = '') =>
  follow(person, `${TEST_ORIGIN}/api/auth/oidc/${id}/start${query}`)
const back = follow

let count = 0
/** A person of the company whom the service does not know. */
function newcomer(more: { groups?: string[]; email_verified?: boolean } = {}, at: LoopbackOidc = provider) {
  count += 1
  const subject = `subject-${count}`
  const email = `person-${count}@company.example`
  at.accounts.set(subject, { email, email_verified: true, name: `Person ${count}`, ...more })
  return { subject, email, person: new Person(runtime.fetch, { email }) }
}
const invite = (email: string, role: 'owner' | 'approver' | 'viewer' = 'approver', groups: string[] = []) =>
  owner.call('inviteMember', { body: { email, role, groups } })
const userOf = async (person: Person) => (await person.call('me')).body.user

describe('who comes in', () => {
  proves('people.oidc', 'whoever was invited, with the role of the invitation, and again without one', async () => {
    const { person, subject, email } = newcomer()
    await invite(email, 'approver', ['on-call'])
    expect(await come(person, subject, { query: '?next=/plans' })).toBe('/plans')
    expect(await userOf(person)).toMatchObject({ email, role: 'approver', groups: ['on-call'], has_password: false })
    expect((await owner.call('listMembers')).body.invitations.map((one) => one.email)).not.toContain(email)
    const again = new Person(runtime.fetch, { email })
    expect(await come(again, subject)).toBe('/')
    expect((await userOf(again)).user_id).toBe((await userOf(person)).user_id)
    const { items } = (await owner.call('listAudit', { query: { who: email } })).body
    expect(items.map(({ action, signed_in_by }) => [action, signed_in_by])).toEqual([
      ['login', 'oidc:company'],
      ['login', 'oidc:company'],
      ['member_joined', 'oidc:company'],
    ])
    expect((await again.login()).status).toBe(401)
  })

  proves('people.oidc', 'a stranger only where the provider may make members, and then as a viewer', async () => {
    const { person, subject } = newcomer()
    expect(await come(person, subject)).toBe('/sign-in?problem=no_member')
    expect((await person.call('me')).status).toBe(401)
    const { person: viewer, subject: known } = newcomer({}, other)
    expect(await come(viewer, known, { id: 'open' })).toBe('/')
    expect((await userOf(viewer)).role).toBe('viewer')
  })

  proves('people.oidc.address', 'an address proves nobody to be the member who has it', async () => {
    const { body } = await owner.call('me')
    other.accounts.set('thief', { email: body.user.email, email_verified: true })
    expect(await come(new Person(runtime.fetch), 'thief', { id: 'open' })).toBe('/sign-in?problem=address_taken')
    const { person, subject, email } = newcomer({ email_verified: false })
    await invite(email)
    expect(await come(person, subject)).toBe('/sign-in?problem=address_unverified')
  })

  proves('people.oidc.address', 'a member adds the provider while signed in, and nobody else does', async () => {
    const { subject } = newcomer()
    expect(await come(owner, subject, { query: '?link=1&next=/account' })).toBe('/account')
    const elsewhere = new Person(runtime.fetch)
    expect(await come(elsewhere, subject)).toBe('/')
    expect((await userOf(elsewhere)).email).toBe(owner.email)
    const stranger = new Person(runtime.fetch)
    const url = `${TEST_ORIGIN}/api/auth/oidc/company/start?link=1`
    expect((await runtime.fetch(new Request(url, { headers: { cookie: cookiesOf(stranger) } }))).status).toBe(401)
  })

  proves(
    'people.oidc.groups',
    "the provider's groups say role and groups at each sign-in, and none is no way in",
    async () => {
      const { person, subject, email } = newcomer({ groups: ['leads', 'Finance Dept', 'other'] })
      const account = provider.accounts.get(subject)
      const again = async (groups: string[]) => {
        provider.accounts.set(subject, { ...account!, groups })
        return come(person, subject, { id: 'groups' })
      }
      expect(await come(person, subject, { id: 'groups' })).toBe('/')
      expect(await userOf(person)).toMatchObject({ role: 'approver', groups: ['finance'] })
      expect(await again(['admins', 'leads'])).toBe('/')
      expect(await userOf(person)).toMatchObject({ role: 'owner', groups: [] })
      expect(await again(['other'])).toBe('/sign-in?problem=no_role')
      const { items } = (await owner.call('listAudit', { query: { who: email, action: 'member_changed' } })).body
      expect(items.map(({ detail }) => detail)).toEqual([
        `${email}: approver in finance → owner`,
        `${email}: viewer → approver in finance`,
      ])
    },
  )

  proves('people.oidc', 'nobody who was disabled or removed', async () => {
    const { person, subject, email } = newcomer()
    await invite(email)
    await come(person, subject)
    const { user_id } = await userOf(person)
    await owner.call('changeMember', { params: { user_id }, body: { disabled: true } })
    expect(await come(person, subject)).toBe('/sign-in?problem=disabled')
    await owner.call('removeMember', { params: { user_id } })
    expect(await come(person, subject)).toBe('/sign-in?problem=no_member')
    expect((await person.call('me')).status).toBe(401)
  })
})

describe('what comes back', () => {
  const invited = async () => {
    const one = newcomer()
    await invite(one.email)
    return one
  }

  proves('people.oidc.flow', 'works once, in the browser that began, within ten minutes', async () => {
    const { person, subject } = await invited()
    const address = await signInAt(await go(person, 'company'), subject)
    expect(await back(new Person(runtime.fetch), address)).toBe('/sign-in?problem=expired')
    const [cookie = ''] = [...person.cookies.keys()].filter((name) => name.includes('oidc'))
    const sealed = person.cookies.get(cookie) ?? ''
    expect(sealed).not.toContain('state')
    expect(await back(person, address)).toBe('/')
    expect(person.cookies.has(cookie)).toBe(false)
    // The code once more, as somebody who kept both would send it.
    const thief = new Person(runtime.fetch)
    thief.cookies.set(cookie, sealed)
    expect(await back(thief, address)).toBe('/sign-in?problem=refused')
    const { person: late, subject: slow } = await invited()
    const old = await signInAt(await go(late, 'company'), slow)
    now = new Date(now.getTime() + 601_000)
    expect(await back(late, old)).toBe('/sign-in?problem=expired')
  })

  proves(
    'people.oidc.flow',
    'with another state, another code or the code of another provider is refused',
    async () => {
      const { person, subject, email } = await invited()
      const changed = async (change: (url: URL) => void) => {
        const url = new URL(await signInAt(await go(person, 'company'), subject))
        change(url)
        return back(person, url.href)
      }
      expect(await changed((url) => url.searchParams.set('state', 'another'))).toBe('/sign-in?problem=refused')
      expect(await changed((url) => url.searchParams.delete('state'))).toBe('/sign-in?problem=refused')
      expect(await changed((url) => url.searchParams.set('code', 'another'))).toBe('/sign-in?problem=refused')
      expect(await changed((url) => url.searchParams.set('iss', other.issuer))).toBe('/sign-in?problem=refused')
      other.accounts.set(subject, { email, email_verified: true })
      const foreign = new URL(await signInAt(await go(new Person(runtime.fetch), 'open'), subject))
      const code = foreign.searchParams.get('code') ?? ''
      expect(await changed((url) => url.searchParams.set('code', code))).toBe('/sign-in?problem=refused')
      expect((await person.call('me')).status).toBe(401)
    },
  )

  proves('people.oidc.away', 'a provider that is away is said to be, and passwords work on', async () => {
    const { person, subject } = await invited()
    const address = await signInAt(await go(person, 'company'), subject)
    provider.away(true)
    try {
      expect(await back(person, address)).toBe('/sign-in?problem=provider_away')
      expect((await owner.login()).status).toBe(200)
    } finally {
      provider.away(false)
    }
    expect(await come(person, subject)).toBe('/')
  })

  proves('people.oidc.flow', 'leads to a page of this service and to no other', async () => {
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/%0d%0ax',
    ]) {
      const { person, subject } = await invited()
      const on = await come(person, subject, { query: `?next=${encodeURIComponent(next)}` })
      expect([next, new URL(on, TEST_ORIGIN).origin]).toEqual([next, TEST_ORIGIN])
    }
  })
})

proves('people.oidc', 'the sign-in ends when the provider says, and the ways in name the providers', async () => {
  const { person, subject } = newcomer({}, other)
  await come(person, subject, { id: 'open' })
  const { sign_ins } = (await person.call('listSignIns')).body
  const [own] = sign_ins
  expect(own?.method).toBe('oidc:open')
  expect(Date.parse(own?.expires_at ?? '') - Date.parse(own?.started_at ?? '')).toBe(3_600_000)
  expect((await person.call('listWaysIn')).body.providers).toEqual([
    { id: 'company', name: 'Company' },
    { id: 'open', name: 'Open' },
    { id: 'groups', name: 'Groups' },
  ])
})
