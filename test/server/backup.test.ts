import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { verifyExport } from '@countersign/engine'
import { exportEventsReply, type PendingCallView, type Receipt } from '@countersign/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../packages/server/src/postgres/database.js'
import { MIGRATIONS, readMigrations } from '../../packages/server/src/postgres/migrate.js'
import type { Sql } from '../../packages/server/src/postgres/sql.js'
import { BackupError, backUp, restoreBackup } from '../../packages/server/src/process/backup.js'
import { listRecentBlocks } from '../../packages/server/src/store/dashboard/recent-blocks.js'
import { loadTurns } from '../../packages/server/src/store/dashboard/timeline.js'
import { createEmptyDatabase, type TestDatabase } from '../support/database.js'
import { openSession } from '../support/governed-session.js'
import { createMailbox } from '../support/mailbox.js'
import { Person } from '../support/person.js'
import { type Api, type Runtime, startRuntime } from '../support/runtime.js'
import { root } from '../support/tracked-files.js'

let folder: string
let runtime: Runtime
const databases: TestDatabase[] = []

let person: Person

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-backup-'))
  runtime = await startRuntime({ mailer: createMailbox() })
  person = new Person(runtime.fetch)
  await person.signup()
  await runtime.instances[0].parts.accounts.mail.idle()
  for (const label of ['first', 'second']) {
    const session = await openSession(runtime.api(), { labels: [label], capture_level: 'full' })
    // The last two end a line for some readers of text, and stand as they are in JSON.
    const text = 'tab\there, newline\nthere, \\. and ünïcödé, \u0085 \u2028 \u2029'
    await session.turn([{ name: 'lookup_order', args: { order_id: text } }])
    await session.turn([{ name: 'issue_refund', args: { order_id: text, amount: 0.1 } }])
  }
  // Captures are written a little later; none may come between a backup and its comparison.
  await runtime.instances[0].parts.captures.flush()
})
afterAll(async () => {
  await runtime.close()
  for (const database of databases) await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function emptyDatabase(): Promise<string> {
  const database = await createEmptyDatabase()
  databases.push(database)
  return database.url
}

async function read<T>(url: string, look: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect({ url }, { max: 1 })
  try {
    return await look(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** Every session that a server on this database exports, each checked: chain, plan and fold. */
async function verifyAll(url: string, key: string): Promise<number> {
  const ids = await read(
    url,
    (sql) => sql<{ sessionId: string }[]>`select session_id from sessions order by session_id`,
  )
  const restored = await startRuntime({ through: async () => url })
  try {
    for (const { sessionId } of ids) {
      const { status, body } = await restored.api(key).exportEvents({ params: { session_id: sessionId } })
      expect(status).toBe(200)
      expect(verifyExport(exportEventsReply.parse(body))).toMatchObject({ ok: true })
    }
    return ids.length
  } finally {
    await restored.close()
  }
}

const countRows = (url: string) =>
  read(url, async (sql) => {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not in ('buckets', 'jobs', 'schema_migrations')`
    const counts = await Promise.all(
      tables.map(async ({ name }) => [name, (await sql`select count(*) from ${sql(name)}`)[0]?.count] as const),
    )
    return Object.fromEntries(counts.sort())
  })

test('a backup restored elsewhere holds every row, and every chain verifies there', async () => {
  const file = join(folder, 'all.gz')
  const written = await backUp(runtime.databaseUrl, file)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const url = await emptyDatabase()
  expect(await restoreBackup(file, url)).toBe(written)
  expect(await countRows(url)).toEqual(await countRows(runtime.databaseUrl))
  expect(await verifyAll(url, runtime.key)).toBe(2)
  // People sign in there with the password they had, and the audit trail goes on where it was.
  const restored = await startRuntime({ through: async () => url })
  const visitor = new Person(restored.fetch, { email: person.email })
  const { status } = await visitor.call('login', { body: { email: person.email, password: person.password } })
  const { body: trail } = await visitor.call('listAudit')
  await restored.close()
  expect(status).toBe(200)
  expect(trail.items.map(({ action }) => action)).toEqual(['login', 'signup'])
})

test('a key, a sign-in and a mailed link of the backup open nothing once it is restored without them', async () => {
  const file = join(folder, 'revoked.gz')
  await backUp(runtime.databaseUrl, file)
  const url = await emptyDatabase()
  await restoreBackup(file, url, { revokeAccess: true })
  const restored = await startRuntime({ through: async () => url })
  const byKey = await restored.api(runtime.key).loadSession({ params: { session_id: 'any' } })
  const visitor = new Person(restored.fetch, { email: person.email })
  for (const [name, value] of person.cookies) visitor.cookies.set(name, value)
  const { status: bySignIn } = await visitor.call('listAudit')
  const { status: byPassword } = await visitor.login(person.password)
  await restored.close()
  expect([byKey.status, bySignIn, byPassword]).toEqual([401, 401, 200])
  const open = await read(url, (sql) => sql`select 1 from mail_tokens where used_at is null and voided_at is null`)
  expect(open).toHaveLength(0)
})

test('a backup is refused into a database in use; one that is cut short or no backup changes nothing', async () => {
  const file = join(folder, 'whole.gz')
  await backUp(runtime.databaseUrl, file)
  await expect(restoreBackup(file, runtime.databaseUrl)).rejects.toThrow(/not empty: restore into a new one/)
  const text = gunzipSync(await readFile(file)).toString('utf8')
  const cut = join(folder, 'cut.gz')
  await writeFile(cut, gzipSync(text.slice(0, text.lastIndexOf('\n.\n'))))
  const url = await emptyDatabase()
  await expect(restoreBackup(cut, url)).rejects.toThrow(/cut short/)
  expect(await read(url, (sql) => sql`select 1 from tenants`)).toHaveLength(0)
  const other = join(folder, 'other.gz')
  await writeFile(other, gzipSync('{"format":"something"}\n'))
  await expect(restoreBackup(other, url)).rejects.toThrow(BackupError)
  const torn = join(folder, 'torn.gz')
  await writeFile(torn, (await readFile(file)).subarray(0, 2_000))
  await expect(restoreBackup(torn, url)).rejects.toThrow(/torn\.gz cannot be unpacked .*cut short/)
  const plain = join(folder, 'plain.gz')
  await writeFile(plain, text)
  await expect(restoreBackup(plain, url)).rejects.toThrow(/plain\.gz cannot be unpacked .*is no backup/)
  const newer = join(folder, 'newer.gz')
  await writeFile(newer, gzipSync(text.replace(/"migration":[0-9]+/, '"migration":9000')))
  await expect(restoreBackup(newer, url)).rejects.toThrow(/of a newer version/)
  // What was refused is in nobody's way.
  expect(await restoreBackup(file, url)).toBeGreaterThan(0)
})

test('a file that is not there, and a folder that is not there, are named', async () => {
  const url = await emptyDatabase()
  const missing = join(folder, 'missing', 'backup.gz')
  // One after the other: a promise that fails before anybody waits for it fails the whole run.
  for (const attempt of [() => restoreBackup(missing, url), () => backUp(runtime.databaseUrl, missing)]) {
    await expect(attempt()).rejects.toThrow(
      new BackupError(`${missing} cannot be opened: there is no such file or folder`),
    )
  }
})

test('large and many rows come through, and nothing piles up on the way', async () => {
  const warnings: string[] = []
  const hear = (warning: Error) => warnings.push(warning.name)
  process.on('warning', hear)
  const made = await startRuntime()
  await made.sql`
    insert into content (tenant_id, session_id, kind, ref, body, created_at)
    select ${made.tenantId}, 'large', 'response', n::text, to_json(repeat(md5(n::text), case n % 1000 when 0 then 60000 else 40 end)), now()
    from generate_series(1, 3000) n`
  const digest = (url: string) =>
    read(url, async (sql) => (await sql`select md5(string_agg(ref || body::text, '' order by ref)) from content`)[0])
  const file = join(folder, 'large.gz')
  await backUp(made.databaseUrl, file)
  const url = await emptyDatabase()
  await restoreBackup(file, url)
  expect(await digest(url)).toEqual(await digest(made.databaseUrl))
  await made.close()
  process.off('warning', hear)
  expect(warnings).not.toContain('MaxListenersExceededWarning')
})

/**
 * Each was made by an earlier version of Countersign, from its own migrations, its own server and a person who signed up
 * there: a session with a refund and labels, one that was blocked and killed, one with a call still pending. The newest
 * has one more, with unused requests of every kind, which were given a long life.
 */
test.each(['schema-0003', 'schema-0006', 'schema-0014'])(
  '%s: a database of an earlier version comes to today’s, its chains verify, and its sessions go on',
  async (name) => {
    const made = JSON.parse(await readFile(`${root}test/fixtures/${name}.json`, 'utf8'))
    const today = await readMigrations(MIGRATIONS)
    // A server refuses a database whose migrations were changed after they were applied.
    expect(today.slice(0, made.migrations.length)).toMatchObject(made.migrations)
    const file = join(folder, `${name}.gz`)
    await writeFile(file, gzipSync(await readFile(`${root}test/fixtures/${name}.backup`)))
    const url = await emptyDatabase()
    await restoreBackup(file, url)
    const applied = await read(url, (sql) => sql`select number, name, checksum from schema_migrations order by number`)
    expect(today).toMatchObject(applied)
    expect(applied).toHaveLength(today.length)
    const sessions = name === 'schema-0014' ? 4 : 3
    expect(await verifyAll(url, made.key)).toBe(sessions)
    const upgraded = await startRuntime({ through: async () => url })
    try {
      const api = upgraded.api(made.key)
      const { body: killed } = await api.loadSession({ params: { session_id: 'ses-second' } })
      expect(killed.session.status).toBe('KILLED')
      const { body: waiting } = await api.loadSession({
        params: { session_id: 'ses-third' },
        query: { include: 'pending' },
      })
      expect(waiting.pending).toHaveLength(1)
      const labelled = await api.addLabel({ params: { session_id: 'ses-first' }, body: { label: 'after_upgrade' } })
      expect(labelled.body.labels).toEqual(['from_creation', 'money_moved', 'later', 'after_upgrade'])
      await read(url, (sql) => expectOldTurns(sql, api))
      await expectReceipt(api, waiting.pending?.[0])
      if (sessions === 4) await expectUnusedRequests(api)
    } finally {
      await upgraded.close()
    }
    expect(await verifyAll(url, made.key)).toBe(sessions)
  },
)

/** What happened is shown as before; a used request stays used, a kept receipt gets its answer again. */
async function expectOldTurns(sql: Sql, api: Api): Promise<void> {
  const [turn] = await sql<{ tenantId: string; proposalId: string; preparedRequestId: string }[]>`
    select tenant_id, proposal_id, prepared_request_id from proposals where session_id = 'ses-first' order by seq limit 1`
  if (turn === undefined) throw new Error('the session has no turn')
  const { tenantId, proposalId } = turn
  const turns = await loadTurns(sql, { tenantId, sessionId: 'ses-first' }, [proposalId])
  expect(turns.get(proposalId)).toMatchObject({
    preparedAt: expect.any(Date),
    allowed: expect.arrayContaining(['lookup_order']),
    receipts: [{ outcome: 'succeeded', recordedAt: expect.any(Date) }],
  })
  expect(await listRecentBlocks(sql, tenantId, 10)).toMatchObject([
    { sessionId: 'ses-second', toolName: 'issue_refund' },
  ])
  const { problem } = await api.propose({
    params: { session_id: 'ses-first' },
    body: { prepared_request_id: turn.preparedRequestId, fence: 1, response: { content: null, tool_calls: [] } },
  })
  expect(problem.code).toBe('PREPARED_REQUEST_CONSUMED')
}

async function expectReceipt(api: Api, call: PendingCallView | undefined): Promise<void> {
  if (call === undefined) throw new Error('no call waits')
  const receipt: Receipt = {
    pending_call_id: call.pending_call_id,
    argument_hash: call.argument_hash,
    outcome: 'succeeded',
    evidence_level: 'executed',
    result_hash: 'a'.repeat(64),
  }
  const send = () =>
    api.submitReceipts({ params: { session_id: 'ses-third' }, body: { fence: 1, receipts: [receipt] } })
  expect((await send()).body.committed).toBe(true)
  expect((await send()).body.results).toMatchObject([{ outcome: 'succeeded', at_level: true }])
}

async function expectUnusedRequests(api: Api): Promise<void> {
  const propose = async (id: string) => {
    const { status, problem } = await api.propose({
      params: { session_id: 'ses-fourth' },
      body: { prepared_request_id: id, fence: 1, response: { content: 'Fine.', tool_calls: [] } },
    })
    return status === 200 ? 200 : problem.code
  }
  expect(await propose('made-void')).toBe('PREPARED_REQUEST_STALE')
  expect(await propose('used-title')).toBe('PREPARED_REQUEST_CONSUMED')
  expect(await propose('without-tools')).toBe(200)
  expect(await propose('newest')).toBe(200)
  expect(await propose('never-made')).toBe('NOT_FOUND')
}
