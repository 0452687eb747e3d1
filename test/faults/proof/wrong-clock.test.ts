import { afterAll, beforeAll, describe, expect } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createLog } from '../../../packages/server/src/base/log.js'
import { CLOCK_BOUND_SECONDS } from '../../../packages/server/src/process/clock-watch.js'
import { type Job, runJob } from '../../../packages/server/src/process/jobs/job.js'
import { JOBS } from '../../../packages/server/src/process/jobs/jobs.js'
import { startJobs } from '../../../packages/server/src/process/jobs/start-jobs.js'
import { type RunningServer, startServer } from '../../../packages/server/src/process/start-server.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { createApi, TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { join, offer, openWorkflow, pay } from '../../support/runtime/workflow.js'

const DAY_MS = 24 * 3_600_000
let aheadMs = 100 * DAY_MS
const clock = () => new Date(Date.now() + aheadMs)
const mailbox = createMailbox()
const { runtime, api } = await withRuntime({ parts: { clock }, mailer: mailbox })

/** Every job, as if it were due and the instance did not notice anything about its clock. */
async function runEveryJob(): Promise<void> {
  await runtime.sql`delete from jobs`
  for (const job of JOBS) await runJob(job, runtime.instances[0].parts)
}

const rowsIn = async (tables: readonly string[]): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const table of tables) counts[table] = (await runtime.sql.unsafe(`select 1 from ${table}`)).length
  return counts
}

describe('an instance whose clock is 100 days ahead', () => {
  proves(
    'clock.database-deletes',
    'deletes and expires nothing that is not past its time by the database',
    async () => {
      const person = new Person(runtime.fetch)
      await person.signup()
      await runtime.instances[0].parts.accounts.mail.idle()
      const session = await openSession(api, { capture_level: 'full' })
      await session.turn([LOOKUP])
      await session.preflight()
      await session.preflight()
      const root = await openWorkflow(api)
      await offer(root, { note: 'for whoever pays' })
      await runtime.instances[0].parts.captures.flush()
      const tables = [
        'content',
        'captures',
        'superseded_requests',
        'refresh_tokens',
        'mail_tokens',
        'mail_queue',
        'buckets',
      ]
      const before = await rowsIn(tables)
      for (const table of tables) expect([table, before[table]]).not.toEqual([table, 0])
      await runEveryJob()
      expect(await rowsIn(tables)).toEqual(before)
      const [handoff] = await runtime.sql`select state, note from handoffs`
      expect(handoff).toEqual({ state: 'offered', note: 'for whoever pays' })
      expect((await person.call('verifyEmail', { body: { token: mailbox.tokenFor(person.email) } })).status).toBe(200)
      expect((await person.call('me')).status).toBe(200)
    },
  )
})

describe('an instance whose clock is eleven minutes ahead', () => {
  proves('clock.database-frees', 'does not free what a killed session holds', async () => {
    aheadMs = 11 * 60_000
    const root = await openWorkflow(api)
    const child = await join(api, { workflowId: root.workflowId, handoffId: (await offer(root)).handoff_id })
    await child.decide([pay('7')])
    await api.killSession({ params: { session_id: child.sessionId }, body: {} })
    const held = () => runtime.sql`select 1 from resource_holds where session_id = ${child.sessionId}`
    expect(await held()).toHaveLength(1)
    await runEveryJob()
    expect(await held()).toHaveLength(1)
    await runtime.sql`update resource_holds set ends_at = clock_timestamp() - interval '1 second'`
    await runEveryJob()
    expect(await held()).toHaveLength(0)
  })
})

describe('an instance that finds its clock wrong', () => {
  const lines: string[] = []
  let server: RunningServer
  beforeAll(async () => {
    aheadMs = (CLOCK_BOUND_SECONDS + 60) * 1_000
    const settings = { DATABASE_URL: runtime.databaseUrl, COUNTERSIGN_PORT: '0' }
    const log = createLog({ level: 'info', write: (line) => void lines.push(line) })
    server = await startServer(readConfig(settings), { log, parts: { clock } })
  })
  afterAll(() => server.close())

  const ready = async () => {
    const answer = await appFetch(server.app)(`${TEST_ORIGIN}/readyz`)
    return [answer.status, ((await answer.json()) as { reason?: string }).reason]
  }

  proves(
    'clock.wrong-refuses',
    'says so and works neither for requests nor on jobs until it is right again',
    async () => {
      const onIt = createApi(appFetch(server.app), runtime.key)
      const wrong = expect.stringMatching(
        /the clock of this instance is 1[78]\d seconds ahead of the database's.*time server/,
      )
      expect(await ready()).toEqual([503, wrong])
      const { status, problem } = await onIt.createSession({
        body: { session_id: 's', holder_id: 'h', compiled_hash: '' },
      })
      expect([status, problem.code, problem.detail]).toEqual([503, 'UNAVAILABLE', wrong])
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', msg: wrong })
      const metrics = await server.parts.metrics.registry.metrics()
      expect(metrics).toMatch(/countersign_clock_skew_seconds 1[78]\d/)

      let ran = 0
      const run = async () => {
        ran += 1
        return false
      }
      const job: Job = { name: 'counting', everySeconds: 0, run }
      const jobs = startJobs(server.parts, [job], 5)
      await new Promise((done) => setTimeout(done, 100))
      expect(ran).toBe(0)

      aheadMs = (CLOCK_BOUND_SECONDS - 60) * 1_000
      await expect.poll(ready, { timeout: 30_000 }).toEqual([200, undefined])
      await openSession(onIt)
      await expect.poll(() => ran).toBeGreaterThan(0)
      await jobs.close()
    },
  )
})
