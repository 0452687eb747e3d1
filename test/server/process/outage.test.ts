import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { afterEach, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { startTcpProxy, type TcpProxy } from '../../support/postgres/tcp-proxy.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { type Runtime, routeRequest, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'

const KEYED = (Object.entries(ROUTES) as [RouteName, Route][]).filter(([, route]) => route.auth === 'api_key')

let runtime: Runtime
let proxy: TcpProxy
afterEach(async () => {
  await runtime.close()
  await proxy?.close()
})

async function start(echo = echoHandlers()) {
  runtime = await startRuntime({
    parts: { handlers: echo.handlers, checkReplies: false },
    through: async (url) => {
      proxy = await startTcpProxy(url)
      return proxy.url
    },
  })
  return echo
}

const readiness = async () => (await runtime.fetch(`${TEST_ORIGIN}/readyz`)).status
const askAll = async () => {
  const statuses = await Promise.all(
    KEYED.map(async ([name, route]) => {
      const request = routeRequest(name, { key: runtime.key, rawBody: route.method === 'GET' ? undefined : '{}' })
      const response = await runtime.fetch(request)
      return [name, response.status, (await response.json()).code]
    }),
  )
  return statuses
}
const allUnavailable = KEYED.map(([name]) => [name, 503, 'UNAVAILABLE'])

async function until(what: () => Promise<boolean>, withinMs = 30_000) {
  const end = Date.now() + withinMs
  while (!(await what())) {
    if (Date.now() > end) throw new Error('it did not happen in time')
    await sleep(50)
  }
}

test('PostgreSQL away: 503 on every route and at /readyz, nothing runs; back: served without a restart', async () => {
  const echo = await start()
  expect(await readiness()).toBe(200)
  expect((await runtime.fetch(routeRequest('loadSession', { key: runtime.key }))).status).toBe(200)
  const before = echo.reached.length
  await proxy.cut()
  expect(await askAll()).toEqual(allUnavailable)
  expect(await readiness()).toBe(503)
  expect((await runtime.fetch(`${TEST_ORIGIN}/healthz`)).status).toBe(200)
  expect(await runtime.instances[0].parts.metrics.registry.metrics()).toContain('countersign_pool_waiting')
  expect(echo.reached).toHaveLength(before)
  await proxy.heal()
  await until(async () => (await readiness()) === 200)
  expect((await runtime.fetch(routeRequest('loadSession', { key: runtime.key }))).status).toBe(200)
})

test('five hundred requests in an outage all get that answer at once', async () => {
  await start()
  await proxy.cut()
  const startedAt = performance.now()
  const requests = Array.from({ length: 500 }, () => runtime.fetch(routeRequest('loadSession', { key: runtime.key })))
  const codes = (await Promise.all(requests)).map(async (response) => (await response.json()).code)
  expect(new Set(await Promise.all(codes))).toEqual(new Set(['UNAVAILABLE']))
  // What it takes is the work of the machine: no request waits for anything.
  expect(performance.now() - startedAt).toBeLessThan(30_000)
})

test('a read-only PostgreSQL: 503 on every route and at /readyz', async () => {
  await start()
  const [row] = await runtime.sql`select current_database() as name`
  await runtime.sql`alter database ${runtime.sql(row!.name)} set default_transaction_read_only = on`
  // A setting of a database or a role holds for new connections: those that were opened at the start are ended.
  await proxy.drop()
  // Stops draw no token: what they write is refused after that, in the operation.
  const isStop = (name: unknown): boolean => KEYED.some(([one, { throttle }]) => one === name && throttle === 'stop')
  const drawing = <Row extends readonly unknown[]>(rows: Row[]): Row[] => rows.filter(([name]) => !isStop(name))
  expect(drawing(await askAll())).toEqual(drawing(allUnavailable))
  expect(await readiness()).toBe(503)
})

test('a PostgreSQL without a free connection: 503, and served again when there is one', async () => {
  const role = `limited_${randomBytes(6).toString('hex')}`
  runtime = await startRuntime({
    parts: { handlers: echoHandlers().handlers, checkReplies: false },
    through: async (url) => {
      const sql = connect({ url }, { max: 1 })
      await sql.unsafe(`create role ${role} login superuser password 'x'`)
      await sql.end()
      return Object.assign(new URL(url), { username: role, password: 'x' }).href
    },
  })
  // PostgreSQL counts connections of ordinary roles only.
  await runtime.sql.unsafe(
    `alter role ${role} nosuperuser connection limit 0; grant all on all tables in schema public to ${role}`,
  )
  await runtime.sql`select pg_terminate_backend(pid, 30000) from pg_stat_activity where usename = ${role}`
  expect(await askAll()).toEqual(allUnavailable)
  expect(await readiness()).toBe(503)
  await runtime.sql.unsafe(`alter role ${role} connection limit 50`)
  await until(async () => (await readiness()) === 200)
  expect((await runtime.fetch(routeRequest('loadSession', { key: runtime.key }))).status).toBe(200)
  for (const instance of runtime.instances) await instance.parts.keyUsage.close()
  await runtime.sql.unsafe(`drop owned by ${role}; drop role ${role}`)
})

test('no answer and no log line of an outage shows SQL, an address or the key', async () => {
  await start()
  await proxy.cut()
  const response = await runtime.fetch(routeRequest('loadSession', { key: runtime.key }))
  expect(await response.text()).not.toMatch(/select|127\.0\.0\.1|ECONN|at /)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(runtime.logLines.join('')).not.toContain(runtime.key.slice(4))
})
