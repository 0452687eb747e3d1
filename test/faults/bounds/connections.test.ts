import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { type RunningServer, startServer } from '../../../packages/server/src/process/start-server.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'

const database = await createTestDatabase()
afterAll(() => database.drop())

const MB = 1024 * 1024
/** More than the kernel takes for a client that reads nothing. */
const REPLY_BYTES = 6 * MB
const BIG = { data: 'x'.repeat(REPLY_BYTES) }
const ASK = 'POST /api/auth/logout HTTP/1.1\r\nhost: x\r\n\r\n'
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'

/** A real server, one of whose replies is large. */
async function serve(settings: Record<string, string>): Promise<RunningServer> {
  const { handlers } = echoHandlers()
  const config = readConfig({
    DATABASE_URL: database.url,
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_LOG_LEVEL: 'silent',
    ...settings,
  })
  const server = await startServer(config, { parts: { handlers: { ...handlers, logout: async () => BIG } } })
  onTestFinished(() => server.close())
  return server
}

/** A connection that notes what it gets, and whether it is still there. */
function open(server: RunningServer, options: { localAddress?: string; reads?: boolean } = {}) {
  const { reads = true, ...from } = options
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), ...from })
  onTestFinished(() => void socket.destroy())
  let text = ''
  let bytes = 0
  socket.on('error', () => {})
  const ended = new Promise<void>((done) => socket.once('close', () => done()))
  const read = () =>
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (text.length < 10_000) text += chunk.toString('latin1')
    })
  if (reads) read()
  return { socket, ended, read, text: () => text, bytes: () => bytes }
}

const metric = async (server: RunningServer, line: string): Promise<number> => {
  const page = await server.parts.metrics.render()
  return Number(
    page
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length) ?? Number.NaN,
  )
}
const unread = (server: RunningServer) => metric(server, 'countersign_memory_bytes{memory="replies"}')

proves('limit.connections.readers', async () => {
  const server = await serve({ COUNTERSIGN_REPLY_SECONDS: '2', COUNTERSIGN_MEMORY_MB: '65536' })
  const slow = Array.from({ length: 60 }, () => open(server, { reads: false }))
  for (const { socket } of slow) socket.write(ASK)
  const steady = open(server)
  steady.socket.write(ASK)
  // Steadily, and so slowly that it takes longer than a client may take nothing.
  let since = 0
  steady.socket.on('data', (chunk) => {
    since += chunk.length
    if (since < 512 * 1024) return
    since = 0
    steady.socket.pause()
    setTimeout(() => steady.socket.resume(), 300)
  })
  await expect.poll(() => steady.bytes()).toBeGreaterThan(REPLY_BYTES)
  await sleep(1_000)
  // Who begins to read now finds a part of the reply, and the end of the connection.
  for (const one of slow) one.read()
  await Promise.all(slow.map(({ ended }) => ended))
  expect(Math.max(...slow.map((one) => one.bytes()))).toBeLessThan(REPLY_BYTES)
  expect(await unread(server)).toBe(0)
})

test('unread replies are bounded together, and who reads is served meanwhile', async () => {
  const server = await serve({ COUNTERSIGN_MEMORY_MB: '256' })
  const bound = server.parts.memories.boundBytes('replies')
  const slow = Array.from({ length: 12 }, () => open(server, { reads: false }))
  for (const { socket } of slow) {
    socket.write(ASK)
    await sleep(20)
    expect(await unread(server)).toBeLessThanOrEqual(bound)
  }
  const reader = open(server)
  reader.socket.write(ASK)
  await expect.poll(() => reader.bytes()).toBeGreaterThan(REPLY_BYTES)
  expect(await unread(server)).toBeLessThanOrEqual(bound)
  for (const one of slow) one.read()
  await expect.poll(() => slow.filter(({ socket }) => socket.destroyed).length).toBeGreaterThan(6)
})

proves('limit.connections.count', async () => {
  const server = await serve({ COUNTERSIGN_MAX_CONNECTIONS_PER_ADDRESS: '8' })
  const answers = async (one: ReturnType<typeof open>) => {
    one.socket.write(HEALTH)
    await expect.poll(() => one.text()).toContain('\r\n\r\n{')
    return one.text()
  }
  const first = Array.from({ length: 8 }, () => open(server))
  for (const one of first) expect(await answers(one)).toContain('200 OK')
  const ninth = open(server)
  await ninth.ended
  expect(ninth.text()).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n.*"code":"BUSY".*MAX_CONNECTIONS_PER_ADDRESS/s)
  first[0]?.socket.destroy()
  await first[0]?.ended
  await expect
    .poll(async () => {
      const again = open(server)
      await Promise.race([answers(again), again.ended])
      return again.text()
    })
    .toContain('200 OK')
})

