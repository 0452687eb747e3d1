// npm run bench -- volume [EVENTS...] [--folder DIR]: do the dashboard's pages, the periodic jobs and a turn get slower
// while one tenant grows to 100,000, 1,000,000 and 10,000,000 events? Real sessions are made through the service and
// multiplied by SQL. The last size takes about 29 GB and half an hour. What is stored stays in the folder, if one is given,
// and the next run measures the sizes from there on: another build on the same rows.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runJob } from '../packages/server/src/process/jobs/job.js'
import { JOBS } from '../packages/server/src/process/jobs/jobs.js'
import { agentOf, type BenchAgent, type Credentials, signUp } from './support/bench-agent.js'
import { loadFast } from './support/load-fast.js'
import { startOwnServer } from './support/own-server.js'
import { storeCopies } from './support/stored-sessions.js'

const { values: options, positionals } = parseArgs({
  options: { folder: { type: 'string' } },
  allowPositionals: true,
})
const SIZES = positionals.length > 0 ? positionals.map(Number) : [100_000, 1_000_000, 10_000_000]
const ORIGINALS = 20
const TURNS = 5
/** A session has its creation, and a proposal and a receipt for each turn that was allowed. */
const EVENTS_OF_SESSION = 1 + 2 * TURNS + 1
const ROUNDS = 15

const READS: Readonly<Record<string, string>> = {
  overview: '/api/dashboard/overview?range=30d',
  list: '/api/dashboard/sessions?limit=50',
  list_reason: '/api/dashboard/sessions?limit=50&reason=argument_value_mismatch',
  list_label: '/api/dashboard/sessions?limit=50&label=money_moved',
  list_agent: '/api/dashboard/sessions?limit=50&agent=agent-1',
  list_killed: '/api/dashboard/sessions?limit=50&status=KILLED',
  search: '/api/dashboard/sessions?limit=50&q=copy-77',
  timeline: '/api/dashboard/sessions/original-1/timeline',
  agents: '/api/dashboard/agents',
  calls: '/api/dashboard/calls?decision=block',
}

const server = await startOwnServer(options.folder)
const { sql } = server
const figures: Record<string, Record<string, number>> = {}
try {
  const agent = await signIn()
  let stored = await storedCopies(agent)
  for (const size of SIZES) {
    const count = Math.max(0, Math.ceil(size / EVENTS_OF_SESSION) - stored)
    const startedMs = performance.now()
    if (count > 0) await loadFast(sql, () => storeCopies(sql, { tenantId: agent.tenantId, first: stored, count }))
    stored += count
    console.log(`${size} events: loaded in ${Math.round((performance.now() - startedMs) / 1_000)} s`)
    note(size, 'stored_mb', await storedMb())
    await measureReads(size, agent)
    await measureTurn(size, agent)
    await measureJobs(size, agent)
    print()
  }
  console.log(JSON.stringify({ bench: 'volume', sizes: SIZES, median_ms: figures }))
} finally {
  await server.remove()
}

/** A new tenant with its original sessions, or the one that the folder has. */
async function signIn(): Promise<BenchAgent> {
  const file = options.folder === undefined ? null : join(options.folder, 'bench-agent.json')
  if (file !== null && existsSync(file))
    return agentOf(server.url, JSON.parse(readFileSync(file, 'utf8')) as Credentials)
  const credentials = await signUp(server.url, sql)
  const agent = agentOf(server.url, credentials)
  for (let number = 0; number < ORIGINALS; number += 1) await makeOriginal(agent, number)
  if (file !== null) writeFileSync(file, JSON.stringify(credentials), { mode: 0o600 })
  return agent
}

async function storedCopies({ tenantId }: BenchAgent): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from sessions where tenant_id = ${tenantId} and session_id like 'copy-%'`
  return row?.count ?? 0
}

/** A session with a blocked call and `TURNS` allowed ones; one in ten has a label, one in ten is killed. */
async function makeOriginal(agent: BenchAgent, number: number): Promise<void> {
  const labels = number % 10 === 1 ? ['money_moved'] : []
  const session = await agent.open(`original-${number}`, { agent: `agent-${number % 7}`, labels })
  await session.turn(900)
  for (let turn = 0; turn < TURNS; turn += 1) await session.turn(50)
  if (number % 10 === 2) await session.kill()
  else await session.end()
}

async function storedMb(): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`
  return Math.round((row?.bytes ?? 0) / 2 ** 20)
}

async function measureReads(size: number, agent: BenchAgent): Promise<void> {
  for (const [name, path] of Object.entries(READS)) note(size, `page ${name}`, await medianOf(() => agent.read(path)))
}

async function measureTurn(size: number, agent: BenchAgent): Promise<void> {
  const session = await agent.open(`fresh-${randomUUID()}`, { agent: 'agent-1', labels: [] })
  for (let turn = 0; turn < ROUNDS; turn += 1) await session.turn(50)
  note(size, 'turn', await medianOf(() => session.turn(50)))
}

/** Each job as the service runs it, with some fresh activity to find. */
async function measureJobs(size: number, agent: BenchAgent): Promise<void> {
  const session = await agent.open(`fresh-${randomUUID()}`, { agent: 'agent-1', labels: [] })
  for (const job of JOBS) {
    const ms = await medianOf(
      () => runJob(job, server.parts),
      async () => {
        await session.turn(50)
        await sql`update jobs set last_run_at = '-infinity'`
        // The job that counts finds a minute again and again, as it does once a minute.
        await sql`update decision_counts_until set until = until - interval '1 minute' where ${job.name === 'decision-counts'}`
      },
    )
    note(size, `job ${job.name}`, ms)
  }
}

async function medianOf(work: () => Promise<unknown>, before: () => Promise<void> = async () => {}): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await before()
    const startedMs = performance.now()
    await work()
    times.push(performance.now() - startedMs)
  }
  return Math.round((times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN) * 10) / 10
}

function note(size: number, name: string, value: number): void {
  figures[name] = { ...figures[name], [size]: value }
}

/** After each size: the next one may take long. */
function print(): void {
  for (const [name, bySize] of Object.entries(figures))
    console.log(`${name.padEnd(34)} ${SIZES.map((size) => String(bySize[size] ?? '').padStart(9)).join(' ')}`)
}
