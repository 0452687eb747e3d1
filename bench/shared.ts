// npm run bench -- shared [ROUNDS]: what does a limit that sessions share cost, and what does a hot key cost?
// Governed turns of sessions without shared limits, with a limit on a key of their own, and with one key for all of
// them alternate on one PostgreSQL in one run. The ratio is turns per second divided by those without.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@countersign/server'
import { startBenchServer, startCycleClient } from './support/bench-server.js'

const ROUNDS = Number(process.argv[2] ?? 7)
const SECONDS = 2
const LEVELS = [1, 8, 32] as const
const WARM_UP_SECONDS = 10
const KINDS = ['none', 'own', 'hot'] as const

const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const postgres = await startEmbeddedPostgres({ dataFolder: folder })
const server = await startBenchServer(postgres.url)
const clients = new Map(KINDS.map((kind) => [kind, startCycleClient()]))
const turns = async (kind: (typeof KINDS)[number], sessions: number, seconds: number) => {
  const client = clients.get(kind)
  if (client === undefined) throw new Error(`no client runs ${kind}`)
  return client.run({ url: server.url, key: server.key, sessions, seconds, shares: kind })
}
try {
  const figures: Record<string, number> = {}
  for (const kind of KINDS) await turns(kind, Math.max(...LEVELS), WARM_UP_SECONDS)
  for (const level of LEVELS) {
    const rates = new Map<string, number[]>(KINDS.map((kind) => [kind, []]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of KINDS) rates.get(kind)?.push((await turns(kind, level, SECONDS)).perSecond)
    }
    const median = (kind: string) => rates.get(kind)?.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN
    for (const kind of ['own', 'hot']) figures[`${kind}_${level}`] = median(kind) / median('none')
    const [none, own, hot] = KINDS.map((kind) => median(kind).toFixed(0))
    console.log(
      `${level} sessions: ${none} turns a second without, ${own} with a key of their own, ${hot} with one key`,
    )
  }
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value * 1000) / 1000])
  console.log(JSON.stringify({ bench: 'shared', ...Object.fromEntries(rounded) }))
} finally {
  for (const client of clients.values()) await client.stop()
  await server.stop()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}
