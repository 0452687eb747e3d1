import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished } from 'vitest'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { startRuntime } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const echo = echoHandlers()
const { runtime } = await withRuntime({
  parts: {
    handlers: echo.handlers,
    checkReplies: false,
    timeouts: { headersTimeout: 400, requestTimeout: 3_000, connectionsCheckingInterval: 50 },
  },
})
let port: number
beforeAll(async () => {
  port = Number(new URL(await runtime.instances[0].listen()).port)
})

const LABELS = '/api/v1/replay/sessions/s1/labels'
const KILL = '/api/v1/replay/sessions/s1/kill'
const HOST = 'host: countersign'
const JSON_TYPE = 'content-type: application/json'
const GOOD = '{"label":"a"}'
const CHUNKED = 'transfer-encoding: chunked'

const head = (line: string, ...fields: string[]) => `${[line, ...fields].join('\r\n')}\r\n\r\n`
const get = (path: string, ...fields: string[]) => head(`GET ${path} HTTP/1.1`, HOST, ...fields)
/** With a key, and as long as it says unless the fields say otherwise. */
const post =
  (path: string, body: string, ...fields: string[]) =>
  (key: string) => {
    const isTold = fields.some((field) => /^(content-length|transfer-encoding)/i.test(field))
    const length = isTold ? [] : [`content-length: ${Buffer.byteLength(body)}`]
    return head(`POST ${path} HTTP/1.1`, HOST, `authorization: Bearer ${key}`, ...length, ...fields) + body
  }
const label = (body: string, ...fields: string[]) => post(LABELS, body, JSON_TYPE, ...fields)
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const chunked = (...chunks: string[]) => `${chunks.join('')}0\r\n\r\n`

type Sent = string | ((key: string) => string)
type Row = readonly [what: string, sent: Sent, statuses: readonly number[], then: 'open' | 'closed']

