import { expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { startServer } from '../../../packages/server/src/process/start-server.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'

test('close answers what is under way, refuses what is new, and ends', async () => {
  const database = await createTestDatabase()
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
  const config = readConfig({ DATABASE_URL: database.url, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' })
  const server = await startServer(config, { parts: { handlers: { ...handlers, logout: slow } } })
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
  await database.drop()
})
