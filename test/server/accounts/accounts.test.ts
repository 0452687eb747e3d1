import { createHash } from 'node:crypto'
import { KEY_PREFIX } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { type Random, secureRandom } from '../../../packages/server/src/base/crypto/secrets.js'
import { passTime } from '../../support/postgres/pass-time.js'
import { proves } from '../../support/proves.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const mailbox = createMailbox()
let now = new Date('2026-01-01T00:00:00Z')
let address = 1

/** Each from an address of its own, so that limits by address do not meet tests that are not about them. */
const person = (email?: string) => {
  address += 1
  const from = `198.51.${Math.floor(address / 250)}.${address % 250}`
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', from)
    return runtime.fetch(request)
  }
  return new Person(send, email === undefined ? {} : { email })
}
const ownerOf = (email: string) => createHash('sha256').update(email.toLowerCase()).digest('base64url')
const tokensOf = async (bucket: string, email: string): Promise<number> => {
  const [row] = await runtime.sql<{ tokens: number }[]>`
    select tokens from buckets where bucket = ${bucket} and owner = ${ownerOf(email)}`
  return row?.tokens ?? Number.NaN
}
/** On the process's clock, by which access tokens are read, and for everything that the database lets expire. */
const later = async (ms: number) => {
  now = new Date(now.getTime() + ms)
  await passTime(runtime.sql, ms, ['mail_queue', 'mail_tokens', 'refresh_tokens'])
}
/** What a busy machine may need between the moment that a test sets and the request that it makes then. */
const SLACK_MS = 30_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How long tokens of a table live, in milliseconds, to the second that the database stored. */
const livesOf = async (tokens: 'refresh_tokens' | 'mail_tokens', owner: Person): Promise<number[]> => {
  const rows = await runtime.sql<{ ms: number }[]>`
    select round(extract(epoch from t.expires_at - t.created_at))::float8 * 1000 as ms
    from ${runtime.sql(tokens)} t join users u using (tenant_id, user_id) where u.email = ${owner.email}`
  return rows.map(({ ms }) => ms)
}
const mailSent = () => runtime.instances[0].parts.accounts.mail.idle()

/** Whatever the service draws, by its bytes. */
const drawn: string[] = []
const secure = secureRandom()
const random: Random = (bytes) => {
  const given = secure(bytes)
  drawn.push(given.toString('hex'))
  return given
}

