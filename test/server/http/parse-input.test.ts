import { connect as connectSocket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { LIMITS, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { routeRequest } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const echo = echoHandlers()
const { runtime } = await withRuntime({ parts: { handlers: echo.handlers, checkReplies: false } })

const KEYED_WITH_BODY = (Object.entries(ROUTES) as [RouteName, Route][])
  .filter(([, route]) => route.auth === 'api_key' && route.body !== undefined && !route.lenientBody)
  .map(([name]) => name)

const send = (
  name: RouteName,
  given: { rawBody?: string; headers?: Record<string, string>; query?: Record<string, string> },
) => runtime.fetch(routeRequest(name, { key: runtime.key, ...given }))

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const BAD_BODIES: readonly [string, string][] = [
  ['empty', ''],
  ['not JSON', '{"a":'],
  ['a number', '7'],
  ['null', 'null'],
  ['an array', '[]'],
  ['a comment', '{/* */}'],
  ['a byte order mark', '\ufeff{}'],
  ['two values', '{}{}'],
  ['a key twice', '{"label":"a","label":"b"}'],
  ['__proto__', '{"__proto__":{"label":"a"}}'],
  ['constructor at depth', '{"a":{"b":[{"constructor":1}]}}'],
  ['NUL', '{"label":"a\\u0000b","session_id":"s\\u0000"}'],
  ['half a surrogate pair', '{"label":"\\ud800"}'],
  ['1e400', '{"fence":1e400}'],
  ['2^53 + 1', '{"fence":9007199254740993}'],
  ['nesting of 65', nested(65)],
  ['nesting of 5,000', nested(5_000)],
  ['a tenant', '{"tenant_id":"tnt_other"}'],
  ['fields of the record', '{"killed":false,"status":"ACTIVE","state_version":7}'],
]

test('every route refuses every bad body with 400 and one fault that says where, and nothing runs', async () => {
  expect(KEYED_WITH_BODY.length).toBeGreaterThan(10)
  for (const name of KEYED_WITH_BODY) {
    for (const [what, rawBody] of BAD_BODIES) {
      const before = echo.reached.length
      const response = await send(name, { rawBody })
      const problem = await response.json()
      expect([name, what, response.status, problem.code]).toEqual([name, what, 400, 'INVALID_REQUEST'])
      expect(problem.detail).toMatch(/^(body|path|query)/)
      expect(echo.reached).toHaveLength(before)
    }
  }
})

test('a body longer than the route takes is 413, announced or not', async () => {
  for (const name of KEYED_WITH_BODY) {
    const limit = LIMITS.bodyBytes
    const rawBody = `{"a":"${'x'.repeat(limit)}"}`
    const chunked = await send(name, { rawBody, headers: { 'transfer-encoding': 'chunked' } })
    expect([name, chunked.status]).toEqual([name, 413])
    const announced = await send(name, { rawBody: '{}', headers: { 'content-length': String(limit + 1) } })
    expect([name, announced.status]).toEqual([name, 413])
  }
})

proves('limit.memory.open-bodies', async () => {
  const open = Object.entries(ROUTES).filter(([, route]) => route.auth === 'none' && 'body' in route)
  expect(open.length).toBeGreaterThan(4)
  for (const [name] of open as [RouteName, Route][]) {
    const announced = await send(name, { rawBody: '{}', headers: { 'content-length': '16385' } })
    expect([name, announced.status]).toEqual([name, 413])
    const taken = await send(name, { rawBody: `{"a":"${'x'.repeat(16_376)}"}` })
    expect([name, taken.status]).not.toEqual([name, 413])
  }
})

const BAD_TYPES: readonly [string, Record<string, string>][] = [
  ['text', { 'content-type': 'text/plain' }],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['another JSON', { 'content-type': 'application/vnd.api+json' }],
  ['UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
  ['two types', { 'content-type': 'application/json, text/plain' }],
  ['a longer word', { 'content-type': 'application/jsonp' }],
  ['gzip', { 'content-encoding': 'gzip' }],
  ['none', { 'content-type': '' }],
]

test('every route refuses every other media type and encoding with 415', async () => {
  for (const name of KEYED_WITH_BODY) {
    for (const [what, headers] of BAD_TYPES) {
      const response = await send(name, { rawBody: '{}', headers })
      expect([name, what, response.status]).toEqual([name, what, 415])
    }
  }
  const zipped = new Request('http://localhost/api/v1/captures', {
    method: 'POST',
    headers: { authorization: `Bearer ${runtime.key}`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync('{}'),
  })
  expect((await runtime.fetch(zipped)).status).toBe(415)
})

describe('what stops', () => {
  const STOPS: RouteName[] = ['killSession', 'killWorkflow', 'reportBypass']
  const reached = async (name: RouteName, given: Parameters<typeof send>[1]) => {
    const response = await send(name, given)
    expect([name, given, response.status]).toEqual([name, given, 200])
    return (await response.json()).input.body
  }

  proves('endpoint.stops-need-nothing', 'takes no body, any body and any type of it', async () => {
    for (const name of STOPS) {
      expect(await reached(name, {})).toEqual({})
      for (const [, rawBody] of BAD_BODIES) expect(await reached(name, { rawBody })).toEqual({})
      for (const [, headers] of BAD_TYPES) expect(await reached(name, { rawBody: '', headers })).toEqual({})
      expect(await reached(name, { rawBody: `{"reason":"${'x'.repeat(2_000_000)}"}` })).toEqual({})
    }
  })

  proves('endpoint.stops-need-nothing', 'takes any query', async () => {
    for (const name of STOPS) expect(await reached(name, { query: { reason: 'x' } })).toEqual({})
  })

  proves('endpoint.stops-need-nothing', 'uses what of the body fits, whatever type it says it is', async () => {
    for (const [, headers] of BAD_TYPES) {
      const rawBody = '{"reason":"enough","tenant_id":"tnt_other","agent":"a"}'
      expect(await reached('killSession', { rawBody, headers })).toEqual({ reason: 'enough' })
      expect(await reached('stopAgent', { rawBody, headers })).toEqual({ agent: 'a', reason: 'enough', all: false })
    }
    expect(await reached('killWorkflow', { rawBody: '{"reason":7}' })).toEqual({})
    expect(await reached('reportBypass', { rawBody: '{"method":"create","detected_at":"now"}' })).toEqual({
      method: 'create',
    })
    expect((await send('stopAgent', {})).status).toBe(400)
  })
})

test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
  '%s is the one media type',
  async (type) => {
    const response = await send('addLabel', { rawBody: '{"label":"a"}', headers: { 'content-type': type } })
    expect(response.status).toBe(200)
    expect((await response.json()).input).toEqual({
      params: { session_id: 'unknown' },
      query: {},
      body: { label: 'a' },
    })
  },
)

test('a path parameter that is no id is 400 on every route that has one, and reaches no handler', async () => {
  const before = echo.reached.length
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    if (route.auth !== 'api_key' || route.params === undefined) continue
    for (const id of ['a b', 'a\u0000', '\u0430', 'x'.repeat(129), "'; drop table sessions", '%']) {
      const params = Object.fromEntries([...route.path.matchAll(/:([a-z_]+)/g)].map((match) => [match[1]!, id]))
      const request = routeRequest(name, {
        key: runtime.key,
        params,
        rawBody: route.method === 'GET' ? undefined : '{}',
      })
      const response = await runtime.fetch(request)
      expect([name, id, response.status]).toEqual([name, id, 400])
    }
  }
  expect(echo.reached).toHaveLength(before)
})

test('an unknown query parameter, one given twice, and a body where none belongs are 400', async () => {
  expect((await send('addLabel', { rawBody: '{"label":"a"}', query: { dry_run: '1' } })).status).toBe(400)
  const url = new URL('http://localhost/api/v1/governance/plan?agent=a&agent=b&environment=production')
  const headers = { authorization: `Bearer ${runtime.key}` }
  expect((await runtime.fetch(new Request(url, { headers }))).status).toBe(400)
  const withKey = await send('addLabel', { rawBody: '{"label":"a"}', query: { [runtime.key]: '1' } })
  expect([withKey.status, (await withKey.text()).includes(runtime.key)]).toEqual([400, false])
})

proves('limit.query.length', async () => {
  const plan = (query: string) => {
    const headers = { authorization: `Bearer ${runtime.key}` }
    return runtime.fetch(new Request(`http://localhost/api/v1/governance/plan?${query}`, { headers }))
  }
  const named = 'agent=a&environment=production'
  expect((await plan(`${named}${'&'.repeat(8_191 - named.length)}`)).status).toBe(200)
  const longer = await plan(`${named}${'&'.repeat(8_192 - named.length)}`)
  expect([longer.status, (await longer.json()).detail]).toEqual([400, 'query: more than 8192 characters'])
  const label = new Request(routeRequest('addLabel', { key: runtime.key, rawBody: '{"label":"a"}' }))
  const ask = async (query: string) => {
    const answer = await runtime.fetch(new Request(`${label.url}${query}`, label.clone()))
    return [answer.status, (await answer.json()).detail]
  }
  expect((await ask('?'))[0]).toBe(200)
  expect(await ask(`?${'&a'.repeat(4_000)}`)).toEqual([400, 'query: this path has no parameters'])
})

test('text that only looks like an escaped NUL is taken as it is', async () => {
  const response = await send('reportBypass', { rawBody: JSON.stringify({ detail: 'a\\u0000b' }) })
  expect((await response.json()).detail ?? '').not.toContain('NUL')
})

test('bytes that are no UTF-8 are 400', async () => {
  const request = new Request('http://localhost/api/v1/replay/sessions/s1/labels', {
    method: 'POST',
    headers: { authorization: `Bearer ${runtime.key}`, 'content-type': 'application/json' },
    body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]),
  })
  expect((await runtime.fetch(request)).status).toBe(400)
})

