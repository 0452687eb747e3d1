import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { compilePlan } from '@countersign/engine'
import { expect, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { capturesOf } from '../../support/data/captures.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { heldBytes, MB } from '../../support/process/heap.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { createApi, routeRequest } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const TOKEN = 'a-token-of-an-operator'
const { runtime } = await withRuntime({ config: { COUNTERSIGN_MEMORY_MB: '256', COUNTERSIGN_METRICS_TOKEN: TOKEN } })
const { parts } = runtime.instances[0]
const held = (name: Parameters<typeof parts.memories.boundBytes>[0]) => parts.memories.held().get(name) ?? 0

const origin = await runtime.instances[0].listen()
const agent = new Agent({ keepAlive: true })
/** As it is, over a socket: others read a path as a URL first. */
const ask = (method: string, path: string) =>
  new Promise<number>((done, fail) => {
    const reading = request(origin, { method, path, agent }, (reply) => {
      reply.resume().on('end', () => done(reply.statusCode ?? 0))
    })
    reading.on('error', fail).end()
  })

proves('limit.memory.stranger', 'a stranger who asks for 3,000 long paths leaves nothing in memory', async () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PURGE', 'MERGE', 'COPY']
  await ask('GET', '/api/v1/replay/sessions/x')
  const before = heldBytes()
  const statuses = new Set<number>()
  for (let at = 0; at < 3_000; at++) {
    const path = `/api/v1/replay/sessions/${at}${'x'.repeat(15_000)}`
    statuses.add(await ask(methods[at % methods.length] ?? 'GET', path))
  }
  expect([...statuses]).toEqual([401])
  expect(heldBytes() - before).toBeLessThan(15 * MB)
})

proves('limit.path.names', async () => {
  for (const path of ['/%6detrics', '/metric%73', '/%68ealthz', '/open%61pi.json', '/%61pi/auth/me']) {
    const response = await runtime.fetch(`http://x${path}`)
    const text = await response.text()
    expect([path, text.includes('countersign_requests_total'), text.includes('"alive"')]).toEqual([path, false, false])
    expect(response.headers.get('content-type')).not.toBe('application/json')
  }
  const headers = { authorization: `Bearer ${TOKEN}` }
  expect((await runtime.fetch('http://x/metrics', { headers })).status).toBe(200)
  for (const path of ['/api/../metrics', '/api/%2e%2e/metrics', '/api/./../metrics'])
    expect([path, await ask('GET', path)]).toEqual([path, 404])
})

/** A plan of 4 kB that takes some 20 MB once it is prepared. */
function heavyPlan(number: number) {
  const rules = Array.from({ length: 60 }, (_, at) => ({ path: '$.a', regex: `(?:x.*){1,400}${number}-${at}` }))
  const text = JSON.stringify({ tool: 'a', argument_value_invariants: rules })
  const compiled = compilePlan({ contracts: [{ file: 'a.json', text }] })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  return compiled
}

proves('limit.memory.bytes', 'plans that would fill a heap many times over leave the process alive', async () => {
  buildOnce()
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const quotas = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8 } })
  const { key } = await createTenant('heavy', 'scale', readConfig({ DATABASE_URL: database.url }))
  const service = countersign(['start', '--port', '0'], {
    DATABASE_URL: database.url,
    COUNTERSIGN_QUOTAS: quotas,
    COUNTERSIGN_LOG_LEVEL: 'error',
    COUNTERSIGN_MEMORY_MB: '256',
    COUNTERSIGN_METRICS_TOKEN: TOKEN,
    NODE_OPTIONS: '--max-old-space-size=192',
  })
  onTestFinished(() => void service.child.kill('SIGKILL'))
  const [, origin = ''] = await service.says(/is running at (http\S+)/)
  const api = createApi((input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    return fetch(new Request(new URL(pathname + search, origin), request))
  }, key)
  const sessions = []
  for (let number = 0; number < 12; number++) {
    const { compiled_session, compiled_hash } = heavyPlan(number)
    sessions.push(await openSession(api, { plan: { compiled_session, compiled_hash } }))
  }
  // Forgotten plans are prepared again, and decide as before.
  const [first] = sessions
  const reply = await first?.decide([{ name: 'a', args: { a: 'y' } }])
  expect(reply?.decisions).toMatchObject([{ decision: 'block' }])
  const page = await (
    await fetch(new URL('/metrics', origin), { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text()
  const bytes = Number(/^countersign_memory_bytes\{memory="plans"\} (\d+)$/m.exec(page)?.[1])
  expect(bytes).toBeLessThanOrEqual(48 * MB)
})

proves(
  'limit.memory.bytes',
  'rows of a megabyte stay within the bound, and a session that was forgotten is read again',
  async () => {
    const { key } = await runtime.createTenant()
    const quiet = await openSession(runtime.api(key))
    await quiet.turn([LOOKUP])
    const bound = parts.memories.boundBytes('sessions')
    const before = heldBytes()
    // Names of tools that a preflight offers stay in the row until the next one.
    const tools = (round: number) =>
      Array.from({ length: 256 }, (_, at) => ({ name: `${round}-${at}-`.padEnd(250, 'x') }))
    for (let round = 0; round < 120; round++) {
      const session = await openSession(runtime.api())
      expect((await session.preflight({ tools: tools(round) })).status).toBe(200)
      expect(held('sessions')).toBeLessThanOrEqual(bound)
    }
    expect(heldBytes() - before).toBeLessThan(bound * 1.5)
    parts.sessions.forget(quiet.sessionId)
    await quiet.turn([LOOKUP])
  },
)

proves('limit.memory.bytes', 'offered tools are remembered without their schemas', async () => {
  const api = runtime.api((await runtime.createTenant()).key)
  const before = heldBytes()
  for (let round = 0; round < 500; round++) {
    const schema = { type: 'object', description: `${round % 10}`.repeat(12_000) }
    const request = { tools: [{ name: `t${round}`, schema }] }
    const captures = capturesOf('agent', 'hello', [{ name: `t${round}`, args: {} }], { request })
    const { body } = await api.ingestCaptures({ body: { captures: captures as never } })
    expect(body).toEqual({ accepted: 1, duplicates: 0, rejected: [] })
  }
  expect(heldBytes() - before).toBeLessThan(3 * MB)
  expect(held('offered_tools')).toBeGreaterThan(0)
})

proves('limit.memory.bodies', async () => {
  const { host, hostname, port } = new URL(origin)
  // 70 bodies that are announced, and do not come.
  const sockets = await Promise.all(
    Array.from({ length: 70 }, async () => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      const head = [`authorization: Bearer ${runtime.key}`, 'content-type: application/json', 'content-length: 1000000']
      socket.write(`POST /api/v1/captures HTTP/1.1\r\nhost: ${host}\r\n${head.join('\r\n')}\r\n\r\n{`)
      return socket
    }),
  )
  await vi.waitFor(() => expect(held('bodies')).toBe(67_000_000))
  const send = (rawBody: string) => fetch(routeRequest('ingestCaptures', { key: runtime.key, rawBody, origin }))
  const refused = await send(JSON.stringify({ captures: [{}], x: 'y'.repeat(500_000) }))
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  // Small ones are never refused for the sake of large ones.
  expect((await send('{"captures":[{}],"x":1}')).status).toBe(400)
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(() => expect(held('bodies')).toBe(0))
})