const { runtime } = await withRuntime({
  config: { COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1' },
  parts: { clock: () => now, random },
  mailer: mailbox,
})

describe('signing up', () => {
  proves(
    ['endpoint.signup', 'auth.key.format', 'auth.key.shown-once.signup'],
    'makes a tenant, a user and a key that is shown once and stored as a hash',
    async () => {
      const ada = person()
      const { status, body } = await ada.signup({ name: 'Ada', organisation: 'Engines' })
      expect(status).toBe(201)
      expect(body.api_key).toMatch(new RegExp(`^${KEY_PREFIX}_[A-Za-z0-9_-]{32}$`))
      expect(body.user).toMatchObject({
        email: ada.email,
        name: 'Ada',
        tenant_name: 'Engines',
        email_verified: false,
        quota: 'team',
      })
      const keys = await ada.call('listKeys')
      expect(keys.text).not.toContain(body.api_key)
      expect(keys.body.keys).toMatchObject([{ prefix: body.api_key.slice(0, 8), revoked_at: null }])
    },
  )

  test('a second account for the same address is 409 EMAIL_TAKEN, in any letter case', async () => {
    const ada = person()
    await ada.signup()
    const again = await person(ada.email.toUpperCase()).signup()
    expect([again.status, again.code]).toEqual([409, 'EMAIL_TAKEN'])
  })

  proves(
    ['endpoint.signup.mail', 'auth.verification.mail-failure'],
    'succeeds when the mail cannot be sent, and the mail is tried again',
    async () => {
      const ada = person()
      mailbox.failing = true
      expect((await ada.signup()).status).toBe(201)
      await mailSent()
      expect(mailbox.mails.filter(({ to }) => to === ada.email)).toEqual([])
      mailbox.failing = false
      await later(61_000)
      await mailSent()
      expect(mailbox.tokenFor(ada.email)).toMatch(/^[\w-]{43}$/)
    },
  )

  proves('auth.verification.no-wait', 'answers while the mail server is still taking the mail', async () => {
    const ada = person()
    const letGo = mailbox.hold()
    let answered: number | null = null
    const signingUp = ada.signup().then(({ status }) => {
      answered = status
    })
    try {
      await expect.poll(() => mailbox.beingSent).toBe(1)
      await expect.poll(() => answered).toBe(201)
      expect(mailbox.mails.filter(({ to }) => to === ada.email)).toEqual([])
    } finally {
      letGo()
    }
    await signingUp
    await mailSent()
    expect(mailbox.tokenFor(ada.email)).toMatch(/^[\w-]{43}$/)
  })

  test.each([
    ['two addresses', 'a@example.test,b@example.test'],
    ['a display name', 'Ada <a@example.test>'],
    ['a group', 'friends:a@example.test;'],
    ['a line break', 'a@example.test\r\nBcc: b@example.test'],
    ['no domain', 'ada'],
  ])('refuses %s as an address', async (_what, email) => {
    expect((await person(email).signup()).status).toBe(400)
  })

  test('unknown fields are ignored and never written', async () => {
    const ada = person()
    const { status, body } = await ada.signup({ tenant_id: 'tn_other', quota: 'scale', email_verified: true })
    expect(status).toBe(201)
    expect(body.user).toMatchObject({ quota: 'team', email_verified: false })
  })
})

describe('verifying', () => {
  proves(
    ['auth.unverified', 'auth.unverified.dashboard', 'account.email-verification'],
    'an unverified account gets 403 EMAIL_NOT_VERIFIED on the runtime API, and its dashboard is open',
    async () => {
      const ada = person()
      const { body } = await ada.signup()
      const refused = await runtime.api(body.api_key).lookupPlan({ query: { agent: 'a', environment: 'production' } })
      expect([refused.status, refused.problem.code]).toEqual([403, 'EMAIL_NOT_VERIFIED'])
      expect((await ada.call('me')).status).toBe(200)
      await mailSent()
      expect((await ada.call('verifyEmail', { body: { token: mailbox.tokenFor(ada.email) } })).status).toBe(200)
      const next = await runtime.api(body.api_key).loadSession({ params: { session_id: 'none' } })
      expect(next.status).toBe(404)
      expect((await ada.call('me')).body.user.email_verified).toBe(true)
    },
  )

  proves(
    ['auth.verification.lifetime', 'auth.verification.resend', 'limit.verification-token'],
    'the token ends after 24 hours, and a resent one voids it',
    async () => {
      const ada = person()
      await ada.signup()
      await mailSent()
      const first = mailbox.tokenFor(ada.email)
      await ada.call('resendVerification', { body: { email: ada.email } })
      await mailSent()
      const second = mailbox.tokenFor(ada.email)
      expect(second).not.toBe(first)
      expect((await ada.call('verifyEmail', { body: { token: first } })).code).toBe('INVALID_TOKEN')
      expect(await livesOf('mail_tokens', ada)).toEqual([24 * HOUR_MS, 24 * HOUR_MS])
      await later(24 * HOUR_MS + 1_000)
      expect((await ada.call('verifyEmail', { body: { token: second } })).code).toBe('INVALID_TOKEN')
    },
  )

  proves(
    ['auth.verification.lifetime', 'limit.verification-token'],
    'the token is good for its whole day',
    async () => {
      const ada = person()
      await ada.signup()
      await mailSent()
      await later(24 * HOUR_MS - SLACK_MS)
      expect((await ada.call('verifyEmail', { body: { token: mailbox.tokenFor(ada.email) } })).status).toBe(200)
    },
  )
})

describe('signing in', () => {
  proves(
    ['auth.cookie.http-only', 'auth.cookie.same-site'],
    'sets HttpOnly SameSite=Strict cookies, and nothing in the body is a token',
    async () => {
      const ada = person()
      await ada.signup()
      ada.cookies.clear()
      const { status, headers, text } = await ada.login()
      expect(status).toBe(200)
      const lines = headers.getSetCookie()
      const ages = { countersign_access: 604_800, countersign_refresh: 604_800, countersign_device: 31_536_000 }
      const flagged = Object.entries(ages).map(
        ([name, age]) => `${name}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict`,
      )
      expect(lines.map((line) => line.replace(/=[^;]+/, ''))).toEqual(flagged)
      for (const value of ada.cookies.values()) expect(text).not.toContain(value)
    },
  )

  test('wrong password and unknown address get the same answer', async () => {
    const ada = person()
    await ada.signup()
    const wrong = await ada.login('not the password at all')
    const unknown = await person().login()
    expect(wrong.status).toBe(401)
    expect(unknown.text).toBe(wrong.text)
    expect(unknown.status).toBe(wrong.status)
  })

  test('ten failures from one place for one account are the last for a while, known or not; its owner signs in elsewhere', async () => {
    const ada = person()
    await ada.signup()
    for (const email of [ada.email, 'nobody@example.test']) {
      const stranger = person(email)
      const codes: (string | undefined)[] = []
      for (let i = 0; i < 12; i += 1) codes.push((await stranger.login('wrong wrong wrong')).code)
      expect(codes.slice(0, 10)).toEqual(Array(10).fill('UNAUTHENTICATED'))
      expect(codes.slice(10)).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
    }
    // Refused tries count for nobody else: however many come, the account's own bound is not used up by them.
    const left = await tokensOf('login_email', ada.email)
    const stranger = person(ada.email)
    for (let i = 0; i < 10; i += 1) await stranger.login('wrong wrong wrong')
    const before = await tokensOf('login_email', ada.email)
    expect(left - before).toBeGreaterThan(8)
    expect((await stranger.login('wrong wrong wrong')).code).toBe('RATE_LIMITED')
    expect(await tokensOf('login_email', ada.email)).toBe(before)
    expect((await ada.login()).status).toBe(200)
  })

  test('however many places the tries come from, an account takes so many and no more', async () => {
    const ada = person()
    await ada.signup()
    await person(ada.email).login('wrong wrong wrong')
    expect(await tokensOf('login_email', ada.email)).toBe(99)
    await runtime.sql`update buckets set tokens = 0 where bucket = 'login_email' and owner = ${ownerOf(ada.email)}`
    expect((await person(ada.email).login('wrong wrong wrong')).code).toBe('RATE_LIMITED')
  })

  proves(
    ['auth.refresh.transparent', 'auth.session.access-lifetime', 'limit.access-token'],
    'an expired access token is renewed by the refresh token, for many requests at once',
    async () => {
      const ada = person()
      await ada.signup()
      const before = ada.cookies.get('countersign_access')
      await later(15 * MINUTE_MS - 1_000)
      expect((await ada.call('me')).headers.getSetCookie()).toEqual([])
      const { countersign_refresh: refresh = '', ...left } = Object.fromEntries(ada.cookies)
      ada.cookies.delete('countersign_refresh')
      expect((await ada.call('me')).status).toBe(200)
      await later(2_000)
      expect(Object.keys(left)).toEqual(['countersign_access', 'countersign_device'])
      expect((await ada.call('me')).status).toBe(401)
      ada.cookies.set('countersign_refresh', refresh)
      const answers = await Promise.all(Array.from({ length: 12 }, () => ada.call('me')))
      expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
      expect(ada.cookies.get('countersign_access')).not.toBe(before)
      expect((await ada.call('me')).headers.getSetCookie()).toEqual([])
    },
  )

  proves(
    ['auth.session.refresh-lifetime', 'limit.refresh-token'],
    'the refresh token ends after seven days',
    async () => {
      const ada = person()
      await ada.signup()
      expect(await livesOf('refresh_tokens', ada)).toEqual([7 * 24 * HOUR_MS])
      await later(7 * 24 * HOUR_MS - SLACK_MS)
      expect((await ada.call('me')).status).toBe(200)
      // The access token that was issued just now is good for minutes, and ends with the sign-in all the same.
      await later(SLACK_MS + 1_000)
      expect((await ada.call('me')).status).toBe(401)
    },
  )

  proves('account.dashboard-sessions', async () => {
    const ada = person()
    await ada.signup()
    ada.cookies.clear()
    expect((await ada.call('me')).status).toBe(401)
    expect((await ada.login('not the password at all')).status).toBe(401)
    expect((await ada.call('me')).status).toBe(401)
    expect((await ada.login()).status).toBe(200)
    expect((await ada.call('me')).body.user.email).toBe(ada.email)
    const other = new Person(runtime.fetch, { email: ada.email })
    await other.call('login', { body: { email: ada.email, password: ada.password } })
    expect((await ada.call('logout')).status).toBe(200)
    expect((await ada.call('me')).status).toBe(401)
    expect((await other.call('me')).status).toBe(200)
    expect((await ada.login()).status).toBe(200)
    expect((await ada.call('me')).status).toBe(200)
  })

  proves(['auth.refresh.revocable'], 'signing out ends the access token too, at once', async () => {
    const ada = person()
    await ada.signup()
    const stolen = new Map(ada.cookies)
    expect((await ada.call('logout')).status).toBe(200)
    expect([...ada.cookies.keys()]).toEqual(['countersign_device'])
    for (const [name, value] of stolen) ada.cookies.set(name, value)
    expect((await ada.call('me')).status).toBe(401)
    expect((await ada.call('logout')).status).toBe(200)
  })

  const LOST: Record<string, (cookies: Map<string, string>) => void> = {
    'is missing': (cookies) => cookies.delete('countersign_refresh'),
    'is one that nobody issued': (cookies) => cookies.set('countersign_refresh', 'A'.repeat(43)),
  }
  test.each(Object.entries(LOST))(
    'signing out ends the sign-in that the access token names where the refresh token %s',
    async (_, lose) => {
      const ada = person()
      await ada.signup()
      const stolen = new Map(ada.cookies)
      lose(ada.cookies)
      expect((await ada.call('logout')).status).toBe(200)
      for (const [name, value] of stolen) ada.cookies.set(name, value)
      expect((await ada.call('me')).status).toBe(401)
      await ada.login()
      const { items } = (await ada.call('listAudit', { query: { limit: '10' } })).body
      expect(items.map(({ action }) => action)).toContain('logout')
    },
  )
})

describe('resetting a password', () => {
  const askForReset = async (who: Person) => {
    expect((await who.call('forgotPassword', { body: { email: who.email } })).status).toBe(200)
    await mailSent()
    return mailbox.tokenFor(who.email)
  }

  proves(
    ['auth.reset.single-use', 'account.password-reset'],
    'sets the password once, and signs everyone out',
    async () => {
      const ada = person()
      await ada.signup()
      const token = await askForReset(ada)
      const hash = createHash('sha256').update(token).digest()
      const record = () => runtime.sql`select used_at, voided_at from mail_tokens where token_hash = ${hash}`
      expect(await record()).toEqual([{ usedAt: null, voidedAt: null }])
      const reset = () => ada.call('resetPassword', { body: { token, password: 'a brand new password' } })
      const answers = await Promise.all([reset(), reset(), reset()])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
      expect(await record()).toEqual([{ usedAt: expect.any(Date), voidedAt: null }])
      expect((await reset()).code).toBe('INVALID_TOKEN')
      expect((await ada.call('me')).status).toBe(401)
      expect((await ada.login()).status).toBe(401)
      expect((await ada.login('a brand new password')).status).toBe(200)
    },
  )

  proves(
    ['auth.reset.invalidates-older', 'auth.reset.lifetime', 'limit.reset-token'],
    'a newer token voids the older, and an hour ends it',
    async () => {
      const ada = person()
      await ada.signup()
      const older = await askForReset(ada)
      const newer = await askForReset(ada)
      const use = async (token: string) =>
        (await ada.call('resetPassword', { body: { token, password: 'a brand new password' } })).code
      expect(await use(older)).toBe('INVALID_TOKEN')
      await later(HOUR_MS + 1_000)
      expect(await use(newer)).toBe('INVALID_TOKEN')
    },
  )

  proves(['auth.reset.lifetime', 'limit.reset-token'], 'a token is good for its whole hour', async () => {
    const ada = person()
    await ada.signup()
    const token = await askForReset(ada)
    expect(await livesOf('mail_tokens', ada)).toContain(HOUR_MS)
    await later(HOUR_MS - SLACK_MS)
    const reset = await ada.call('resetPassword', { body: { token, password: 'a brand new password' } })
    expect(reset.status).toBe(200)
  })

  proves('account.password-reset', 'signs everyone out of a verified account, too, and its keys stay', async () => {
    const ada = person()
    const { body } = await ada.signup()
    await mailSent()
    await ada.call('verifyEmail', { body: { token: mailbox.tokenFor(ada.email) } })
    const elsewhere = person(ada.email)
    expect((await elsewhere.login(ada.password)).status).toBe(200)
    const reset = { token: await askForReset(ada), password: 'a brand new password' }
    expect((await person().call('resetPassword', { body: reset })).status).toBe(200)
    for (const who of [ada, elsewhere]) expect((await who.call('me')).status).toBe(401)
    expect((await ada.login()).status).toBe(401)
    expect((await ada.login('a brand new password')).status).toBe(200)
    expect((await runtime.api(body.api_key).loadSession({ params: { session_id: 'none' } })).status).toBe(404)
  })

  test.each([[null], [''], [['a']], [123], ['x'.repeat(43)]])('token %j is 400', async (token) => {
    const answer = await person().call('resetPassword', {
      rawBody: JSON.stringify({ token, password: 'a brand new password' }),
    })
    expect(answer.status).toBe(400)
  })

  test('takes an account that a stranger opened with the address out of their hands, keys and all', async () => {
    const address = person().email
    const stranger = new Person(runtime.fetch, { email: address })
    const { api_key: strangersKey } = (await stranger.signup()).body
    await mailSent()
    const verification = mailbox.tokenFor(address)
    const ada = new Person(runtime.fetch, { email: address })
    const reset = { token: await askForReset(ada), password: 'a brand new password' }
    expect((await ada.call('resetPassword', { body: reset })).status).toBe(200)
    expect((await ada.call('verifyEmail', { body: { token: verification } })).status).toBe(200)
    expect((await stranger.call('me')).status).toBe(401)
    expect((await runtime.api(strangersKey).loadSession({ params: { session_id: 'none' } })).status).toBe(401)

    await ada.login('a brand new password')
    const { api_key: key } = (await ada.call('createKey', { body: { name: 'own' } })).body
    const again = { token: await askForReset(ada), password: 'another brand new one' }
    expect((await ada.call('resetPassword', { body: again })).status).toBe(200)
    expect((await runtime.api(key).loadSession({ params: { session_id: 'none' } })).status).toBe(404)
  })

  test.each(['resetPassword', 'logout'] as const)('%s reaches a request that was let in before', async (end) => {
    const { email } = person()
    const stranger = new Person(runtime.fetch, { email })
    await stranger.signup()
    const cookie = [...stranger.cookies].map((pair) => pair.join('=')).join('; ')
    // The body is read when whoever asks has been let in, and it comes slowly.
    let finish = (_: string) => {}
    const rest = new Promise<string>((done) => {
      finish = done
    })
    let making: Promise<Response> | undefined
    await new Promise<void>((asked) => {
      const body = new ReadableStream({
        async pull(controller) {
          asked()
          controller.enqueue(new TextEncoder().encode(await rest))
          controller.close()
        },
      })
      const headers = { cookie, origin: TEST_ORIGIN, 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
      making = runtime.fetch(`${TEST_ORIGIN}/api/dashboard/keys`, init)
    })
    const reset = { token: await askForReset(person(email)), password: 'a brand new password' }
    await stranger.call(end, end === 'logout' ? {} : { body: reset })
    finish(JSON.stringify({ name: 'slow' }))
    expect((await making)?.status).toBe(401)
    expect(await runtime.sql`select 1 from api_keys where name = 'slow'`).toHaveLength(0)
  })

  test('a verification token resets nothing', async () => {
    const ada = person()
    await ada.signup()
    await mailSent()
    const token = mailbox.tokenFor(ada.email)
    expect((await ada.call('resetPassword', { body: { token, password: 'a brand new password' } })).code).toBe(
      'INVALID_TOKEN',
    )
  })

  proves(
    [
      'endpoint.forgot-password',
      'endpoint.forgot-password.always-ok',
      'error.forgot-password-ok',
      'limit.forgot-password',
    ],
    'forgot-password is 200 for known, unknown, malformed and over the limit, and mails at most three',
    async () => {
      const ada = person()
      await ada.signup()
      await mailSent()
      const before = mailbox.mails.length
      const bodies: unknown[] = [
        ...Array.from({ length: 5 }, () => ({ email: ada.email })),
        { email: 'nobody@example.test' },
        { email: 7 },
        {},
        [],
        'text',
      ]
      const answers = []
      for (const body of bodies) answers.push(await person().call('forgotPassword', { rawBody: JSON.stringify(body) }))
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
        new Set(['200 {"ok":true,"mail":"sent"}']),
      )
      await mailSent()
      expect(mailbox.mails.slice(before).map(({ to }) => to)).toEqual([ada.email, ada.email, ada.email])
    },
  )
})

describe('keys', () => {
  proves('auth.key.shown-once.creation', 'a new key is in the answer that made it and in no other', async () => {
    const ada = person()
    await ada.signup()
    const made = await ada.call('createKey', { body: { name: 'ci' } })
    expect(made.body.api_key).toMatch(/^csk_[A-Za-z0-9_-]{32}$/)
    for (const name of ['listKeys', 'listAudit', 'me'] as const) {
      expect((await ada.call(name)).text).not.toContain(made.body.api_key)
    }
  })

  proves('auth.key.entropy', 'every key is 24 bytes that the source of randomness gave for it alone', async () => {
    const ada = person()
    const { body } = await ada.signup()
    const made = [body.api_key]
    for (let i = 0; i < 40; i += 1) {
      const { key, api_key } = (await ada.call('createKey', { body: { name: `key ${i}` } })).body
      made.push(api_key)
      await ada.call('revokeKey', { params: { key_id: key.key_id } })
    }
    const bytes = made.map((key) => Buffer.from(key.slice(KEY_PREFIX.length + 1), 'base64url').toString('hex'))
    expect(bytes.filter((hex) => drawn.filter((other) => other === hex).length !== 1)).toEqual([])
    expect(new Set(bytes.map((hex) => hex.length))).toEqual(new Set([48]))
    // Every bit of them is used: of 41 keys each bit was set in some and not in others.
    const words = bytes.map((hex) => BigInt(`0x${hex}`))
    const all = (1n << 192n) - 1n
    expect([words.reduce((some, word) => some | word), words.reduce((each, word) => each & word)]).toEqual([all, 0n])
  })

  proves(
    ['auth.key.maximum-active', 'limit.active-keys'],
    'twenty creations at once leave five active keys',
    async () => {
      const ada = person()
      await ada.signup()
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => ada.call('createKey', { body: { name: `key ${i}` } })),
      )
      // One key came with the account.
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(4)
      expect(answers.filter(({ code }) => code === 'KEY_LIMIT')).toHaveLength(16)
      expect((await ada.call('listKeys')).body.keys.filter(({ revoked_at }) => revoked_at === null)).toHaveLength(5)
    },
  )

  proves(
    ['auth.key.revoked-at-once', 'account.api-keys'],
    'a revoked key is refused from the next request on, on another instance too',
    async () => {
      const ada = person()
      const { body } = await ada.signup()
      await mailSent()
      await ada.call('verifyEmail', { body: { token: mailbox.tokenFor(ada.email) } })
      const ask = () => runtime.api(body.api_key).loadSession({ params: { session_id: 'none' } })
      expect((await ask()).status).toBe(404)
      const [key] = (await ada.call('listKeys')).body.keys
      expect((await ada.call('revokeKey', { params: { key_id: key?.key_id ?? '' } })).status).toBe(200)
      expect((await ask()).status).toBe(401)
      expect((await ada.call('revokeKey', { params: { key_id: key?.key_id ?? '' } })).status).toBe(404)
    },
  )

  proves('endpoint.stops-need-nothing', 'a key is revoked whatever the body is, and from no other site', async () => {
    const ada = person()
    await ada.signup()
    for (const rawBody of ['{}', '{"reason":"lost"}', 'not JSON']) {
      const { key } = (await ada.call('createKey', { body: { name: 'spare' } })).body
      const params = { key_id: key.key_id }
      const headers = { origin: 'https://elsewhere.test' }
      expect((await ada.call('revokeKey', { params, rawBody, headers })).status).toBe(403)
      expect((await ada.call('revokeKey', { params, rawBody })).status).toBe(200)
    }
  })

  test("another tenant's key cannot be revoked and looks unknown", async () => {
    const ada = person()
    const eve = person()
    await ada.signup()
    await eve.signup()
    const [key] = (await ada.call('listKeys')).body.keys
    const foreign = await eve.call('revokeKey', { params: { key_id: key?.key_id ?? '' } })
    const unknown = await eve.call('revokeKey', { params: { key_id: 'key_unknown' } })
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  })
})
