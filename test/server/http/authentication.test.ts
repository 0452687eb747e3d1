import { setTimeout as sleep } from 'node:timers/promises'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { KEY_USAGE_DELAY_MS } from '../../../packages/server/src/entry/key-usage.js'
import { throughSql, watchedSql } from '../../support/postgres/watched-sql.js'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { routeRequest, TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const echo = echoHandlers()
/** Statements sent by the first instance, to see what a refused key cost. */
let statements = 0

const { runtime } = await withRuntime({
  instances: 2,
  parts: { handlers: echo.handlers, checkReplies: false },
  wrapDatabase: (database) => throughSql(database, (sql) => watchedSql(sql, count)),
})

function count() {
  statements += 1
}

const KEYED = (Object.entries(ROUTES) as [RouteName, Route][])
  .filter(([, route]) => route.auth === 'api_key')
  .map(([name]) => name)

/** The body of every 401, and what it must not depend on. */
const REFUSED = {
  type: 'urn:countersign:problem:UNAUTHENTICATED',
  title: 'a valid API key or sign-in is required',
  status: 401,
  code: 'UNAUTHENTICATED',
}
const unknownKey = `csk_${'A'.repeat(32)}`

const BAD_HEADERS: readonly [string, (key: string) => Record<string, string>][] = [
  ['no header', () => ({})],
  ['an empty header', () => ({ authorization: '' })],
  ['Bearer without a token', () => ({ authorization: 'Bearer ' })],
  ['Basic', (key) => ({ authorization: `Basic ${btoa(`${key}:`)}` })],
  ['the bare key', (key) => ({ authorization: key })],
  ['two tokens', (key) => ({ authorization: `Bearer ${key}, Bearer ${key}` })],
  ['another prefix', (key) => ({ authorization: `Bearer sk_${key.slice(4)}` })],
  ['one character short', (key) => ({ authorization: `Bearer ${key.slice(0, -1)}` })],
  ['one character long', (key) => ({ authorization: `Bearer ${key}A` })],
  ['quotes', (key) => ({ authorization: `Bearer "${key}"` })],
  ['SQL', () => ({ authorization: "Bearer csk_' or '1'='1" })],
  ['10 kB', () => ({ authorization: `Bearer csk_${'A'.repeat(10_000)}` })],
  ['Latin-1', () => ({ authorization: `Bearer csk_${'\u00e9'.repeat(32)}` })],
]

proves(
  ['auth.bearer', 'auth.fail-closed', 'auth.order.extract', 'auth.order.format'],
  'every /api/v1 route refuses every malformed credential with one body, before any statement and any handler',
  async () => {
    expect(KEYED.length).toBeGreaterThan(15)
    for (const name of KEYED) {
      for (const [what, headers] of BAD_HEADERS) {
        const before = { statements, reached: echo.reached.length }
        const response = await runtime.fetch(
          routeRequest(name, { headers: headers(runtime.key), rawBody: rawBodyFor(name) }),
        )
        expect([name, what, response.status]).toEqual([name, what, 401])
        expect(await response.json()).toEqual(REFUSED)
        expect([name, what, { statements, reached: echo.reached.length }]).toEqual([name, what, before])
      }
    }
    expect(runtime.logLines.join('')).not.toContain(runtime.key.slice(4))
  },
)

/** GET requests cannot have a body. */
const rawBodyFor = (name: RouteName) => (ROUTES[name].method === 'GET' ? undefined : '{}')

test('a key in the query string is no credential, and does not reach the log', async () => {
  for (const name of KEYED) {
    const url = new URL(routeRequest(name, {}).url)
    url.searchParams.set('api_key', runtime.key)
    const response = await runtime.fetch(new Request(url, { method: ROUTES[name].method }))
    expect(response.status).toBe(401)
  }
  expect(runtime.logLines.join('')).not.toContain(runtime.key.slice(4))
})

test('two Authorization headers on the wire are refused', async () => {
  const { request } = await import('node:http')
  const base = await runtime.instances[0].listen()
  const status = await new Promise<number | undefined>((done) => {
    const headers = [
      'host',
      '127.0.0.1',
      'authorization',
      `Bearer ${runtime.key}`,
      'authorization',
      `Bearer ${runtime.key}`,
    ]
    request(`${base}/api/v1/governance/plan?agent=a&environment=production`, { headers }, (r) =>
      done(r.resume().statusCode),
    ).end()
  })
  expect(status).toBe(401)
})

proves(
  ['auth.order.lookup', 'auth.key.compared-by-hash'],
  'a well-formed key that nobody has is refused with the same body',
  async () => {
    for (const name of KEYED) {
      const response = await runtime.fetch(routeRequest(name, { key: unknownKey, rawBody: rawBodyFor(name) }))
      expect([response.status, await response.json()]).toEqual([401, REFUSED])
    }
  },
)

proves(['auth.key.stored-hashed', 'auth.key.format'], 'the database holds the hash of a key and no key', async () => {
  expect(runtime.key).toMatch(/^csk_[A-Za-z0-9_-]{32}$/)
  const [row] =
    await runtime.sql`select to_jsonb(k) as row, encode(k.key_hash, 'hex') as hash from api_keys k where key_id = ${runtime.keyId}`
  const { createHash } = await import('node:crypto')
  expect(row?.hash).toBe(createHash('sha256').update(runtime.key).digest('hex'))
  expect(JSON.stringify(row?.row)).not.toContain(runtime.key.slice(10))
})

proves('auth.order.tenant', 'a good key yields its tenant and user', async () => {
  const tenant = await runtime.createTenant()
  await runtime.sql`update api_keys set user_id = 'usr_1' where key_id = ${tenant.keyId}`
  const before = statements
  const response = await runtime.fetch(routeRequest('loadSession', { key: tenant.key, params: { session_id: 's1' } }))
  expect(response.status).toBe(200)
  expect(statements).toBeGreaterThan(before)
  expect(await response.json()).toMatchObject({ tenant_id: tenant.tenantId, user_id: 'usr_1' })
})

proves(
  ['auth.order.revoked', 'auth.key.revoked-at-once'],
  'a revoked key is refused by the very next request, on the other instance',
  async () => {
    const tenant = await runtime.createTenant()
    const [one, two] = runtime.instances
    const ask = (send: typeof fetch) =>
      send(routeRequest('loadSession', { key: tenant.key, params: { session_id: 's1' } }))
    expect((await ask(one.fetch)).status).toBe(200)
    expect((await ask(two!.fetch)).status).toBe(200)
    await runtime.sql`update api_keys set revoked_at = clock_timestamp() where key_id = ${tenant.keyId}`
    const refused = await ask(two!.fetch)
    expect([refused.status, await refused.json()]).toEqual([401, REFUSED])
    expect((await ask(one.fetch)).status).toBe(401)
  },
)

proves(
  ['auth.unverified', 'error.email-not-verified'],
  'an unverified account gets 403 on every /api/v1 route, with any body, and nothing runs',
  async () => {
    const tenant = await runtime.createTenant({ verified: false })
    const reached = echo.reached.length
    for (const name of KEYED) {
      for (const rawBody of ROUTES[name].method === 'GET' ? [undefined] : ['{}', 'not json', '{"killed":true}']) {
        const response = await runtime.fetch(routeRequest(name, { key: tenant.key, rawBody }))
        expect([name, response.status]).toEqual([name, 403])
        expect(await response.json()).toMatchObject({ code: 'EMAIL_NOT_VERIFIED' })
      }
    }
    expect(echo.reached).toHaveLength(reached)
    expect(await runtime.sql`select 1 from buckets where owner = ${tenant.tenantId}`).toHaveLength(0)
  },
)

proves('auth.key.last-used', 'each request moves last_used_at on within a bounded delay', async () => {
  const tenant = await runtime.createTenant()
  const lastUse = async () =>
    (await runtime.sql`select last_used_at from api_keys where key_id = ${tenant.keyId}`)[0]?.lastUsedAt as Date | null
  const ask = () => runtime.fetch(routeRequest('loadSession', { key: tenant.key, params: { session_id: 's1' } }))
  const soon = { timeout: KEY_USAGE_DELAY_MS + 15_000 }
  expect(await lastUse()).toBeNull()
  const firstAt = Date.now()
  await ask()
  await expect.poll(lastUse, soon).not.toBeNull()
  const first = await lastUse()
  expect(first!.getTime()).toBeGreaterThanOrEqual(firstAt)
  await sleep(5)
  const secondAt = Date.now()
  await ask()
  await expect.poll(async () => (await lastUse())!.getTime(), soon).toBeGreaterThanOrEqual(secondAt)
})

proves('auth.key.last-used', 'no request waits until its use is written down', async () => {
  const tenant = await runtime.createTenant()
  const lastUses = () => runtime.sql`select last_used_at from api_keys where key_id = ${tenant.keyId}`
  const answered: number[] = []
  const ask = async () => {
    const request = routeRequest('loadSession', { key: tenant.key, params: { session_id: 's1' } })
    answered.push((await runtime.fetch(request)).status)
  }
  // Whoever wants to write to the key's row waits here, until the transaction ends.
  await runtime.sql.begin(async (tx) => {
    await tx`select 1 from api_keys where key_id = ${tenant.keyId} for update`
    const asking = [ask(), ask()]
    await expect.poll(() => answered).toEqual([200, 200])
    // A later one, too: by then the use is being written, and waits.
    await sleep(KEY_USAGE_DELAY_MS)
    asking.push(ask())
    await expect.poll(() => answered).toEqual([200, 200, 200])
    expect(await lastUses()).toEqual([{ lastUsedAt: null }])
    await Promise.all(asking)
  })
  await expect.poll(lastUses, { timeout: KEY_USAGE_DELAY_MS + 15_000 }).toEqual([{ lastUsedAt: expect.any(Date) }])
})

test('an API key opens no dashboard route, and a cookie no /api/v1 route', async () => {
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    if (route.auth === 'none') continue
    const headers =
      route.auth === 'cookie'
        ? { authorization: `Bearer ${runtime.key}` }
        : { cookie: `countersign_access=${runtime.key}` }
    const response = await runtime.fetch(
      routeRequest(name, { headers, rawBody: route.method === 'GET' ? undefined : '{}' }),
    )
    expect([name, response.status]).toEqual([name, 401])
  }
})