proves('limit.connections.count', 'in all, where none of them waits for its client', async () => {
  const server = await serve({ COUNTERSIGN_MAX_CONNECTIONS: '12', COUNTERSIGN_MEMORY_MB: '65536' })
  for (const at of [1, 2, 3, 4]) {
    const three = Array.from({ length: 3 }, () => open(server, { localAddress: `127.0.${at}.1`, reads: false }))
    for (const one of three) one.socket.write(ASK)
  }
  await expect.poll(() => metric(server, 'countersign_requests_total{route="logout",status="200"}')).toBe(12)
  const last = open(server, { localAddress: '127.0.5.1' })
  await last.ended
  expect(last.text()).toMatch(/^HTTP\/1\.1 503 .*"code":"BUSY".*\(COUNTERSIGN_MAX_CONNECTIONS\)/s)
  expect(await metric(server, 'countersign_connections_dropped_total{reason="too_many"}')).toBe(1)
})

test('a trusted proxy may hold more connections than any other address', async () => {
  const server = await serve({
    COUNTERSIGN_MAX_CONNECTIONS_PER_ADDRESS: '2',
    COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.0/8',
  })
  for (const one of Array.from({ length: 5 }, () => open(server))) {
    one.socket.write(HEALTH)
    await expect.poll(() => one.text()).toContain('200 OK')
  }
})

test('who sends nothing, or half a head, loses the connection', async () => {
  const server = await serve({})
  const silent = open(server)
  const half = open(server)
  half.socket.write(HEALTH.slice(0, -2))
  await Promise.all([silent.ended, half.ended])
  expect(half.text()).toContain('408')
}, 40_000)

/** How many requests Node read and handed on while `work` went on. */
async function requestsRead(work: () => Promise<void>): Promise<number> {
  let read = 0
  const count = () => {
    read += 1
  }
  subscribe('http.server.request.start', count)
  await work()
  unsubscribe('http.server.request.start', count)
  return read
}

proves('limit.connections.pipelined', async () => {
  const server = await serve({})
  const few = open(server)
  few.socket.write(HEALTH.repeat(3))
  await expect.poll(() => few.text().split('200 OK').length).toBe(4)

  const many = open(server)
  const read = await requestsRead(async () => {
    many.socket.write(HEALTH.repeat(1_000))
    await many.ended
  })
  expect(many.text().split('200 OK').length).toBeLessThan(4)
  // One is being answered, two wait, and the fourth ends the connection: the rest of the piece is not read any more.
  expect(read).toBe(4)
  const dropped = 'countersign_connections_dropped_total{reason="pipelined"}'
  expect(await metric(server, dropped)).toBe(1)
})

proves('limit.connections.header-lines', async () => {
  const server = await serve({})
  const ask = (lines: number) => HEALTH.replace('\r\n\r\n', `\r\n${'a: b\r\n'.repeat(lines - 1)}\r\n`)
  const most = open(server)
  most.socket.write(ask(100))
  await expect.poll(() => most.text()).toContain('200 OK')
  most.socket.write(ask(100))
  await expect.poll(() => most.text().split('200 OK').length).toBe(3)

  // Node drops lines far beyond the limit: those requests are refused all the same.
  for (const lines of [101, 128, 129, 192, 193, 200, 201, 1_900]) {
    const many = open(server)
    const read = await requestsRead(async () => {
      many.socket.write(ask(lines).repeat(3))
      await many.ended
    })
    expect(many.text(), `${lines} lines`).toMatch(
      /^HTTP\/1\.1 400 .*\r\nconnection: close\r\n.*"code":"INVALID_REQUEST".*more than 100 header lines/s,
    )
    expect(many.text().split('HTTP/1.1').length).toBe(2)
    // The next request ends the reading, and is not begun.
    expect(read).toBe(1)
  }
  // None of them came as far as a route.
  expect(await metric(server, 'countersign_requests_total{route="/healthz",status="200"}')).toBe(2)
  expect(await metric(server, 'countersign_connections_dropped_total{reason="header_lines"}')).toBe(8)
})