test('over a socket: chunked bodies are read whole, cut off at the limit, and a broken one is never judged', async () => {
  const base = new URL(await runtime.instances[0].listen())
  const head = `POST /api/v1/replay/sessions/s1/labels HTTP/1.1\r\nhost: ${base.host}\r\nauthorization: Bearer ${runtime.key}\r\ncontent-type: application/json\r\n`
  const talk = (text: string, endEarly = false) =>
    new Promise<string>((done) => {
      const socket = connectSocket(Number(base.port), base.hostname)
      let answer = ''
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1')
        if (answer.includes('\r\n\r\n')) socket.end()
      })
      socket.on('close', () => done(answer)).on('error', () => {})
      socket.write(text)
      if (endEarly) setTimeout(() => socket.destroy(), 50)
    })
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const whole = `${head}transfer-encoding: chunked\r\n\r\n${chunk('{"label"')}${chunk(':"a"}')}0\r\n\r\n`
  expect(await talk(whole)).toMatch(/^HTTP\/1\.1 200 /)
  const tooLong = `${head}transfer-encoding: chunked\r\n\r\n${chunk(`{"label":"${'x'.repeat(LIMITS.bodyBytes)}`)}`
  expect(await talk(tooLong)).toMatch(/^HTTP\/1\.1 413 /)
  const before = echo.reached.length
  await talk(`${head}content-length: 40\r\n\r\n{"label":"a"}`, true)
  expect(echo.reached).toHaveLength(before)
})

test('every answer, also a refusal, carries the security headers and is not stored', async () => {
  for (const response of [await send('addLabel', { rawBody: '{}' }), await runtime.fetch('http://localhost/healthz')]) {
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    })
  }
})