test('without a key nobody learns which paths under /api/v1 exist; with one, unknown paths are 404 and methods 405', async () => {
  const ask = (method: string, path: string, key: string | null) =>
    runtime.fetch(
      new Request(`${TEST_ORIGIN}${path}`, { method, headers: key ? { authorization: `Bearer ${key}` } : {} }),
    )
  for (const path of ['/api/v1/nothing', '/api/v1/replay/sessions/s1/proposals/p1/approve', '/api/v1/']) {
    expect((await ask('POST', path, null)).status).toBe(401)
    expect((await ask('POST', path, runtime.key)).status).toBe(404)
  }
  const labels = '/api/v1/replay/sessions/s1/labels'
  expect((await ask('DELETE', labels, null)).status).toBe(401)
  const refused = await ask('DELETE', labels, runtime.key)
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
  expect((await ask('GET', '/api/nothing', null)).status).toBe(404)
})

test('every answer has a request id of its own, in the header only, and its log line has it too', async () => {
  const [one, two] = await Promise.all([
    runtime.fetch(`${TEST_ORIGIN}/healthz`),
    runtime.fetch(`${TEST_ORIGIN}/api/v1/nothing`),
  ])
  const ids = [one, two].map((response) => response.headers.get('x-request-id'))
  expect(new Set(ids).size).toBe(2)
  expect(await two.text()).not.toContain(ids[1])
  for (const id of ids) expect(runtime.logLines.some((line) => JSON.parse(line).request_id === id)).toBe(true)
})

proves(
  ['version.v1-prefix', 'version.account-unversioned'],
  'keyed routes lie under /api/v1/, account routes under /api/auth/ without a version',
  async () => {
    for (const [name, { auth, path }] of Object.entries(ROUTES) as [RouteName, Route][]) {
      const expected = auth === 'api_key' ? /^\/api\/v1\/[a-z]/ : /^\/api\/(auth|dashboard)\/(?!v\d)[a-z]/
      expect([name, path]).toEqual([name, expect.stringMatching(expected)])
    }
    for (const path of ['/api/auth/login', '/api/auth/signup', '/api/auth/forgot-password']) {
      const versioned = await runtime.fetch(`${TEST_ORIGIN}${path.replace('/api/', '/api/v1/')}`, { method: 'POST' })
      expect(versioned.status).toBe(401)
      const plain = await runtime.fetch(`${TEST_ORIGIN}${path}`, { method: 'POST' })
      expect(plain.status).not.toBe(404)
    }
  },
)
