// npm run bench -- growth: does a governed cycle cost more when its session is long, or when many sessions are stored?
// `step_ratio` is the time of a cycle at step 10,000 over that at step 10 of one session; `sessions_ratio` the time with
// 100,000 sessions stored over that with 10; `rss_growth_mb` what the server's memory grew in between.
// Two sessions, one near its beginning and one far on, take turns, so that the machine's moods meet both alike.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@countersign/server'
import postgres from 'postgres'
import { startBenchServer } from './support/bench-server.js'
import { type BenchSession, openBenchSession } from './support/governed-cycles.js'

const STEPS = Number(process.argv[2] ?? 10_000)
const SESSIONS = Number(process.argv[3] ?? 100_000)
const SAMPLES = 300

const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const database = await startEmbeddedPostgres({ dataFolder: folder })
const server = await startBenchServer(database.url)
const sql = postgres(database.url, { max: 1, onnotice: () => {} })
try {
  const open = () => openBenchSession(server.url, server.key)
  const long = await open()
  for (let step = 0; step < 200; step++) await long.cycle()
  const rssBefore = await rssMb(server.pid)
  for (let step = 200; step < STEPS; step++) await long.cycle()
  const steps = await compare(await Promise.all(Array.from({ length: 8 }, open)), long)

  const few = await median((await Promise.all(Array.from({ length: 8 }, open))).values(), SAMPLES)
  await storeSessions(SESSIONS)
  const many = await median((await Promise.all(Array.from({ length: 8 }, open))).values(), SAMPLES)
  const rssAfter = await rssMb(server.pid)
  const rounded = (value: number) => Math.round(value * 1000) / 1000
  console.log(`a cycle: ${steps.young.toFixed(2)} ms young, ${steps.old.toFixed(2)} ms at step ${STEPS}`)
  console.log(`a cycle: ${few.toFixed(2)} ms with few sessions, ${many.toFixed(2)} ms with ${SESSIONS}`)
  const figures = {
    step_ratio: rounded(steps.old / steps.young),
    sessions_ratio: rounded(many / few),
    rss_growth_mb: Math.round(rssAfter - rssBefore),
  }
  console.log(JSON.stringify({ bench: 'growth', ...figures }))
} finally {
  await sql.end()
  await server.stop()
  await database.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Medians of cycles of young sessions, each for its first steps only, and of an old one, in turns. */
async function compare(young: readonly BenchSession[], old: BenchSession): Promise<{ young: number; old: number }> {
  const times = { young: [] as number[], old: [] as number[] }
  for (let sample = 0; sample < SAMPLES; sample++) {
    const fresh = young[sample % young.length]
    if (fresh === undefined) throw new Error('no young session')
    times.young.push(await timed(fresh))
    times.old.push(await timed(old))
  }
  return { young: middle(times.young), old: middle(times.old) }
}

async function median(sessions: Iterable<BenchSession>, samples: number): Promise<number> {
  const all = [...sessions]
  const times: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    const session = all[sample % all.length]
    if (session === undefined) throw new Error('no session')
    times.push(await timed(session))
  }
  return middle(times)
}

async function timed(session: BenchSession): Promise<number> {
  const before = performance.now()
  await session.cycle()
  return performance.now() - before
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

/** Copies of a finished session with its records, for the same tenant: rows as the service writes them. */
async function storeSessions(count: number): Promise<void> {
  const tables = [
    'sessions',
    'session_events',
    'prepared_requests',
    'proposals',
    'pending_calls',
    'receipts',
    'content',
  ]
  const [source] = await sql`select tenant_id, session_id from sessions where state_version between 10 and 200 limit 1`
  if (source === undefined) throw new Error('no session to copy')
  for (const table of tables) {
    const columns = await sql<{ name: string }[]>`
      select column_name as name from information_schema.columns where table_name = ${table} and table_schema = 'public'`
    const names = columns.map(({ name }) => name)
    const copied = names.map((name) => (name === 'session_id' ? `'copy-' || n` : `t.${name}`))
    // Five rows of each record are enough to make the indexes as deep as they will be.
    const some = table === 'sessions' ? '' : 'limit 5'
    await sql.unsafe(
      `insert into ${table} (${names.join(', ')})
       select ${copied.join(', ')} from generate_series(1, $1::int) as n,
         lateral (select * from ${table} where tenant_id = $2 and session_id = $3 ${some}) as t`,
      [count, source.tenant_id, source.session_id],
    )
  }
  await sql`vacuum analyze`
}

async function rssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}
