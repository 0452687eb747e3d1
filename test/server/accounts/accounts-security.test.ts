import { createHash } from 'node:crypto'
import { LIMITS, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { createPasswords } from '../../../packages/server/src/base/crypto/passwords.js'
import { deleteEndedRefreshTokens } from '../../../packages/server/src/store/accounts/refresh-tokens.js'
import { passTime } from '../../support/postgres/pass-time.js'
import { throughSql, watchedSql } from '../../support/postgres/watched-sql.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { routeRequest, startRuntime } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const SECRET = 'first signing key of this test and long enough'
const OLD_SECRET = 'older signing key of this test and long enough'
const mailbox = createMailbox()
const now = new Date('2026-01-01T00:00:00Z')
const statements: string[] = []
const hashings: string[] = []

const { runtime } = await withRuntime({
  config: { COUNTERSIGN_SIGNING_KEYS: `${SECRET},${OLD_SECRET}` },
  parts: { clock: () => now },
  mailer: mailbox,
  wrapDatabase: (database) => throughSql(database, (sql) => watchedSql(sql, (text) => statements.push(text))),
})
beforeAll(async () => {
  const { accounts } = runtime.instances[0].parts
  const { passwords } = accounts
  Object.assign(accounts, {
    passwords: {
      ...passwords,
      verify: (...given: Parameters<typeof passwords.verify>) => {
        hashings.push('verify')
        return passwords.verify(...given)
      },
    },
  })
})

const refillBuckets = () => runtime.sql`delete from buckets`
const signedUp = async () => {
  await refillBuckets()
  const person = new Person(runtime.fetch)
  const { body } = await person.signup()
  return { person, key: body.api_key, user: body.user }
}
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('dashboard tokens', () => {
  proves(['auth.session.signature'], 'are HS256 under the first signing key; the older one still reads', async () => {
    const { person } = await signedUp()
    const token = person.cookies.get('countersign_access') ?? ''
    expect(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({ alg: 'HS256' })
    const older = await resign(claimsOf(token), OLD_SECRET)
    person.cookies.clear()
    person.cookies.set('countersign_access', older)
    expect((await person.call('me')).status).toBe(200)
  })

  const resign = (claims: Record<string, unknown>, secret: string, header: Record<string, string> = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'access+jwt', kid: keyId(secret), ...header })
      .sign(Buffer.from(secret))
  const keyId = (secret: string) =>
    createHash('sha256').update('key id').update(Buffer.from(secret)).digest('hex').slice(0, 16)
  const unsigned = (claims: unknown, alg: string) =>
    `${Buffer.from(JSON.stringify({ alg, typ: 'access+jwt', kid: keyId(SECRET) })).toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`

  const FORGERIES: [string, (token: string, refresh: string) => string | Promise<string>][] = [
    ['alg none', (token) => unsigned(claimsOf(token), 'none')],
    ['alg RS256 with the secret as key', (token) => `${unsigned(claimsOf(token), 'RS256')}${token.split('.')[2]}`],
    ...(['HS384', 'HS512'] as const).flatMap((alg): [string, (token: string) => Promise<string>][] =>
      [SECRET, SECRET.repeat(2)].map((secret) => [
        `${alg} under a key of ${secret.length} letters`,
        (token) =>
          new SignJWT(claimsOf(token))
            .setProtectedHeader({ alg, typ: 'access+jwt', kid: keyId(SECRET) })
            .sign(Buffer.from(secret)),
      ]),
    ),
    ['another secret', (token) => resign(claimsOf(token), 'a secret that the server never had at all')],
    ['another type', (token) => resign(claimsOf(token), SECRET, { typ: 'refresh+jwt' })],
    ['another audience', (token) => resign({ ...claimsOf(token), aud: 'elsewhere' }, SECRET)],
    ['no expiry', (token) => resign({ ...claimsOf(token), exp: undefined }, SECRET)],
    ['another user under the same sign-in', (token) => resign({ ...claimsOf(token), sub: 'us_other' }, SECRET)],
    ['another tenant', (token) => resign({ ...claimsOf(token), tenant: 'tn_other' }, SECRET)],
    ['one byte changed', (token) => `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`],
    ['the refresh token used as access token', (_token, refresh) => refresh],
    ['nothing', () => ''],
  ]
  for (const [what, forge] of FORGERIES) {
    proves('auth.session.signature', `${what} is 401`, async () => {
      const { person } = await signedUp()
      const access = person.cookies.get('countersign_access') ?? ''
      const forged = await forge(access, person.cookies.get('countersign_refresh') ?? '')
      person.cookies.clear()
      person.cookies.set('countersign_access', forged)
      expect((await person.call('me')).status).toBe(401)
    })
  }
})

describe('credentials do not cross over', () => {
  const routes = Object.entries<Route>(ROUTES) as [RouteName, Route][]

  test.each(routes.filter(([, route]) => route.auth === 'cookie'))('%s: an API key is 401', async (name) => {
    const { status } = await runtime.fetch(routeRequest(name, { key: runtime.key }))
    expect(status).toBe(401)
  })

  test('a cookie is 401 on the runtime API', async () => {
    const { person } = await signedUp()
    for (const [name, route] of routes) {
      if (route.auth === 'api_key') expect([name, (await person.call(name)).status]).toEqual([name, 401])
    }
  })

  test.each([
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['a null Origin', { origin: 'null' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
    ['a cross-site fetch without Origin', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling site', { 'sec-fetch-site': 'same-site' }],
  ])('%s on a change is 403, and nothing changes', async (_what, headers) => {
    const { person } = await signedUp()
    const answer = await person.call('createKey', { body: { name: 'forged' }, headers })
    expect([answer.status, answer.code]).toEqual([403, 'FORBIDDEN_ORIGIN'])
    expect((await person.call('listKeys')).body.keys).toHaveLength(1)
    expect(
      (await person.call('login', { body: { email: person.email, password: person.password }, headers })).status,
    ).toBe(403)
  })

  test('a form that posts JSON as text/plain is 415', async () => {
    const { person } = await signedUp()
    const answer = await person.call('createKey', {
      rawBody: '{"name":"forged"}',
      headers: { 'content-type': 'text/plain' },
    })
    expect(answer.status).toBe(415)
  })
})

proves(['auth.cookie.secure'], 'in production cookies are Secure and bound to the host', async () => {
  const production = await startRuntime({
    config: {
      COUNTERSIGN_MODE: 'production',
      COUNTERSIGN_SIGNUP: 'open',
      COUNTERSIGN_PUBLIC_URL: 'https://countersign.example',
      COUNTERSIGN_SIGNING_KEYS: SECRET,
    },
    mailer: mailbox,
  })
  try {
    const person = new Person(production.fetch, { origin: 'https://countersign.example' })
    const { headers } = await person.signup()
    expect(headers.getSetCookie().map((line) => line.split('=')[0])).toEqual([
      '__Host-countersign_access',
      '__Host-countersign_refresh',
      '__Host-countersign_device',
    ])
    for (const line of headers.getSetCookie())
      expect(line).toMatch(/; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/)
    expect((await person.call('me')).status).toBe(200)
    await production.instances[0].parts.accounts.mail.idle()
    expect(mailbox.mails.at(-1)?.message.link).toMatch(/^https:\/\/countersign\.example\/verify-email#token=/)
  } finally {
    await production.close()
  }
})

describe('passwords', () => {
  proves(
    ['auth.password.scrypt', 'auth.password.salt'],
    'are scrypt with a salt each, and parameters that travel with the hash',
    async () => {
      const passwords = createPasswords({ cost: 10 })
      const [one, two] = await Promise.all([passwords.hash('the same password'), passwords.hash('the same password')])
      expect(one).toMatch(/^scrypt\$10\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
      expect(one).not.toBe(two)
      expect(await passwords.verify('the same password', one)).toBe(true)
      expect(await passwords.verify('another password', one)).toBe(false)
      expect(await passwords.verify('the same password', null)).toBe(false)
      expect(await createPasswords({ cost: 11 }).verify('the same password', one)).toBe(true)
      expect(createPasswords({ cost: 11 }).isOutdated(one)).toBe(true)
    },
  )

  test('more hashing than can wait is answered 503, and goes on afterwards', async () => {
    const passwords = createPasswords({ cost: 12, concurrency: 1, queue: 2 })
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () => passwords.hash('a password of some length')),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'BUSY' })
    expect(await passwords.hash('a password of some length')).toMatch(/^scrypt/)
  })
})

describe('a reset while somebody signs in with the old password', () => {
  /** Resets the password at the moment when the old one has just been proven, and tells how the sign-in ended. */
  const signInAcrossReset = async (isOutdated: boolean) => {
    const { person } = await signedUp()
    const { accounts } = runtime.instances[0].parts
    await person.call('forgotPassword', { body: { email: person.email } })
    await accounts.mail.idle()
    const body = { token: mailbox.tokenFor(person.email), password: 'a brand new password' }
    const thief = new Person(runtime.fetch, { email: person.email })
    const { passwords } = accounts
    const verify: typeof passwords.verify = async (...given) => {
      const isRight = await passwords.verify(...given)
      Object.assign(accounts, { passwords })
      expect((await person.call('resetPassword', { body })).status).toBe(200)
      Object.assign(accounts, { passwords: { ...passwords, isOutdated: () => isOutdated } })
      return isRight
    }
    Object.assign(accounts, { passwords: { ...passwords, verify } })
    const answer = await thief.login(person.password).finally(() => Object.assign(accounts, { passwords }))
    return { person, thief, answer }
  }

  test.each([
    ['leaves them signed out', false],
    ['is not undone by hashing the old password anew', true],
  ])('%s', async (_name, isOutdated) => {
    const { person, thief, answer } = await signInAcrossReset(isOutdated)
    expect(answer.status).toBe(401)
    expect((await thief.call('me')).status).toBe(401)
    expect((await person.login()).status).toBe(401)
    expect((await person.login('a brand new password')).status).toBe(200)
  })
})

/** The queue of mails is looked at now and then, beside the requests. */
const isOfRequest = (query: string) => !query.includes('for update of m skip locked')

test('login for known and unknown addresses does the same work: the same hashing, the same statements', async () => {
  const { person } = await signedUp()
  // The verification mail is sent beside the requests: its statements are not theirs.
  await runtime.instances[0].parts.accounts.mail.idle()
  const workOf = async (email: string) => {
    await refillBuckets()
    statements.length = 0
    hashings.length = 0
    await new Person(runtime.fetch, { email }).login('wrong wrong wrong')
    return { statements: statements.filter(isOfRequest), hashings: [...hashings] }
  }
  await workOf(person.email)
  const known = await workOf(person.email)
  const unknown = await workOf('nobody@example.test')
  expect(known.hashings).toEqual(['verify'])
  expect(known.statements.length).toBeGreaterThan(2)
  expect(unknown).toEqual(known)
})

test.each(['forgotPassword', 'resendVerification'] as const)(
  '%s does the same work for known and unknown addresses',
  async (name) => {
    const { person } = await signedUp()
    await runtime.instances[0].parts.accounts.mail.idle()
    const workOf = async (email: string) => {
      await refillBuckets()
      statements.length = 0
      await new Person(runtime.fetch).call(name, { body: { email } })
      return statements.filter(isOfRequest)
    }
    const known = (await workOf(person.email)).filter((query) => /buckets|mail_queue \(|audit_entries/.test(query))
    const unknown = (await workOf('nobody@example.test')).filter((query) =>
      /buckets|mail_queue \(|audit_entries/.test(query),
    )
    expect(unknown).toEqual(known)
  },
)

for (const name of ['forgotPassword', 'resendVerification'] as const) {
  proves('limit.forgot-password.others', name, async () => {
    const { person } = await signedUp()
    await runtime.instances[0].parts.accounts.mail.idle()
    const ask = (address: string, email: string) =>
      new Person(appFetch(runtime.instances[0].app, address)).call(name, { body: { email } })
    for (let at = 0; at < 31; at++) await ask('198.51.100.9', `nobody${at}@example.test`)
    const before = mailbox.mails.length
    for (let at = 0; at < 4; at++) await ask('198.51.100.9', person.email)
    await runtime.instances[0].parts.accounts.mail.idle()
    expect(mailbox.mails.length).toBe(before)
    await ask('203.0.113.8', person.email)
    await runtime.instances[0].parts.accounts.mail.idle()
    expect(mailbox.mails.slice(before).map(({ to }) => to)).toEqual([person.email])
  })
}

proves(
  ['limit.signup'],
  'five signups an hour from one address, IPv6 counted by /64, whatever X-Forwarded-For says',
  async () => {
    const from =
      (address: string, forged: string): typeof fetch =>
      async (input, init) => {
        const request = new Request(input, init)
        request.headers.set('x-forwarded-for', forged)
        return appFetch(runtime.instances[0].app, address)(request)
      }
    const signups = async (addresses: string[]) => {
      await refillBuckets()
      const statuses: number[] = []
      for (const [index, address] of addresses.entries())
        statuses.push((await new Person(from(address, `203.0.113.${index}`)).signup()).status)
      return statuses
    }
    expect(await signups(Array(7).fill('198.51.100.7'))).toEqual([201, 201, 201, 201, 201, 429, 429])
    // Five an hour are one in twelve minutes.
    const signupAfter = async (minutes: number) => {
      await passTime(runtime.sql, minutes * 60_000, ['buckets'])
      return (await new Person(from('198.51.100.7', '203.0.113.7')).signup()).status
    }
    expect([await signupAfter(10), await signupAfter(2), await signupAfter(10)]).toEqual([429, 201, 429])
    const sameNetwork = Array.from({ length: 6 }, (_, i) => `2001:db8:1:2::${i + 1}`)
    expect(await signups(sameNetwork)).toEqual([201, 201, 201, 201, 201, 429])
    expect(await signups(['2001:db8:1:2::1', '2001:db8:1:3::1', '2001:0db8:0001:0002:9::1'])).toEqual([201, 201, 201])
  },
)

proves(
  ['auth.verification.resend-limit', 'limit.resend-verification'],
  'three resent verification mails an hour',
  async () => {
    const { person } = await signedUp()
    await runtime.instances[0].parts.accounts.mail.idle()
    const before = mailbox.mails.length
    const resend = async () => {
      const { status, headers } = await person.call('resendVerification', { body: { email: person.email } })
      await runtime.instances[0].parts.accounts.mail.idle()
      const waitMinutes = Math.round(Number(headers.get('retry-after') ?? 0) / 60)
      return [status, waitMinutes, mailbox.mails.length - before]
    }
    const answers = []
    for (let at = 0; at < 5; at++) answers.push(await resend())
    expect(answers).toEqual([
      [200, 0, 1],
      [200, 0, 2],
      [200, 0, 3],
      [429, 20, 3],
      [429, 20, 3],
    ])
    // Three an hour are one in twenty minutes.
    const resendAfter = async (minutes: number) => {
      await passTime(runtime.sql, minutes * 60_000, ['buckets'])
      return resend()
    }
    expect(await resendAfter(15)).toEqual([429, 5, 3])
    expect(await resendAfter(5)).toEqual([200, 0, 4])
    expect(await resendAfter(15)).toEqual([429, 5, 4])
  },
)

proves('auth.verification.resend-limit', 'unknown and verified addresses are answered and limited alike', async () => {
  const { person } = await signedUp()
  const verified = (await signedUp()).person
  await runtime.sql`update users set email_verified_at = now() where email = ${verified.email}`
  const answersFor = async (email: string) => {
    await refillBuckets()
    const answers = []
    for (let at = 0; at < 4; at++) {
      const { status, text, headers } = await new Person(runtime.fetch).call('resendVerification', { body: { email } })
      const shown = text.replace(/\d+ seconds|"retry_after_seconds":\d+|"\w+_id":"[^"]*"/g, '')
      answers.push([status, shown, Math.round(Number(headers.get('retry-after')) / 60)])
    }
    return answers
  }
  const known = await answersFor(person.email)
  expect(known.map(([status]) => status)).toEqual([200, 200, 200, 429])
  expect(await answersFor('nobody@example.test')).toEqual(known)
  expect(await answersFor(verified.email)).toEqual(known)
})

proves(
  'auth.verification.resend',
  'without an address, to whoever is signed in, and never where no mail is sent',
  async () => {
    const { person } = await signedUp()
    await runtime.instances[0].parts.accounts.mail.idle()
    await refillBuckets()
    const before = mailbox.mails.length
    expect((await person.call('resendVerification', { body: {} })).body).toEqual({ ok: true, mail: 'sent' })
    expect((await person.call('resendVerification')).status).toBe(200)
    await runtime.instances[0].parts.accounts.mail.idle()
    expect(mailbox.mails.slice(before).map(({ to }) => to)).toEqual([person.email, person.email])
    const stranger = new Person(runtime.fetch)
    for (const rawBody of ['{}', '', '[]', '{"email":null}', '{"email":"no address"}']) {
      const answer = await stranger.call('resendVerification', { rawBody })
      expect([rawBody, answer.status, answer.code]).toEqual([rawBody, 400, 'INVALID_REQUEST'])
    }
    await runtime.sql`update users set email_verified_at = now() where email = ${person.email}`
    expect((await person.call('resendVerification', { body: {} })).status).toBe(400)
  },
)

proves(
  ['auth.refresh.retention', 'limit.refresh-retention'],
  'refresh tokens are removed 30 days after they expired or were revoked',
  async () => {
    const { person } = await signedUp()
    const count = async () =>
      (await runtime.sql`select 1 from refresh_tokens where tenant_id = ${(await tenantOf(person)) ?? ''}`).length
    const tenantOf = async (who: Person) =>
      (await runtime.sql<{ tenantId: string }[]>`select tenant_id from users where email = ${who.email}`)[0]?.tenantId
    await person.call('logout')
    await person.login()
    expect(await count()).toBe(2)
    const removeAfter = async (days: number) => {
      await passTime(runtime.sql, days * 24 * 3_600_000, ['refresh_tokens'])
      await deleteEndedRefreshTokens(runtime.sql, LIMITS.refreshTokenRetentionDays, 100)
    }
    await removeAfter(29.9)
    expect(await count()).toBe(2)
    await removeAfter(0.2)
    expect(await count()).toBe(1)
    await removeAfter(7)
    expect(await count()).toBe(0)
  },
)

proves(
  [
    'auth.key.stored-hashed',
    'auth.refresh.stored-hashed',
    'auth.reset.stored-hashed',
    'auth.verification.stored-hashed',
    'auth.password.no-plaintext',
    'auth.reset.token',
    'auth.verification.token',
  ],
  'no key, token or password that was used here is in the database or the logs',
  async () => {
    const { person, key } = await signedUp()
    const mail = runtime.instances[0].parts.accounts.mail
    await mail.idle()
    const verification = mailbox.tokenFor(person.email)
    await person.call('forgotPassword', { body: { email: person.email } })
    await mail.idle()
    const reset = mailbox.tokenFor(person.email)
    await person.login('wrong password, still secret')
    await runtime.api(key).loadSession({ params: { session_id: 'none' } })
    expect(Buffer.from(verification, 'base64url')).toHaveLength(32)
    expect(Buffer.from(reset, 'base64url')).toHaveLength(32)
    const secrets = [
      key,
      verification,
      reset,
      person.password,
      'wrong password, still secret',
      ...person.cookies.values(),
    ]
    const dump = await dumpDatabase()
    for (const secret of secrets) {
      expect(dump).not.toContain(secret)
      expect(runtime.logLines.join('')).not.toContain(secret)
    }
    expect(dump).toContain(createHash('sha256').update(key).digest('hex'))
    expect(dump).toContain(createHash('sha256').update(reset).digest('hex'))
  },
)

async function dumpDatabase(): Promise<string> {
  const tables = await runtime.sql<
    { tableName: string }[]
  >`select table_name from information_schema.tables where table_schema = 'public'`
  const rows = []
  for (const { tableName } of tables)
    rows.push(
      ...(await runtime.sql<{ row: string }[]>`select to_jsonb(t)::text as row from ${runtime.sql(tableName)} t`),
    )
  return rows.map(({ row }) => row).join('\n')
}
