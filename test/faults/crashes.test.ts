import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerExport, LedgerHead } from '@countersign/protocol'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../packages/server/src/base/config.js'
import { connect } from '../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../packages/server/src/postgres/sql.js'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { createTenant } from '../../packages/server/src/process/operator.js'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkSession } from '../support/model/session-checker.js'
import { checkSharedCounts } from '../support/model/shared-counts-checker.js'
import { buildOnce, type Command, countersign } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor, reserve } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../support/runtime/plans.js'
import { createApi } from '../support/runtime/runtime.js'

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
})
afterAll(async () => {
  await sql.end({ timeout: 1 })
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Service {
  command: Command
  origin: string
}

async function startService(): Promise<Service> {
  const quotas = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8 } })
  const env = { DATABASE_URL: postgres.url, COUNTERSIGN_QUOTAS: quotas, COUNTERSIGN_LOG_LEVEL: 'error' }
  const command = countersign(['start', '--port', '0'], env)
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  return { command, origin }
}

/** The routes over a real socket, at an address that may change. */
const apiAt = (service: () => Service) =>
  createApi((input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    return fetch(new Request(new URL(pathname + search, service().origin), request))
  }, key)

/** What the sessions reserve is counted together, too: by a limit that they never reach. */
const plan = planOf(HELP_DESK, {
  shared_limits: [{ name: 'reserved', tool: 'reserve', per: 'agent', sum: '$.amount', lte: 1e6, window: '30d' }],
})

/** What was acknowledged to one client: ledger heads and receipts. */
interface Acknowledged {
  session: GovernedSession
  heads: LedgerHead[]
  receipts: string[]
}

/** Turns without end, until asked to stop; answers other than 200 and broken connections are no acknowledgement. */
async function work(acknowledged: Acknowledged, isOver: () => boolean): Promise<void> {
  const { session } = acknowledged
  while (!isOver()) {
    try {
      const prepared = await session.preflight()
      if (prepared.status !== 200 || prepared.body.outcome !== 'prepared') throw new Error('not prepared')
      const proposal = await session.propose(prepared.body.prepared_request_id, [LOOKUP, reserve(0.001)])
      if (proposal.status !== 200) throw new Error('not proposed')
      acknowledged.heads.push(proposal.body.ledger)
      const receipts = proposal.body.decisions.map((decision) => receiptFor(decision))
      const answer = await session.receipts(receipts)
      if (answer.status !== 200) throw new Error('not received')
      acknowledged.heads.push(answer.body.ledger)
      acknowledged.receipts.push(...receipts.map((receipt) => receipt.pending_call_id))
      session.stateVersion = answer.body.state_version
    } catch {
      await sleep(20)
      await goOn(session).catch(() => {})
    }
  }
}

/** Waits until every client has got the acknowledgement of so many more receipts. */
async function untilMoreAcknowledged(all: readonly Acknowledged[], more: number, { command }: Service): Promise<void> {
  const wanted = all.map(({ receipts }) => receipts.length + more)
  const isBehind = ({ receipts }: Acknowledged, at: number) => receipts.length < (wanted[at] ?? 0)
  const patienceEnds = Date.now() + 200_000
  while (all.some(isBehind)) {
    if (Date.now() > patienceEnds)
      throw new Error(`clients are not served any more; the service said:\n${command.output()}`)
    await sleep(10)
  }
}

/** After a failure: what is pending is settled, and the version taken from the server, as the SDK would. */
async function goOn(session: GovernedSession): Promise<void> {
  const { session: view, pending = [] } = await session.load()
  session.stateVersion = view.state_version
  const receipts = pending.map(({ pending_call_id, argument_hash }) => ({
    pending_call_id,
    argument_hash,
    outcome: 'unknown' as const,
    evidence_level: 'reported' as const,
  }))
  if (receipts.length > 0) await session.receipts(receipts)
}

async function expectEverythingStored(all: readonly Acknowledged[]): Promise<void> {
  const exports: LedgerExport[] = []
  for (const { session, heads, receipts } of all) {
    const rows = await sql<{ pendingCallId: string }[]>`
      select pending_call_id from receipts where session_id = ${session.sessionId}`
    const stored = new Set(rows.map(({ pendingCallId }) => pendingCallId))
    expect(receipts.filter((id) => !stored.has(id))).toEqual([])
    const exported = await exportOf(session.api, session.sessionId)
    const hashes = new Map(exported.events.map(({ seq, hash }) => [seq, hash]))
    expect(heads.filter(({ seq, hash }) => hashes.get(seq) !== hash)).toEqual([])
    expect(await checkSession(sql, session.sessionId, exported)).toEqual([])
    exports.push(exported)
  }
  // A proposal and what it took of a limit are one write: a crash leaves both or neither.
  expect(await checkSharedCounts(sql, exports)).toEqual([])
}

proves(
  ['turn.receipt.durable', 'turn.durable-state', 'shared-limit.never-exceeded'],
  'kill -9 of the server under load: every acknowledged write is there, every ledger holds, every client goes on',
  async () => {
    let service = await startService()
    const api = apiAt(() => service)
    const all: Acknowledged[] = await Promise.all(
      Array.from({ length: 6 }, async () => ({
        session: await openSession(api, { plan, agent: 'service crash' }),
        heads: [],
        receipts: [],
      })),
    )
    for (let round = 0; round < rounds(1, 20); round++) {
      let over = false
      const working = all.map((acknowledged) => work(acknowledged, () => over))
      await untilMoreAcknowledged(all, 20, service)
      service.command.child.kill('SIGKILL')
      await service.command.ended
      service = await startService()
      await untilMoreAcknowledged(all, 2, service)
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
    service.command.child.kill('SIGTERM')
    await service.command.ended
  },
  PATIENCE_MS,
)

proves(
  'turn.receipt.durable',
  'kill -9 of PostgreSQL under load: every acknowledged write is there, and the same server serves on',
  async () => {
    const service = await startService()
    const api = apiAt(() => service)
    const all: Acknowledged[] = await Promise.all(
      Array.from({ length: 6 }, async () => ({
        session: await openSession(api, { plan, agent: 'database crash' }),
        heads: [],
        receipts: [],
      })),
    )
    for (let round = 0; round < rounds(1, 20); round++) {
      let over = false
      const working = all.map((acknowledged) => work(acknowledged, () => over))
      await untilMoreAcknowledged(all, 20, service)
      const pid = postgres.pid()
      process.kill(pid, 'SIGKILL')
      while (postgres.pid() === pid) await sleep(50)
      await untilMoreAcknowledged(all, 2, service)
      over = true
      await Promise.all(working)
    }
    for (const { session } of all) await goOn(session)
    await expectEverythingStored(all)
    for (const { session } of all) expect(await session.turn([LOOKUP])).toMatchObject({ committed: true })
    service.command.child.kill('SIGTERM')
    await service.command.ended
  },
  PATIENCE_MS,
)
