import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Claims, goOn, judge, openClaims, work } from '../cluster/load.js'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkSharedCounts } from '../support/model/shared-counts-checker.js'
import { withKillableProcesses } from '../support/process/killable-processes.js'
import { proves } from '../support/proves.js'
import { LOOKUP } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../support/runtime/plans.js'

/** Its start takes seconds: the tests go on with the one that runs. */
const service = withKillableProcesses()

/** What the sessions reserve is counted together, too: by a limit that they never reach. */
const plan = planOf(HELP_DESK, {
  shared_limits: [{ name: 'reserved', tool: 'reserve', per: 'agent', sum: '$.amount', lte: 1e6, window: '30d' }],
})

/** Six clients, each with a session. */
const openSessions = (agent: string): Promise<Claims[]> =>
  Promise.all(Array.from({ length: 6 }, () => openClaims(service.api, { plan, agent })))

/** Waits until every client has got the acknowledgement of so many more receipts. */
async function untilMoreAcknowledged(all: readonly Claims[], more: number): Promise<void> {
  const wanted = all.map(({ receipts }) => receipts.length + more)
  const isBehind = ({ receipts }: Claims, at: number) => receipts.length < (wanted[at] ?? 0)
  const patienceEnds = Date.now() + 200_000
  while (all.some(isBehind)) {
    if (Date.now() > patienceEnds)
      throw new Error(`clients are not served any more; the service said:\n${service.output()}`)
    await sleep(10)
  }
}

async function expectEverythingStored(all: readonly Claims[]): Promise<void> {
  expect(await judge(all, service.sql)).toMatchObject({ lost: 0, usedTwice: 0, problems: [] })
  const exports = await Promise.all(all.map(({ session }) => exportOf(session.api, session.sessionId)))
  // A proposal and what it took of a limit are one write: a crash leaves both or neither.
  expect(await checkSharedCounts(service.sql, exports)).toEqual([])
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
      await service.killService()
      await untilMoreAcknowledged(all, 2)
      over = true
      await Promise.all(working)
    }
    // At rest, a crash changes nothing at all.
    const load = () => Promise.all(all.map(({ session }) => session.load()))
    const before = await load()
    await service.killService()
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
      await service.killPostgres()
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