const ROWS: readonly Row[] = [
  // Versions, methods and targets
  ['a request', get('/healthz'), [200], 'open'],
  ['HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n', [200], 'closed'],
  ['HTTP/1.0 that stays', 'GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n', [200], 'open'],
  ['HTTP/2 without being asked', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], 'closed'],
  ['HTTP/3.7', 'GET /healthz HTTP/3.7\r\nhost: a\r\n\r\n', [400], 'closed'],
  ['no version', 'GET /healthz\r\n\r\n', [200], 'closed'],
  ['an unknown method', head('FETCH /healthz HTTP/1.1', HOST), [400], 'closed'],
  ['CONNECT', head('CONNECT other:443 HTTP/1.1', HOST), [], 'closed'],
  ['HEAD', head('HEAD /healthz HTTP/1.1', HOST), [200], 'open'],
  ['OPTIONS of everything', head('OPTIONS * HTTP/1.1', HOST), [400], 'open'],
  ['OPTIONS of a route, without a key', head(`OPTIONS ${LABELS} HTTP/1.1`, HOST), [401], 'open'],
  ['TRACE', head(`TRACE ${LABELS} HTTP/1.1`, HOST), [401], 'open'],
  ['a target after a host', get('http://elsewhere/healthz'), [200], 'open'],
  ['a target without a slash', get('healthz'), [400], 'closed'],
  ['a backslash', get('/healthz\\'), [400], 'open'],
  ['a fragment', get('/healthz#x'), [400], 'open'],
  ['a space in the target', 'GET /heal thz HTTP/1.1\r\nhost: a\r\n\r\n', [400], 'closed'],
  ['other letters', get('/api/AUTH/me'), [404], 'open'],
  ['a name in percent signs', get('/api/%61uth/me'), [404], 'open'],
  ['a segment that goes back', get('/api/../metrics'), [404], 'open'],
  ['a percent sign alone', get('/healthz/%'), [400], 'closed'],
  ['a route in percent signs', get('/api/v1/%72eplay/sessions/s1'), [401], 'open'],
  ['a long query', get(`/healthz?${'x'.repeat(10_000)}`), [200], 'open'],
  ['a path of 20,000 characters', get(`/${'x'.repeat(20_000)}`), [431], 'closed'],
  // Heads
  ['an empty line first', `\r\n${get('/healthz')}`, [200], 'open'],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', [400], 'closed'],
  ['100 header lines', get('/healthz', ...Array.from({ length: 99 }, (_, at) => `x-${at}: 1`)), [200], 'open'],
  ['101 header lines', get('/healthz', ...Array.from({ length: 100 }, (_, at) => `x-${at}: 1`)), [400], 'closed'],
  ['3,000 header lines', get('/healthz', ...Array.from({ length: 3_000 }, () => 'a:1')), [400], 'closed'],
  ['a head of 17 kB', get('/healthz', `x: ${'y'.repeat(17_000)}`), [431], 'closed'],
  ['a header without a colon', get('/healthz', 'nothing'), [400], 'closed'],
  ['a space before the colon', get('/healthz', 'x : 1'), [400], 'closed'],
  ['a header that is folded', get('/healthz', 'x: 1', ' 2'), [400], 'closed'],
  ['a NUL in a header', get('/healthz', 'x: a\u0000b'), [400], 'closed'],
  ['lines that end without a return', 'GET /healthz HTTP/1.1\nhost: a\n\n', [400], 'closed'],
  ['half a head', 'GET /healthz HTTP/1.1\r\nhost: a\r\n', [408], 'closed'],
  ['nothing', '', [408], 'closed'],
  ['an upgrade', get('/healthz', 'connection: upgrade', 'upgrade: websocket'), [200], 'open'],
  ['an expectation that is unknown', get('/healthz', 'expect: more'), [417], 'open'],
  ['no key', head(`POST ${LABELS} HTTP/1.1`, HOST, JSON_TYPE, 'content-length: 0'), [401], 'open'],
  ['two keys', label(GOOD, 'authorization: Bearer csk_x'), [401], 'open'],
  // How long a body is
  ['a body', label(GOOD), [200], 'open'],
  ['one length twice', label(GOOD, 'content-length: 13', 'content-length: 13'), [400], 'closed'],
  ['two lengths', label(GOOD, 'content-length: 13', 'content-length: 14'), [400], 'closed'],
  ['two lengths in one line', label(GOOD, 'content-length: 13, 13'), [400], 'closed'],
  ['a negative length', label(GOOD, 'content-length: -13'), [400], 'closed'],
  ['a length with a sign', label(GOOD, 'content-length: +13'), [400], 'closed'],
  ['a length in hexadecimal', label(GOOD, 'content-length: 0xd'), [400], 'closed'],
  ['a length beyond all numbers', label(GOOD, `content-length: ${'9'.repeat(30)}`), [400], 'closed'],
  ['a length and chunks', label(chunked(chunk(GOOD)), 'content-length: 13', CHUNKED), [400], 'closed'],
  ['chunks', label(chunked(chunk('{"label"'), chunk(':"a"}')), CHUNKED), [200], 'open'],
  ['chunks with extensions', label(`d;a=b\r\n${GOOD}\r\n0;c\r\n\r\n`, CHUNKED), [200], 'open'],
  ['an extension of 20 kB', label(`d;${'a'.repeat(20_000)}\r\n${GOOD}\r\n0\r\n\r\n`, CHUNKED), [400], 'closed'],
  ['a chunk whose length is no number', label(`xyz\r\n${GOOD}\r\n0\r\n\r\n`, CHUNKED), [400], 'closed'],
  ['a chunk longer than it says', label(`4\r\n${GOOD}\r\n0\r\n\r\n`, CHUNKED), [400], 'closed'],
  ['lines after the last chunk', label(`d\r\n${GOOD}\r\n0\r\nx: 1\r\n\r\n`, CHUNKED), [200], 'open'],
  ['chunks that were chunked before', label(chunked(chunk(GOOD)), 'transfer-encoding: chunked, gzip'), [400], 'closed'],
  ['another transfer', label(GOOD, 'transfer-encoding: identity'), [400], 'closed'],
  ['a body that ends early', label('{"lab', 'content-length: 13'), [408], 'closed'],
  ['a body that goes on', label(`${GOOD}x`, 'content-length: 13'), [400], 'closed'],
  ['a body with GET', `${get('/healthz', 'content-length: 2')}{}`, [200], 'open'],
  [
    'a body where the route takes none',
    (key) => `${get('/api/v1/replay/sessions/s1', `authorization: Bearer ${key}`, 'content-length: 2')}{}`,
    [400],
    'closed',
  ],
  ['a body of a megabyte and more, announced', label('', 'content-length: 1048577'), [413], 'closed'],
  ['the same in chunks', label(chunked(chunk('x'.repeat(1_048_577))), CHUNKED), [413], 'closed'],
  // What a body is
  ['JSON that ends early', label('{"label":'), [400], 'open'],
  ['a name twice', label('{"label":"a","label":"b"}'), [400], 'open'],
  ['no body', label(''), [400], 'open'],
  ['text', post(LABELS, GOOD, 'content-type: text/plain'), [415], 'closed'],
  ['no type', post(LABELS, GOOD), [415], 'closed'],
  ['a type that is none', post(LABELS, GOOD, 'content-type: ;'), [415], 'closed'],
  ['a body that is packed', label(GOOD, 'content-encoding: gzip'), [415], 'closed'],
  // What stops
  ['a stop without a body', post(KILL, ''), [200], 'open'],
  ['a stop with any body', post(KILL, 'now!', 'content-type: ;'), [200], 'open'],
  ['a stop with a body of 100 kB', post(KILL, 'x'.repeat(100_000)), [200], 'open'],
  ['a stop with a body in chunks that do not end', post(KILL, chunk('x'), CHUNKED), [200], 'open'],
  // Several at once
  ['three at once', (key) => label(GOOD)(key) + get('/healthz') + label(GOOD)(key), [200, 200, 200], 'open'],
  ['a good one before a bad one', `${get('/healthz')}nonsense\r\n\r\n`, [400], 'closed'],
  ['one after a refusal that keeps the connection', get('/healthz\\') + get('/healthz'), [400, 200], 'open'],
]

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status))

