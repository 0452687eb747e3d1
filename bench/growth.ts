// npm run bench -- growth [STEPS] [SESSIONS]: does a turn cost more in a long session, or in a large database?
// `step_ratio` is the time of a turn at step 10,000 divided by the time of the first steps of a session.
// `sessions_ratio` is the time on a database with 100,000 sessions divided by the time on one with a few.
// `rss_growth_mb` is the growth of the server's memory from step 2,000, when everything is warm, to step 10,000, without
// garbage. What is compared alternates, so that noise affects both sides alike.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startEmbeddedPostgres } from '@countersign/server'
import { connect } from '../packages/server/src/postgres/connect.js'
import { startBenchServer } from './support/bench-server.js'
import { type BenchSession, openBenchSession } from './support/governed-cycles.js'

const STEPS = Number(process.argv[2] ?? 10_000)
const SESSIONS = Number(process.argv[3] ?? 100_000)
const SAMPLES = 300

const WARM_STEPS = Math.min(2_000, STEPS / 5)

const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const cluster = await startEmbeddedPostgres({ dataFolder: folder })
const few = await startBenchServer(cluster.url)
const crowdedUrl = await createDatabase('crowded')
const many = await startBenchServer(crowdedUrl)
try {
  const openAt = ({ url, key }: typeof few, count: number) =>
    Promise.all(Array.from({ length: count }, () => openBenchSession(url, key)))
  const [long] = await openAt(few, 1)
  if (long === undefined) throw new Error('no session was opened')
  for (let step = 0; step < WARM_STEPS; step++) await long.cycle()
  const rssBefore = await rssMb(few.pid)
  for (let step = WARM_STEPS; step < STEPS; step++) await long.cycle()
  const rssAfter = await rssMb(few.pid)
  const steps = await compare(await openAt(few, 8), [long])

  // Warm up the second server as much as the first one, then fill its database.
  const crowded = await openAt(many, 8)
  for (let step = 0; step < WARM_STEPS; step++) await crowded[step % crowded.length]?.cycle()
  await storeSessions(SESSIONS)
  const sessions = await compare(await openAt(few, 8), await openAt(many, 8))

  const rounded = (value: number) => Math.round(value * 1000) / 1000
  console.log(
    `a cycle: ${steps.first.toFixed(2)} ms in a young session, ${steps.second.toFixed(2)} ms at step ${STEPS}`,
  )
  console.log(
    `a cycle: ${sessions.first.toFixed(2)} ms with few sessions, ${sessions.second.toFixed(2)} ms with ${SESSIONS}`,
  )
  const figures = {
    step_ratio: rounded(steps.second / steps.first),
    sessions_ratio: rounded(sessions.second / sessions.first),
    rss_growth_mb: Math.round(rssAfter - rssBefore),
  }
  console.log(JSON.stringify({ bench: 'growth', ...figures }))
} finally {
  await few.stop()
  await many.stop()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function createDatabase(name: string): Promise<string> {
  const sql = connect({ url: cluster.url }, { max: 1 })
  await sql.unsafe(`create database ${name}`)
  await sql.end()
  return cluster.url.replace(/[^/]*$/, name)
}

/** Median times of the first and of the second sessions, alternating. */
async function compare(
  first: readonly BenchSession[],
  second: readonly BenchSession[],
): Promise<{ first: number; second: number }> {
  const times = { first: [] as number[], second: [] as number[] }
  for (let sample = 0; sample < SAMPLES; sample++) {
    times.first.push(await timed(first[sample % first.length]))
    times.second.push(await timed(second[sample % second.length]))
  }
  return { first: middle(times.first), second: middle(times.second) }
}

async function timed(session: BenchSession | undefined): Promise<number> {
  if (session === undefined) throw new Error('no session')
  const before = performance.now()
  await session.cycle()
  return performance.now() - before
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

/** Copies of a finished session with its records, for the same tenant: rows as the service writes them. */
async function storeSessions(count: number): Promise<void> {
  const sql = connect({ url: crowdedUrl, statementTimeoutMs: 0 }, { max: 1 })
  const tables = ['sessions', 'session_heads', 'session_events', 'receipts', 'content']
  const [source] =
    await sql`select tenant_id, session_id from session_heads where (state::json ->> 'stateVersion')::int >= 10 limit 1`
  if (source === undefined) throw new Error('no session to copy')
  for (const table of tables) {
    const columns = await sql<{ name: string }[]>`
      select column_name as name from information_schema.columns where table_name = ${table} and table_schema = 'public'`
    const names = columns.map(({ name }) => name)
    const copied = names.map((name) => (name === 'session_id' ? `'copy-' || n` : `t.${name}`))
    // Five rows of each record give the indexes their final depth.
    const some = table === 'sessions' || table === 'session_heads' ? '' : 'limit 5'
    await sql.unsafe(
      `insert into ${table} (${names.join(', ')})
       select ${copied.join(', ')} from generate_series(1, $1::int) as n,
         lateral (select * from ${table} where tenant_id = $2 and session_id = $3 ${some}) as t`,
      [count, source.tenantId, source.sessionId],
    )
  }
  // All of them in one minute: no service makes as many, and the job that counts would be busy with nothing else.
  await sql`update decision_counts_until set until = date_trunc('minute', now())`
  await sql`vacuum analyze`
  await sql.end()
}

/** Without garbage, which V8 leaves for minutes: it gives the memory back in the seconds after it has collected it. */
async function rssMb(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR2')
  await setTimeout(5_000)
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}
