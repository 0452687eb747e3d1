// npm run bench -- login [ATTEMPTS]: does the time of a refused login reveal whether an account has the address?
// Known and unknown addresses alternate in random order; a Mann-Whitney rank test compares their times. `auc` is the
// probability that a known address takes longer than an unknown one: 0.5 means that the time reveals nothing.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, startServer } from '@countersign/server'

interface Timed {
  readonly known: boolean
  readonly ms: number
}

const ROUNDS = Number(process.argv[2] ?? 400)
const WARM_UP = 20
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const server = await startServer(
  readConfig({
    COUNTERSIGN_DATA_FOLDER: folder,
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_SCRYPT_COST: '14',
    COUNTERSIGN_LOG_LEVEL: 'silent',
  }),
)
try {
  const times = (await measure()).slice(WARM_UP)
  const rounded = (value: number) => Math.round(value * 1000) / 1000
  const { auc, z } = mannWhitney(times)
  const figures = { auc, z, known_ms: median(times, true), unknown_ms: median(times, false) }
  console.log(
    JSON.stringify({
      bench: 'login',
      ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, rounded(value)])),
    }),
  )
} finally {
  await server.close()
  await rm(folder, { recursive: true, force: true })
}

async function measure(): Promise<Timed[]> {
  await post('signup', { email: 'known@example.test', password: 'a password of some length' })
  const times: Timed[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const known = Math.random() < 0.5
    // Full buckets, so that every attempt is judged.
    await server.parts.database.sql`delete from buckets`
    const startedAt = performance.now()
    const email = known ? 'known@example.test' : 'nobody@example.test'
    const response = await post('login', { email, password: 'wrong wrong wrong' })
    await response.arrayBuffer()
    if (response.status !== 401) throw new Error(`expected 401, got ${response.status}`)
    times.push({ known, ms: performance.now() - startedAt })
  }
  return times
}

function post(path: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${server.url}/api/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

function median(times: readonly Timed[], known: boolean): number {
  const sorted = times
    .filter((time) => time.known === known)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function mannWhitney(times: readonly Timed[]): { auc: number; z: number } {
  const ranked = [...times].sort((a, b) => a.ms - b.ms)
  const known = ranked.filter((time) => time.known).length
  const unknown = ranked.length - known
  const rankSum = ranked.reduce((sum, time, index) => (time.known ? sum + index + 1 : sum), 0)
  const u = rankSum - (known * (known + 1)) / 2
  const deviation = Math.sqrt((known * unknown * (known + unknown + 1)) / 12)
  return { auc: u / (known * unknown), z: (u - (known * unknown) / 2) / deviation }
}
