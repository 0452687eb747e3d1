import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { createLog } from '../base/log.js'
import { createMetrics } from '../base/metrics.js'
import { createHttpServer } from './http-server.js'
import { createLimits } from './limits.js'
import { createOwnPages } from './own-pages.js'
import type { GatewayRequest, Route } from './route.js'

const gone = new EventEmitter()
const seen: GatewayRequest[] = []
const echo: Route = {
  name: 'echo',
  async handle(given) {
    seen.push(given)
    return new Response(await given.body(), { headers: { 'x-agent': encodeURIComponent(given.agent) } })
  },
}
const slowly: Route = {
  name: 'slowly',
  async handle({ signal }) {
    return new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from('first'))
          signal.addEventListener('abort', () => gone.emit('left'))
        },
      }),
    )
  },
}
const CHUNKS = 40
const long: Route = {
  name: 'long',
  async handle() {
    let sent = 0
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (sent++ === CHUNKS) controller.close()
          else controller.enqueue(Buffer.alloc(256 * 1024))
        },
      }),
    )
  },
}
const failing: Route = {
  name: 'failing',
  async handle() {
    throw new Error('sk-s3cret')
  },
}
const lines: string[] = []
const metrics = createMetrics()
const server = createHttpServer({
  routes: [echo, slowly, long, failing],
  host: '127.0.0.1',
  agent: null,
  maxBodyBytes: 1_000,
  bodyTimeoutMs: 300,
  limits: createLimits(),
  maxConnections: 100,
  log: createLog({ level: 'info', write: (line) => lines.push(line) }),
  metrics,
  pages: createOwnPages({ metrics, metricsToken: null, problem: async () => null }),
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const { port } = server.address() as AddressInfo
const base = `http://127.0.0.1:${port}`
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** What a socket answers to these bytes. */
async function raw(text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  await once(socket, 'close')
  return answer
}

test('a route gets the agent, the path and the query apart', async () => {
  const reply = await fetch(`${base}/my%20agent/echo/v1/messages?beta=true`, { method: 'POST', body: 'hello' })
  expect([reply.status, await reply.text(), reply.headers.get('x-agent')]).toEqual([200, 'hello', 'my%20agent'])
  expect(seen.at(-1)).toMatchObject({ agent: 'my agent', path: '/v1/messages', query: '?beta=true', method: 'POST' })
})

const TRICKS = [
  '/a/echo/../../b',
  '/a/echo/%2e%2e/b',
  '/a/echo//v1',
  '/a/echo/v1%2fmodels',
  '/a/echo/v1%5cmodels',
  '/a/echo/v1\\models',
  '/a/echo/v1%00',
  '/a/echo/%252e',
  '/a%2fb/echo/v1',
  '/%ff/echo/v1',
  '/a/echo/v1?x=%zz',
  'http://elsewhere.example/a/echo/v1',
  '*',
  '/',
]
test.each(TRICKS)('the path %s is refused before any route', async (path) => {
  const before = seen.length
  const answer = await raw(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 40[04] /)
  expect(answer).toContain('countersign_')
  expect(seen.length).toBe(before)
})

const SMUGGLED: readonly [string, string][] = [
  ['two lengths', 'Content-Length: 0\r\nContent-Length: 5\r\n'],
  ['a length beside chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
  ['two keys', 'Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 0\r\n'],
  ['two sessions', 'x-countersign-session: ses_1\r\nX-Countersign-Session: ses_2\r\nContent-Length: 0\r\n'],
  ['a folded header', 'x-a: 1\r\n x-b: 2\r\nContent-Length: 0\r\n'],
  ['a space before the colon', 'Content-Length : 0\r\n'],
]
test.each(SMUGGLED)('%s are refused', async (_name, headers) => {
  const before = seen.length
  const answer = await raw(`POST /a/echo/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(seen.length).toBe(before)
})

test('a web page from elsewhere is refused, one on this machine is not', async () => {
  const from = (origin: string) => fetch(`${base}/a/echo`, { method: 'POST', body: 'x', headers: { origin } })
  expect((await from('https://evil.example')).status).toBe(403)
  expect((await from('null')).status).toBe(403)
  expect((await from('http://localhost:3000')).status).toBe(200)
})

test.each([
  ['crosses sites', 'Host: localhost\r\nSec-Fetch-Site: cross-site', 403],
  [
    'crosses sites with an origin of this machine',
    'Host: localhost\r\nOrigin: http://127.0.0.1\r\nSec-Fetch-Site: cross-site',
    200,
  ],
  ['names another host', 'Host: rebound.example', 403],
  ['names this machine', 'Host: 127.0.0.1:4320', 200],
  ['names this machine from a container', 'Host: host.docker.internal:4320', 200],
])('a request without the origin of a page that %s', async (_name, headers, status) => {
  const answer = await raw(`GET /a/echo HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a body that is too large or too slow gets an answer, and the next request is served', async () => {
  const large = await fetch(`${base}/a/echo`, { method: 'POST', body: 'x'.repeat(1_001) })
  expect([large.status, (await large.json()).error.code]).toEqual([413, 'countersign_body_too_large'])
  expect(large.headers.get('x-should-retry')).toBe('false')
  const slow = await raw('POST /a/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\nx')
  expect(slow).toMatch(/^HTTP\/1\.1 408 /)
  expect((await fetch(`${base}/a/echo`, { method: 'POST', body: 'x' })).status).toBe(200)
})

test('an upgrade is refused by name', async () => {
  const upgrade = request(`${base}/a/echo`, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  upgrade.end()
  const [reply] = await once(upgrade, 'response')
  let text = ''
  for await (const chunk of reply) text += chunk
  expect([reply.statusCode, text]).toEqual([400, expect.stringContaining('WebSocket connections are not governed')])
})

test('the route hears that the client left', async () => {
  const leaving = new AbortController()
  const reply = await fetch(`${base}/a/slowly`, { signal: leaving.signal })
  const { value } = (await reply.body?.getReader().read()) ?? {}
  expect(Buffer.from(value ?? []).toString()).toBe('first')
  const heard = once(gone, 'left')
  leaving.abort()
  await heard
})

test('an unforeseen failure says nothing of what caused it', async () => {
  const reply = await fetch(`${base}/a/failing`)
  expect(reply.status).toBe(500)
  expect(await reply.text()).not.toContain('s3cret')
  expect(lines.join()).toContain('internal error')
  expect(lines.join()).not.toContain('s3cret')
})

test('a client that reads slowly gets everything, and nothing piles up meanwhile', async () => {
  const listeners: number[] = []
  server.once('request', (_, reply) => {
    reply.on('drain', () => listeners.push(reply.listenerCount('close')))
  })
  const asked = request(`${base}/a/long`)
  asked.end()
  const [answer] = await once(asked, 'response')
  let bytes = 0
  for await (const chunk of answer) {
    bytes += chunk.length
    await new Promise((later) => setTimeout(later, 1))
  }
  expect(bytes).toBe(CHUNKS * 256 * 1024)
  expect(listeners.length).toBeGreaterThan(10)
  expect(Math.max(...listeners)).toBe(Math.min(...listeners))
})
