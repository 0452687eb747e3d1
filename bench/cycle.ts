// npm run bench -- cycle [ROUNDS]: what does a governed turn cost, compared with the cheapest durable turn?
// The floor is three hand-written single-statement commits per turn with the same driver and without HTTP. A governed
// turn is preflight, proposal and receipt over HTTP from another process. Both alternate on one PostgreSQL in one run.
// The ratio is governed turns per second divided by floor turns per second. Beside it: processor time a governed turn.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@countersign/server'
import { startPostgresProxy } from '../test/support/postgres/postgres-proxy.js'
import { startBenchServer, startCycleClient } from './support/bench-server.js'
import { openFloor } from './support/floor.js'
import { measure } from './support/governed-cycles.js'
import { processorMs } from './support/processor-time.js'

/** Enough for a noisy machine: the median round gives the ratio. */
const ROUNDS = Number(process.argv[2] ?? 7)
const SECONDS = 2
const LEVELS = [1, 8, 32] as const
/** Long enough to prepare statements and compile the code: a service runs for days, not for seconds. */
const WARM_UP_SECONDS = 25

const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const postgres = await startEmbeddedPostgres({ dataFolder: folder })
const server = await startBenchServer(postgres.url)
const client = startCycleClient()
try {
  const figures: Record<string, number> = {}
  await client.run({ url: server.url, key: server.key, sessions: Math.max(...LEVELS), seconds: WARM_UP_SECONDS })
  for (const level of LEVELS) {
    const floor = await openFloor(postgres.url, level)
    const governed = (seconds: number) => client.run({ url: server.url, key: server.key, sessions: level, seconds })
    await measure(floor.workers, 1)
    await governed(1)
    const rounds: { floor: number; governed: number; p50Ms: number }[] = []
    const spent = { server: 0, postgres: 0, cycles: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const bare = await measure(floor.workers, SECONDS)
      const before = processorTimes()
      const full = await governed(SECONDS)
      const after = processorTimes()
      spent.server += after.server - before.server
      spent.postgres += after.postgres - before.postgres
      spent.cycles += full.cycles
      rounds.push({ floor: bare.perSecond, governed: full.perSecond, p50Ms: full.p50Ms })
    }
    await floor.close()
    const middle = rounds.toSorted((a, b) => a.governed / a.floor - b.governed / b.floor)[Math.floor(ROUNDS / 2)]
    if (middle === undefined) throw new Error('no rounds were run')
    figures[`ratio_${level}`] = middle.governed / middle.floor
    if (level === 1) figures.p50_ms_1 = middle.p50Ms
    figures[`server_ms_${level}`] = spent.server / spent.cycles
    figures[`postgres_ms_${level}`] = spent.postgres / spent.cycles
    const [governedRate, floorRate] = [middle.governed, middle.floor].map((rate) => rate.toFixed(0))
    console.log(`${level} sessions: ${governedRate} governed and ${floorRate} floor cycles a second`)
  }
  figures.statements_per_cycle = await countStatements()
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value * 1000) / 1000])
  console.log(JSON.stringify({ bench: 'cycle', ...Object.fromEntries(rounded) }))
} finally {
  await client.stop()
  await server.stop()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Those of a turn are the difference divided by the turns; both processes also do what is due in the background. */
function processorTimes(): { server: number; postgres: number } {
  return { server: processorMs(server.pid), postgres: processorMs(postgres.pid(), { andChildren: true }) }
}

/** Counts the executed statements through a proxy, with one session and everything warm. */
async function countStatements(): Promise<number> {
  const proxy = await startPostgresProxy(postgres.url)
  const counted = await startBenchServer(proxy.url)
  const order = { url: counted.url, key: counted.key, sessions: 33, seconds: 0 }
  try {
    const { openBenchSession } = await import('./support/governed-cycles.js')
    const session = await openBenchSession(order.url, order.key)
    for (let warm = 0; warm < 20; warm++) await session.cycle()
    const before = proxy.executed()
    const cycles = 50
    for (let cycle = 0; cycle < cycles; cycle++) await session.cycle()
    const statements = (proxy.executed() - before) / cycles
    session.close()
    return statements
  } finally {
    await counted.stop()
    await proxy.close()
  }
}
