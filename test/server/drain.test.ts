import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../packages/server/src/config.js'
import { startServer } from '../../packages/server/src/start-server.js'
import { createTestDatabase } from '../support/database.js'
import { echoHandlers } from '../support/echo-handlers.js'

test('close answers what is under way, refuses what is new, and ends', async () => {
  const database = await createTestDatabase()
  const { handlers } = echoHandlers()
  const slow = async () => {
    await sleep(400)
    return { done: true }
  }
  const config = readConfig({ DATABASE_URL: database.url, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' })
  const server = await startServer(config, { parts: { handlers: { ...handlers, logout: slow } } })
  const underWay = fetch(`${server.url}/api/auth/logout`, { method: 'POST' })
  await sleep(100)
  const closedAt = performance.now()
  const closing = server.close()
  await sleep(50)
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  const answer = await underWay
  expect([answer.status, await answer.json()]).toEqual([200, { done: true }])
  await closing
  expect(performance.now() - closedAt).toBeLessThan(5_000)
  await database.drop()
})
