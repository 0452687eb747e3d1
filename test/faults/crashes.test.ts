import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../packages/server/src/base/config.js'
import { connect } from '../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../packages/server/src/postgres/sql.js'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { createTenant } from '../../packages/server/src/process/operator.js'
import { apiOverAll, type Claims, goOn, judge, openClaims, work } from '../cluster/load.js'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkSharedCounts } from '../support/model/shared-counts-checker.js'
import { buildOnce, type Command, countersign } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'
import { LOOKUP } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../support/runtime/plans.js'

/** A durable PostgreSQL of its own and the service in a process of its own: both can be killed. */
let folder: string
let postgres: EmbeddedPostgres
let sql: Sql
let key: string
beforeAll(async () => {
  buildOnce()
  folder = await mkdtemp(join(tmpdir(), 'countersign-crash-'))
  postgres = await startEmbeddedPostgres({ dataFolder: folder })
  const tenant = await createTenant('crash', 'scale', readConfig({ DATABASE_URL: postgres.url }))
  key = tenant.key
  sql = connect({ url: postgres.url }, { max: 2 })
  service = await startService()
})
afterAll(async () => {
  service.command.child.kill('SIGTERM')
  await service.command.ended
  await sql.end({ timeout: 1 })
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Service {
  command: Command
  origin: string
}
/** Starting takes seconds: the tests go on with the one that runs. */
let service: Service

async function startService(): Promise<Service> {
  const quotas = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8 } })
  const env = { DATABASE_URL: postgres.url, COUNTERSIGN_QUOTAS: quotas, COUNTERSIGN_LOG_LEVEL: 'error' }
  const command = countersign(['start', '--port', '0'], env)
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  return { command, origin }
}

/** What the sessions reserve is counted together, too: by a limit that they never reach. */
const plan = planOf(HELP_DESK, {
  shared_limits: [{ name: 'reserved', tool: 'reserve', per: 'agent', sum: '$.amount', lte: 1e6, window: '30d' }],
})

/** Six clients, each with a session. */
const openSessions = (agent: string): Promise<Claims[]> => {
  const api = apiOverAll(() => [service.origin], key)
  return Promise.all(Array.from({ length: 6 }, () => openClaims(api, { plan, agent })))
}

/** Waits until every client has got the acknowledgement of so many more receipts. */
async function untilMoreAcknowledged(all: readonly Claims[], more: number): Promise<void> {
  const wanted = all.map(({ receipts }) => receipts.length + more)
  const isBehind = ({ receipts }: Claims, at: number) => receipts.length < (wanted[at] ?? 0)
  const patienceEnds = Date.now() + 200_000
  while (all.some(isBehind)) {
    if (Date.now() > patienceEnds)
      throw new Error(`clients are not served any more; the service said:\n${service.command.output()}`)
    await sleep(10)
  }
}

async function expectEverythingStored(all: readonly Claims[]): Promise<void> {
  expect(await judge(all, sql)).toMatchObject({ lost: 0, usedTwice: 0, problems: [] })
  const exports = await Promise.all(all.map(({ session }) => exportOf(session.api, session.sessionId)))
  // A proposal and what it took of a limit are one write: a crash leaves both or neither.
  expect(await checkSharedCounts(sql, exports)).toEqual([])
}

proves(
  ['turn.receipt.durable', 'turn.durable-state', 'shared-limit.never-exceeded'],
  'kill -9 of the server under load: every acknowledged write is there, every ledger holds, every client goes on',
  async () => {
    const all = await openSessions('service crash')
    for (let round = 0; round < rounds(1, 20); round++) {
      let over = false
      const working = all.map((claims) => work(claims, () => over))
      await untilMoreAcknowledged(all, 20)
      service.command.child.kill('SIGKILL')
      await service.command.ended
      service = await startService()
      await untilMoreAcknowledged(all, 2)
      over = true
      await Promise.all(working)
    }
    // At rest, a crash changes nothing at all.
    const load = () => Promise.all(all.map(({ session }) => session.load()))
    const before = await load()
    service.command.child.kill('SIGKILL')
    await service.command.ended
    service = await startService()
    expect(await load()).toEqual(before)
    await expectEverythingStored(all)
  },
  PATIENCE_MS,
)

proves(
  'turn.receipt.durable',
  'kill -9 of PostgreSQL under load: every acknowledged write is there, and the same server serves on',
  async () => {
    const all = await openSessions('database crash')
    for (let round = 0; round < rounds(1, 20); round++) {
      let over = false
      const working = all.map((claims) => work(claims, () => over))
      await untilMoreAcknowledged(all, 20)
      const pid = postgres.pid()
      process.kill(pid, 'SIGKILL')
      while (postgres.pid() === pid) await sleep(50)
      await untilMoreAcknowledged(all, 2)
      over = true
      await Promise.all(working)
    }
    for (const { session } of all) await goOn(session)
    await expectEverythingStored(all)
    for (const { session } of all) expect(await session.turn([LOOKUP])).toMatchObject({ committed: true })
  },
  PATIENCE_MS,
)
