// npm run bench -- dashboard [SESSIONS] [--folder DIR]: do the dashboard's reads get slower for a tenant with 100,000
// sessions and 1,100,000 events?
// The ratio is to a tenant with 1,000 sessions on the same server; requests alternate. What is stored stays in the folder,
// if one is given, and the next run measures another build on the same rows.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Tx } from '../packages/server/src/postgres/sql.js'
import { agentOf, type Credentials, signUp } from './support/bench-agent.js'
import { loadFast } from './support/load-fast.js'
import { startOwnServer } from './support/own-server.js'

const { values: options, positionals } = parseArgs({
  options: { folder: { type: 'string' } },
  allowPositionals: true,
})
const SMALL = 1_000
const LARGE = Number(positionals[0] ?? 100_000)
const ROUNDS = 60
const server = await startOwnServer(options.folder)
const { sql } = server

const READS = {
  overview: '/api/dashboard/overview?range=30d',
  list: '/api/dashboard/sessions?limit=50',
  list_reason: '/api/dashboard/sessions?limit=50&reason=argument_value_mismatch',
  list_label: '/api/dashboard/sessions?limit=50&label=money_moved',
  list_agent: '/api/dashboard/sessions?limit=50&agent=support',
  list_killed: '/api/dashboard/sessions?limit=50&status=KILLED',
  search: '/api/dashboard/sessions?limit=50&q=copy-77',
  timeline: '/api/dashboard/sessions/original/timeline',
  agents: '/api/dashboard/agents',
  calls: '/api/dashboard/calls?decision=block',
} as const
type Read = keyof typeof READS

try {
  const { small, large } = await tenants()
  const times = { small: timesOf(), large: timesOf() }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of Object.keys(READS) as Read[]) {
      times.small[name].push(await timeOf(READS[name], small.cookie))
      times.large[name].push(await timeOf(READS[name], large.cookie))
    }
  }
  const [events] = await sql<
    { count: number }[]
  >`select count(*) from session_events where tenant_id = ${large.tenantId}`
  const ratios = (Object.keys(READS) as Read[]).map(
    (name) => [name, median(times.large[name]) / median(times.small[name])] as const,
  )
  for (const [name, ratio] of ratios) {
    console.log(
      `${name.padEnd(12)} ${median(times.small[name]).toFixed(2)} ms -> ${median(times.large[name]).toFixed(2)} ms  x${ratio.toFixed(2)}`,
    )
  }
  const rounded = Object.fromEntries(ratios.map(([name, ratio]) => [name, Math.round(ratio * 100) / 100]))
  console.log(JSON.stringify({ bench: 'dashboard', sessions: LARGE, events: events?.count, ratios: rounded }))
} finally {
  await server.remove()
}

function timesOf(): Record<Read, number[]> {
  return Object.fromEntries(Object.keys(READS).map((name) => [name, [] as number[]])) as Record<Read, number[]>
}

