import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { startServer } from '../../../packages/server/src/process/start-server.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'

const database = await createTestDatabase()
afterAll(() => database.drop())
const settings = { DATABASE_URL: database.url, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' }

test('close answers what is under way, refuses what is new, and ends', async () => {
  const { handlers } = echoHandlers()
  let arrive = () => {}
  const arrived = new Promise<void>((done) => (arrive = done))
  let finish = () => {}
  const finished = new Promise<void>((done) => (finish = done))
  const slow = async () => {
    arrive()
    await finished
    return { done: true }
  }
  const server = await startServer(readConfig(settings), { parts: { handlers: { ...handlers, logout: slow } } })
  const underWay = fetch(`${server.url}/api/auth/logout`, { method: 'POST' })
  await arrived
  const closing = server.close()
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  const answeredAt = performance.now()
  finish()
  const answer = await underWay
  expect([answer.status, await answer.json()]).toEqual([200, { done: true }])
  await closing
  // Not only when its patience of ten seconds is at its end.
  expect(performance.now() - answeredAt).toBeLessThan(8_000)
})

proves('scale.drain', 'an instance that drains says so at /readyz, and serves what comes meanwhile', async () => {
  const server = await startServer(readConfig({ ...settings, COUNTERSIGN_DRAIN_SECONDS: '600' }))
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  let isDrained = false
  void server.drain().then(() => {
    isDrained = true
  })
  const readiness = await fetch(`${server.url}/readyz`)
  expect([readiness.status, await readiness.text()]).toEqual([503, expect.stringContaining('shutting down')])
  const answer = await fetch(`${server.url}/api/auth/me`)
  expect([answer.status, answer.headers.get('connection')]).toEqual([401, 'close'])
  expect(isDrained).toBe(false)
  await server.close()
  await expect(fetch(`${server.url}/readyz`)).rejects.toThrow()
})
