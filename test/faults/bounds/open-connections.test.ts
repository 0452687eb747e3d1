import { connect } from 'node:net'
import { pathOf, ROUTES } from '@countersign/protocol'
import { afterAll, expect, onTestFinished } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { type RunningServer, startServer } from '../../../packages/server/src/process/start-server.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'

const database = await createTestDatabase()
afterAll(() => database.drop())

const env = { DATABASE_URL: database.url, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' }
/** More than the kernel takes for a client that reads nothing. */
const BIG = { data: 'x'.repeat(6 * 1024 * 1024) }
const BEHIND_PROXY = { COUNTERSIGN_MAX_CONNECTIONS: '12', COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.0/8' }

async function serve(settings: Record<string, string>): Promise<RunningServer> {
  const { handlers } = echoHandlers()
  const config = readConfig({ ...env, ...settings })
  const server = await startServer(config, { parts: { handlers: { ...handlers, logout: async () => BIG } } })
  onTestFinished(() => server.close())
  return server
}

/** A connection that has sent this, and notes what it gets unless it reads nothing. */
async function open(server: RunningServer, sent: string, options: { localAddress?: string; reads?: boolean } = {}) {
  const { reads = true, ...from } = options
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), ...from })
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('error', () => {})
  const ended = new Promise<void>((done) => socket.once('close', () => done()))
  const note = (chunk: Buffer) => {
    text += chunk.toString('latin1')
  }
  if (reads) socket.on('data', note)
  await new Promise<void>((done) => socket.once('connect', () => done()))
  if (sent !== '') socket.write(sent)
  return { socket, ended, text: () => text, isOpen: () => !socket.destroyed && !socket.readableEnded }
}
type Opened = Awaited<ReturnType<typeof open>>

const many = (count: number, make: () => Promise<Opened>): Promise<Opened[]> =>
  Promise.all(Array.from({ length: count }, make))

/** A head of a body of 100 bytes, and the first of them. */
const unfinished = (path: string, headers: Record<string, string> = {}) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n${Object.entries(
    headers,
  )
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n{`
const LOGIN = pathOf(ROUTES.login)
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'
const healthOf = (client: string) => HEALTH.replace('host: x', `host: x\r\nx-forwarded-for: ${client}`)

const dropped = async (server: RunningServer, reason: string): Promise<number> => {
  const line = `countersign_connections_dropped_total{reason="${reason}"} `
  const page = await server.parts.metrics.render()
  return Number(
    page
      .split('\n')
      .find((each) => each.startsWith(line))
      ?.slice(line.length) ?? 0,
  )
}

proves('limit.connections.open-requests', 'one client behind a proxy has a quarter of them', async () => {
  const server = await serve(BEHIND_PROXY)
  const sent = (client: string) => unfinished(LOGIN, { 'x-forwarded-for': client })
  const three = await many(3, () => open(server, sent('2001:db8::7')))
  await expect.poll(() => dropped(server, 'open_requests')).toBe(0)
  // Another address of the same /64.
  const fourth = await open(server, sent('2001:db8::1:7'))
  await fourth.ended
  expect(fourth.text()).toMatch(
    /^HTTP\/1\.1 503 .*retry-after: 1\r\n.*connection: close\r\n.*"code":"BUSY".*are open/is,
  )
  expect(three.every((one) => one.isOpen())).toBe(true)
  expect(await dropped(server, 'open_requests')).toBe(1)
  const other = await open(server, healthOf('2001:db8:0:1::7'))
  await expect.poll(() => other.text()).toContain('200 OK')
  three[0]?.socket.destroy()
  await three[0]?.ended
  await expect
    .poll(async () => {
      const again = await open(server, healthOf('2001:db8::7'))
      await expect.poll(() => again.text()).not.toBe('')
      again.socket.destroy()
      return again.text()
    })
    .toContain('200 OK')
})

proves(
  'limit.connections.open-requests',
  'a tenant has a quarter of them, wherever they come from, and can stop its sessions all the same',
  async () => {
    const server = await serve(BEHIND_PROXY)
    const { key } = await createTenant('many', 'scale', readConfig(env))
    const authorization = `Bearer ${key}`
    const propose = pathOf(ROUTES.propose, { session_id: 's' })
    let client = 0
    const next = () => open(server, unfinished(propose, { authorization, 'x-forwarded-for': `198.51.100.${client++}` }))
    const four = await many(4, next)
    await expect
      .poll(() => four.map((one) => one.text()).join(''))
      .toMatch(/^HTTP\/1\.1 503 .*"code":"BUSY".*are open/s)
    const refused = four.filter((one) => one.text() !== '')
    expect(refused).toHaveLength(1)
    await refused[0]?.ended
    expect(four.filter((one) => one.isOpen())).toHaveLength(3)
    const kill = `POST ${pathOf(ROUTES.killSession, { session_id: 's' })} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nx-forwarded-for: 198.51.100.99\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
    const stopping = await open(server, kill)
    await expect.poll(() => stopping.text()).toMatch(/^HTTP\/1\.1 (200|400)/)
  },
)