async function timeOf(path: string, cookie: string): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(`${server.url}${path}`, { headers: { cookie } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
  return performance.now() - startedAt
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Two tenants with their sessions, new or from the folder. */
async function tenants(): Promise<{ small: Credentials; large: Credentials }> {
  const file = options.folder === undefined ? null : join(options.folder, 'bench-tenants.json')
  if (file !== null && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const accounts = { small: await account('small@example.test'), large: await account('large@example.test') }
  await loadFast(sql, async () => {
    await fill(accounts.small.tenantId, SMALL)
    await fill(accounts.large.tenantId, LARGE)
  })
  if (file !== null) writeFileSync(file, JSON.stringify(accounts), { mode: 0o600 })
  return accounts
}

/** An account whose tenant has one real session: a blocked and an allowed proposal. */
async function account(email: string): Promise<Credentials> {
  const credentials = await signUp(server.url, sql, email)
  const session = await agentOf(server.url, credentials).open('original', { agent: 'support', labels: ['money_moved'] })
  for (const amount of [900, 50]) await session.turn(amount)
  return credentials
}

/** Copies of the original session over 30 days, each with ten events; one in fifty has a reason, a label, a kill. */
async function fill(tenantId: string, sessions: number): Promise<void> {
  await sql.begin((tx) => copySessions(tx, tenantId, sessions))
}

async function copySessions(tx: Tx, tenantId: string, sessions: number): Promise<void> {
  const columns = await tx<{ columnName: string }[]>`
    select column_name from information_schema.columns where table_name = 'sessions' order by ordinal_position`
  const changed: Record<string, string> = {
    session_id: `'copy-' || n`,
    created_at: `date_trunc('milliseconds', now() - interval '30 days' * n / ${sessions})`,
    status: `case when n % 50 = 0 then 'KILLED' else 'ACTIVE' end`,
    agent: `case when n % 50 = 1 then 'support' else 'agent-' || n % 7 end`,
  }
  const names = columns.map(({ columnName }) => columnName)
  const tenant = `'${tenantId}'`
  await tx.unsafe(`insert into sessions (${names.join(', ')})
    select ${names.map((name) => changed[name] ?? `s.${name}`).join(', ')}
    from sessions s, generate_series(1, ${sessions}) n where s.tenant_id = ${tenant} and s.session_id = 'original'`)
  await tx.unsafe(`insert into session_heads (tenant_id, session_id, revision, lease_until, facts, prepared, state, narrowing, recent)
    select h.tenant_id, 'copy-' || n, h.revision, h.lease_until, h.facts, h.prepared, h.state, h.narrowing, h.recent
    from session_heads h, generate_series(1, ${sessions}) n
    where h.tenant_id = ${tenant} and h.session_id = 'original'`)
  await tx.unsafe(`insert into session_facets (tenant_id, kind, value, created_at, session_id)
    select tenant_id, f.kind, f.value, created_at, session_id from sessions,
      (values ('label', 'money_moved'), ('reason', 'argument_value_mismatch')) as f (kind, value)
    where tenant_id = ${tenant} and session_id like 'copy-%0' and right(session_id, 2) in ('00', '50')`)
  await tx.unsafe(`insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
    select s.tenant_id, s.session_id, n, e.type, s.created_at, e.body, e.prev_hash, e.hash
    from sessions s, session_events e, generate_series(1, 10) n
    where s.tenant_id = ${tenant} and s.session_id like 'copy-%'
      and e.tenant_id = ${tenant} and e.session_id = 'original' and e.seq = 2`)
  await tx.unsafe(`insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash, request_id, proposal_id, outcome, record)
    select s.tenant_id, s.session_id, 11, e.type, s.created_at, e.body, e.prev_hash, e.hash, e.request_id, e.proposal_id, e.outcome, e.record
    from sessions s, session_events e
    where s.tenant_id = ${tenant} and s.session_id like 'copy-%'
      and e.tenant_id = ${tenant} and e.session_id = 'original' and e.outcome = 'blocked'`)
  await tx.unsafe(`insert into blocked_proposals (tenant_id, at, session_id, seq)
    select tenant_id, at, session_id, seq from session_events
    where tenant_id = ${tenant} and session_id like 'copy-%' and outcome in ('blocked', 'partial')`)
  for (const grain of ['minute', 'hour']) {
    await tx.unsafe(`insert into decision_counts (tenant_id, grain, at, agent, reason, calls)
      select tenant_id, '${grain}', date_trunc('${grain}', created_at), agent, 'argument_value_mismatch', count(*)
      from sessions where tenant_id = ${tenant} and session_id like 'copy-%' group by 1, 2, 3, 4 on conflict do nothing`)
  }
  await tx.unsafe(`insert into session_counts (tenant_id, hour, agent, sessions)
    select tenant_id, date_trunc('hour', created_at), agent, count(*)
    from sessions where tenant_id = ${tenant} and session_id like 'copy-%' group by 1, 2, 3 on conflict do nothing`)
  await tx`update decision_counts_until set until = date_trunc('minute', now())`
}
