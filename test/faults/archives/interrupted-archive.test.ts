import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { type ArchiveOptions, archiveSessions } from '../../../packages/server/src/archives/archive-sessions.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { seededRandom } from '../../support/data/random.js'
import { PATIENCE_MS, rounds, testSeed } from '../../support/data/rounds.js'
import { startPostgresProxy } from '../../support/postgres/postgres-proxy.js'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import {
  filesBelow,
  rowsOfSessions,
  type SessionRows,
  whereSessionsAre,
} from '../../support/runtime/archived-sessions.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { storeAgedCopies } from '../../support/volume/aged-copies.js'

const FEW = 3
/** In long rounds more than one file takes. */
const MANY = rounds(FEW, 210)

const { runtime, api } = await withRuntime()
const { tenantId } = runtime
const proxy = await startPostgresProxy(runtime.databaseUrl)
/** Through the proxy, which may fail. */
const operator = connect({ url: proxy.url, statementTimeoutMs: 0 }, { max: 1 })
const folder = await mkdtemp(join(tmpdir(), 'countersign-interrupted-'))
const random = seededRandom(testSeed())
afterAll(async () => {
  await operator.end({ timeout: 1 })
  await proxy.close()
  await rm(folder, { recursive: true, force: true })
})

beforeAll(async () => {
  buildOnce()
  const session = await openSession(api, { session_id: 'original', capture_level: 'full', labels: ['vip'] })
  await session.turn([{ name: 'lookup_order', args: { order_id: 'A-1' } }])
  await session.turn([{ name: 'delete_everything', args: {} }])
  await api.endSession({ params: { session_id: 'original' }, body: { fence: session.fence } })
})

/** Old sessions, each with its rows. */
async function oldSessions(prefix: string, count: number): Promise<SessionRows> {
  const ids = Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
  await storeAgedCopies(runtime.sql, { tenantId, original: 'original', ids })
  return rowsOfSessions(runtime.sql, ids)
}

const what = (): ArchiveOptions => ({ tenantId, before: new Date('2021-01-01T00:00:00Z'), idle: false, folder })
const archiveAll = (sql: Sql) => archiveSessions(sql, what())

/** Interrupted, and run again: nothing is lost or doubled, and the second run finishes. */
async function finished(before: SessionRows, interrupted: () => Promise<void>): Promise<void> {
  await interrupted()
  await whereSessionsAre(runtime.sql, before, folder)
  expect(await archiveAll(runtime.sql)).toMatchObject({ kept: [] })
  expect((await whereSessionsAre(runtime.sql, before, folder)).stored).toEqual([])
  for (const file of await filesBelow(folder, '')) await rm(file, { recursive: true, force: true })
}

/** How many statements the work takes when nothing happens. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const before = proxy.executed()
  await work()
  return proxy.executed() - before
}

proves(
  'archive.interrupted',
  'the database goes away at any statement, or does the work and its answer is lost',
  async () => {
    await oldSessions('count', FEW)
    const all = await statementsOf(() => archiveAll(operator))
    // The last statements are those that matter most: they remove, and commit.
    const moments = Array.from({ length: all }, (_, at) => at).filter((at) => at < 2 || rounds(random(), 0) < 0.02)
    for (const fromEnd of moments) {
      for (const [name, fault] of Object.entries({ cut: proxy.cut, lose: proxy.loseNextAnswer })) {
        await finished(await oldSessions(`${name}-${fromEnd}`, FEW), async () => {
          proxy.after(Math.max(1, all - fromEnd), fault)
          await expect(archiveAll(operator)).rejects.toThrow()
          proxy.resume()
        })
      }
    }
  },
  PATIENCE_MS,
)

proves(
  'archive.interrupted',
  'the command is killed with -9 at any moment',
  async () => {
    const args = [
      'archive',
      '--before',
      '2021-01-01',
      '--to',
      folder,
      '--tenant',
      tenantId,
      '--database-url',
      proxy.url,
    ]
    await oldSessions('count-more', MANY)
    const all = await statementsOf(() => archiveAll(operator))
    for (let round = 0; round < rounds(1, 60); round += 1) {
      await finished(await oldSessions(`kill-${round}`, MANY), async () => {
        const command = countersign(args)
        proxy.after(1 + Math.floor(random() * all), () => command.child.kill('SIGKILL'))
        expect(await command.ended).toBe('SIGKILL')
      })
    }
  },
  PATIENCE_MS,
)