const FULL = {
  COUNTERSIGN_MAX_CONNECTIONS: '12',
  COUNTERSIGN_MAX_CONNECTIONS_PER_ADDRESS: '8',
  COUNTERSIGN_MEMORY_MB: '65536',
}

proves('limit.connections.displaced', 'who holds most connections that wait loses the oldest of them', async () => {
  const server = await serve(FULL)
  const first = await open(server, HEALTH, { localAddress: '127.0.1.1' })
  await expect.poll(() => first.text()).toContain('200 OK')
  const bodies: Opened[] = []
  for (const localAddress of ['127.0.1.2', '127.0.1.3'])
    bodies.push(...(await many(3, () => open(server, unfinished(LOGIN), { localAddress }))))
  const others = await many(5, () => open(server, '', { localAddress: '127.0.2.1' }))
  const newcomer = await open(server, HEALTH, { localAddress: '127.0.3.1' })
  await expect.poll(() => newcomer.text()).toContain('200 OK')
  // The two addresses of one network count together.
  await first.ended
  const second = await open(server, HEALTH, { localAddress: '127.0.3.1' })
  await expect.poll(() => second.text()).toContain('200 OK')
  await expect.poll(() => bodies.filter((one) => one.isOpen()).length).toBe(5)
  expect(others.every((one) => one.isOpen())).toBe(true)
  expect(await dropped(server, 'displaced')).toBe(2)
  expect(await dropped(server, 'too_many')).toBe(0)
})

proves('limit.connections.displaced', 'a request that came whole keeps its connection', async () => {
  const server = await serve(FULL)
  const ask = 'POST /api/auth/logout HTTP/1.1\r\nhost: x\r\n\r\n'
  const busy: Opened[] = []
  for (const localAddress of ['127.0.1.1', '127.0.1.2'])
    busy.push(...(await many(3, () => open(server, ask, { localAddress, reads: false }))))
  await expect
    .poll(
      async () => /requests_total\{route="logout",status="200"} (\d+)/.exec(await server.parts.metrics.render())?.[1],
    )
    .toBe('6')
  const silent = await many(6, () => open(server, '', { localAddress: '127.0.2.1' }))
  const newcomers: Opened[] = []
  for (let at = 1; at <= 6; at++) newcomers.push(await open(server, HEALTH, { localAddress: `127.0.${at + 2}.1` }))
  for (const one of newcomers.slice(0, 5)) await expect.poll(() => one.text()).toContain('200 OK')
  // Now nobody holds more than one that waits.
  const last = newcomers[5]
  await last?.ended
  expect(last?.text()).toContain('(COUNTERSIGN_MAX_CONNECTIONS)')
  expect(silent.filter((one) => one.isOpen())).toHaveLength(1)
  expect(busy.every((one) => !one.socket.destroyed)).toBe(true)
  expect(await dropped(server, 'displaced')).toBe(5)
})

proves('limit.connections.displaced', 'behind a proxy it is the client that holds most', async () => {
  const server = await serve(BEHIND_PROXY)
  const idle = await many(2, async () => {
    const one = await open(server, healthOf('192.0.2.1'))
    await expect.poll(() => one.text()).toContain('200 OK')
    return one
  })
  const clients = ['203.0.113.7', '203.0.113.8', '203.0.113.9', '198.51.100.7']
  const counts = [3, 3, 2, 2]
  const bodies: Opened[] = []
  for (const [at, client] of clients.entries())
    bodies.push(...(await many(counts[at] ?? 0, () => open(server, unfinished(LOGIN, { 'x-forwarded-for': client })))))
  await new Promise((done) => setTimeout(done, 200))
  const newcomer = await open(server, healthOf('192.0.2.9'))
  await expect.poll(() => newcomer.text()).toContain('200 OK')
  await expect.poll(() => bodies.filter((one) => one.isOpen()).length).toBe(9)
  expect(bodies.slice(8).every((one) => one.isOpen())).toBe(true)
  expect(idle.every((one) => one.isOpen())).toBe(true)
})

proves('limit.connections.endings', 'nothing is written for a client that left before its body had come', async () => {
  const server = await serve({})
  const gone = await many(20, () => open(server, unfinished(LOGIN)))
  await new Promise((done) => setTimeout(done, 100))
  for (const { socket } of gone) socket.destroy()
  const cut = await open(server, unfinished(LOGIN))
  cut.socket.end()
  await new Promise((done) => setTimeout(done, 300))
  expect(await server.parts.metrics.render()).not.toContain('countersign_requests_total{route="login"')
})