proves('limit.connections.heads', async () => {
  const server = await serve({})
  const wrong = [
    { head: 'GET /healthz HTTP/1.1\r\n\r\n', reason: 'no_host', detail: 'the header host is missing' },
    {
      head: 'GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: x\r\n\r\n',
      reason: 'expectation',
      detail: 'the header expect may be 100-continue only',
    },
  ]
  for (const { head, reason, detail } of wrong) {
    const many = open(server)
    const read = await requestsRead(async () => {
      many.socket.write(head.repeat(1_000))
      await many.ended
    })
    expect(many.text()).toMatch(/^HTTP\/1\.1 400 .*\r\nconnection: close\r\n.*"code":"INVALID_REQUEST"/s)
    expect(many.text()).toContain(detail)
    expect(many.text().split('HTTP/1.1').length).toBe(2)
    expect(read).toBe(1)
    expect(await metric(server, `countersign_connections_dropped_total{reason="${reason}"}`)).toBe(1)
  }
  const right = open(server)
  right.socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: 100-Continue\r\n\r\n')
  await expect.poll(() => right.text()).toMatch(/100 Continue.*200 OK/s)
  const old = open(server)
  old.socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  await expect.poll(() => old.text()).toContain('200 OK')
})

test('a request waits until the reply before it was sent, and is not begun for a client that left', async () => {
  const server = await serve({})
  const asks = () => metric(server, 'countersign_requests_total{route="logout",status="200"}')
  const one = open(server, { reads: false })
  one.socket.write(ASK + ASK)
  await expect.poll(asks).toBe(1)
  await sleep(200)
  expect(await asks()).toBe(1)
  one.read()
  await expect.poll(() => one.bytes()).toBeGreaterThan(2 * REPLY_BYTES)
  expect(await asks()).toBe(2)

  const gone = open(server, { reads: false })
  gone.socket.write(ASK + ASK)
  await expect.poll(asks).toBe(3)
  gone.socket.destroy()
  await sleep(200)
  expect(await asks()).toBe(3)
})

proves('limit.connections.trailers', async () => {
  const server = await serve({})
  const ask = (lines: number) =>
    `POST /api/auth/logout HTTP/1.1\r\nhost: x\r\norigin: http://x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${'a: b\r\n'.repeat(lines)}\r\n`
  for (let round = 0; round < 3; round++) {
    const many = open(server)
    many.socket.write(ask(1_500).repeat(2))
    await many.ended
    expect(many.text().match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThan(2)
    // The parser of the last connection is used again, for requests of many lines as well.
    const few = open(server)
    few.socket.write(ask(100))
    await expect.poll(() => few.text().match(/HTTP\/1\.1 \d/g)?.length).toBe(1)
    few.socket.write(HEALTH.replace('\r\n\r\n', `\r\n${'a: b\r\n'.repeat(99)}\r\n`))
    await expect.poll(() => few.text()).toContain('"alive"')
    few.socket.destroy()
  }
})

proves('limit.connections.pieces', async () => {
  const server = await serve({})
  const LOGIN = 'POST /api/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  const chunked = (text: string) => [...text].map((byte) => `1\r\n${byte}\r\n`).join('')
  const ask = (body: string) => `${LOGIN}transfer-encoding: chunked\r\n\r\n${chunked(body)}0\r\n\r\n`
  const person = JSON.stringify({ email: 'someone@example.com', password: 'wrong-password-123' })
  const padded = (length: number) => person.padEnd(length, ' ')
  for (let round = 0; round < 5; round++) {
    const many = open(server)
    many.socket.write(ask(padded(20_000)))
    await many.ended
    expect(many.text()).toContain('400 Bad Request')
    expect(many.text()).toContain('very many small pieces')
    // The parser of the last connection is used again, and on one connection for several requests.
    const few = open(server)
    few.socket.write(ask(padded(1_000)))
    await expect.poll(() => few.text().match(/HTTP\/1\.1 200/g)?.length).toBe(1)
    few.socket.write(`${LOGIN}content-length: ${person.length}\r\n\r\n${person}`)
    await expect.poll(() => few.text().match(/HTTP\/1\.1 200/g)?.length).toBe(2)
    few.socket.write(ask(padded(1_000)))
    await expect.poll(() => few.text().match(/HTTP\/1\.1 200/g)?.length).toBe(3)
    few.socket.destroy()
  }
})