async function talk(sent: string, isOver: (received: string) => boolean) {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  let then: 'open' | 'closed' = 'open'
  socket.on('data', (data) => {
    received += data.toString('latin1')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    then = 'closed'
  })
  socket.write(sent)
  for (let waitedMs = 0; waitedMs < 5_000 && then === 'open' && !isOver(received); waitedMs += 10) await sleep(10)
  // Whether the server says more, or closes.
  await sleep(60)
  socket.destroy()
  return { received, then }
}

for (const [what, sent, statuses, then] of ROWS)
  proves(
    what.endsWith('header lines') ? ['wire.table', 'limit.connections.header-lines'] : 'wire.table',
    what,
    async () => {
      const text = typeof sent === 'string' ? sent : sent(runtime.key)
      const before = echo.reached.length
      const said = await talk(text, (received) => then === 'open' && statusesIn(received).length >= statuses.length)
      expect([statusesIn(said.received), said.then]).toEqual([[...statuses], then])
      // A body of another length than it says is what its length says, and what follows is no request.
      if (!statuses.includes(200) && what !== 'a body that goes on') expect(echo.reached).toHaveLength(before)
      // Everything that is refused is refused in the same form.
      for (const refused of said.received
        .split(/(?=HTTP\/1\.1 )/)
        .filter((one) => /^HTTP\/1\.1 (4(?!17)\d\d)/.test(one)))
        expect(refused).toMatch(/content-type: (application\/problem\+json|text\/plain)/i)
    },
  )

proves('wire.table', '100-continue is answered before the body comes', async () => {
  const [start = '', body = ''] = label(GOOD, 'expect: 100-continue')(runtime.key).split('\r\n\r\n')
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (data) => {
    received += data.toString('latin1')
    if (received === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body)
  })
  socket.write(`${start}\r\n\r\n`)
  await expect.poll(() => statusesIn(received)).toEqual([100, 200])
  socket.destroy()
})

proves('limit.connections.count', async () => {
  const few = await startRuntime({ config: { COUNTERSIGN_MAX_CONNECTIONS: '10' } })
  onTestFinished(few.close)
  const { hostname, port: at } = new URL(await few.instances[0].listen())
  const open = () => {
    const socket = connect(Number(at), hostname).on('error', () => {})
    return { socket, closed: once(socket, 'close'), opened: once(socket, 'connect') }
  }
  const first = Array.from({ length: 10 }, open)
  await Promise.all(first.map(({ opened }) => opened))
  await open().closed
  first[0]?.socket.destroy()
  await first[0]?.closed
  expect((await fetch(`http://${hostname}:${at}/healthz`)).status).toBe(200)
  for (const { socket } of first) socket.destroy()
})
