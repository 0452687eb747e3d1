import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { type RunningServer, startServer } from '../../../packages/server/src/process/start-server.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { type GovernedSession, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { createApi, type Runtime, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'

/** An instance that a newer one has overtaken: it runs on while the database gets a version of which it knows nothing. */
let runtime: Runtime
let server: RunningServer
let session: GovernedSession
beforeAll(async () => {
  runtime = await startRuntime()
  const settings = { DATABASE_URL: runtime.databaseUrl, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' }
  server = await startServer(readConfig(settings))
  session = await openSession(createApi(appFetch(server.app), runtime.key))
  await session.turn([LOOKUP])
})
afterAll(async () => {
  await server.close()
  await runtime.close()
})

const ready = async () => {
  const answer = await appFetch(server.app)(`${TEST_ORIGIN}/readyz`)
  return [answer.status, await answer.json()]
}
const stored = async () =>
  (await runtime.sql`select revision, (select count(*) from session_events) as events from session_heads`)[0]

test('until the database has changed, it is ready', async () => {
  expect(await ready()).toEqual([200, { status: 'ready' }])
})

test('a request that needs a changed table is answered that nothing was decided', async () => {
  await runtime.sql`alter table session_heads rename column facts to facts_of_a_newer_version`
  const before = await stored()
  const { status, problem } = await session.preflight()
  expect([status, problem.code]).toEqual([503, 'UNAVAILABLE'])
  const { status: listed } = await session.api.listSessionsByKey()
  expect(listed).toBe(503)
  expect(await stored()).toEqual(before)
  await runtime.sql`alter table session_heads rename column facts_of_a_newer_version to facts`
  expect((await session.preflight()).status).toBe(200)
})

test('once a newer version is noted it is not ready and refuses everything, also what it could still do', async () => {
  await runtime.sql`insert into schema_migrations (number, name, checksum) values (9999, 'newer', 'none')`
  const reason =
    'the database is newer than this instance; use another one, or stop this one and start the newer version'
  await expect.poll(ready, { timeout: 20_000 }).toEqual([503, { status: 'not_ready', reason }])
  const before = await stored()
  const { status, problem, headers } = await session.preflight()
  expect([status, problem.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1'])
  expect(problem.detail).toContain('use another one, or stop this one and start the newer version')
  expect((await session.api.loadSession({ params: { session_id: session.sessionId } })).status).toBe(503)
  expect((await session.api.login({ body: { email: 'a@b.example', password: 'not the password' } })).status).toBe(503)
  expect(await stored()).toEqual(before)
})
