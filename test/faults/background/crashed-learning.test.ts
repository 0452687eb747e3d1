import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { batchOf } from '../../support/data/captures.js'
import { hostileBody } from '../../support/data/hostile-captures.js'
import { PATIENCE_MS, rounds } from '../../support/data/rounds.js'
import { createTestDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { buildOnce, type Command, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { createApi } from '../../support/runtime/runtime.js'

/** The service in a process of its own, so that it can be killed. */
let database: TestDatabase
let sql: Sql
let key: string
beforeAll(async () => {
  buildOnce()
  database = await createTestDatabase()
  sql = connect({ url: database.url }, { max: 2 })
  key = (await createTenant('crash', 'scale', readConfig({ DATABASE_URL: database.url }))).key
})
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await sql.end({ timeout: 1 })
  await database.drop()
})

const started: Command[] = []

async function startService(): Promise<{ command: Command; origin: string }> {
  const command = countersign(['start', '--port', '0'], { DATABASE_URL: database.url, COUNTERSIGN_LOG_LEVEL: 'error' })
  started.push(command)
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  return { command, origin }
}

const waiting = async () => {
  const [row] = await sql<{ captures: number }[]>`
    select coalesce(sum(captures), 0)::int as captures from unlearned_captures`
  return row?.captures ?? 0
}
const isClaimed = async () => (await sql`select 1 from learned_agents where claim_id is not null`).length > 0

proves(
  'background.learned-once',
  async () => {
    let service = await startService()
    let calls = 0
    for (let round = 0; round < rounds(1, 12); round++) {
      const api = createApi((input, init) => {
        const request = new Request(input, init)
        return fetch(new Request(new URL(new URL(request.url).pathname, service.origin), request))
      }, key)
      for (let body = 0; body < 12; body++) {
        const hostile = hostileBody('killed')
        expect((await api.ingestCaptures(batchOf(hostile.captures))).status).toBe(200)
        calls += hostile.calls
      }
      await expect.poll(isClaimed, { interval: 5 }).toBe(true)
      await sleep(40 * round)
      service.command.child.kill('SIGKILL')
      await service.command.ended
      // Nobody else waits a minute for the claim of the one that is gone.
      await sql`update learned_agents set claimed_until = clock_timestamp()`
      service = await startService()
    }
    await expect.poll(waiting, { timeout: PATIENCE_MS }).toBe(0)
    const [learned] = await sql`select samples::int from learned_tools where tool_name = 'write_down'`
    expect(learned?.samples).toBe(calls)
    expect(await sql`select 1 from set_aside_captures`).toHaveLength(0)
    service.command.child.kill('SIGTERM')
    await service.command.ended
  },
  PATIENCE_MS,
)
