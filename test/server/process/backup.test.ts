import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BackupError, backUp, restoreBackup } from '../../../packages/server/src/process/backup.js'
import { insertIssuer } from '../../../packages/server/src/store/accounts/issuers.js'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { readDatabase, verifyDatabase } from '../../support/postgres/verify-database.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { type Runtime, startRuntime } from '../../support/runtime/runtime.js'

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

const countRows = (url: string) =>
  readDatabase(url, async (sql) => {
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
  expect(await restoreBackup(file, url, { keepAccess: true })).toBe(written)
  expect(await countRows(url)).toEqual(await countRows(runtime.databaseUrl))
  expect(await verifyDatabase(url, runtime.key)).toBe(2)
  // People sign in there with the password they had, and the audit trail goes on where it was.
  const restored = await startRuntime({ through: async () => url })
  const visitor = new Person(restored.fetch, { email: person.email })
  const { status } = await visitor.call('login', { body: { email: person.email, password: person.password } })
  const { body: trail } = await visitor.call('listAudit')
  await restored.close()
  expect(status).toBe(200)
  expect(trail.items.map(({ action }) => action)).toEqual(['login', 'signup'])
})

proves('auth.restored-revoked', async () => {
  const file = join(folder, 'revoked.gz')
  const issuer = { issuer: 'https://id.test', jwksUri: 'https://id.test/keys', audience: 'a', algorithms: ['RS256'] }
  await insertIssuer(runtime.sql, { tenantId: runtime.tenantId, ...issuer, groupsClaim: 'groups' })
  await backUp(runtime.databaseUrl, file)
  const url = await emptyDatabase()
  await restoreBackup(file, url)
  const restored = await startRuntime({ through: async () => url })
  const byKey = await restored.api(runtime.key).loadSession({ params: { session_id: 'any' } })
  const visitor = new Person(restored.fetch, { email: person.email })
  for (const [name, value] of person.cookies) visitor.cookies.set(name, value)
  const { status: bySignIn } = await visitor.call('listAudit')
  const { status: byPassword } = await visitor.login(person.password)
  await restored.close()
  expect([byKey.status, bySignIn, byPassword]).toEqual([401, 401, 200])
  const open = await readDatabase(
    url,
    (sql) => sql`select 1 from mail_tokens where used_at is null and voided_at is null`,
  )
  expect(open).toHaveLength(0)
  expect(await readDatabase(url, (sql) => sql`select 1 from issuers`)).toHaveLength(0)
})

test('a backup is refused into a database in use; one that is truncated or not a backup changes nothing', async () => {
  const file = join(folder, 'whole.gz')
  await backUp(runtime.databaseUrl, file)
  await expect(restoreBackup(file, runtime.databaseUrl)).rejects.toThrow(/not empty: restore into a new one/)
  const text = gunzipSync(await readFile(file)).toString('utf8')
  const cut = join(folder, 'cut.gz')
  await writeFile(cut, gzipSync(text.slice(0, text.lastIndexOf('\n.\n'))))
  const url = await emptyDatabase()
  await expect(restoreBackup(cut, url)).rejects.toThrow(/the backup is truncated/)
  expect(await readDatabase(url, (sql) => sql`select 1 from tenants`)).toHaveLength(0)
  const other = join(folder, 'other.gz')
  await writeFile(other, gzipSync('{"format":"something"}\n'))
  await expect(restoreBackup(other, url)).rejects.toThrow(BackupError)
  const torn = join(folder, 'torn.gz')
  await writeFile(torn, (await readFile(file)).subarray(0, 2_000))
  await expect(restoreBackup(torn, url)).rejects.toThrow(/torn\.gz cannot be unpacked .*truncated/)
  const plain = join(folder, 'plain.gz')
  await writeFile(plain, text)
  await expect(restoreBackup(plain, url)).rejects.toThrow(/plain\.gz cannot be unpacked .*not a backup/)
  const newer = join(folder, 'newer.gz')
  await writeFile(newer, gzipSync(text.replace(/"migration":[0-9]+/, '"migration":9000')))
  await expect(restoreBackup(newer, url)).rejects.toThrow(/made by a newer version/)
  // What was refused is in nobody's way.
  expect(await restoreBackup(file, url)).toBeGreaterThan(0)
})

test('a file that is not there, and a folder that is not there, are named', async () => {
  const url = await emptyDatabase()
  const missing = join(folder, 'missing', 'backup.gz')
  // One after the other: a promise that fails before anybody waits for it fails the whole run.
  for (const attempt of [() => restoreBackup(missing, url), () => backUp(runtime.databaseUrl, missing)]) {
    await expect(attempt()).rejects.toThrow(
      new BackupError(`${missing} cannot be opened: the file or folder does not exist`),
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
    readDatabase(
      url,
      async (sql) => (await sql`select md5(string_agg(ref || body::text, '' order by ref)) from content`)[0],
    )
  const file = join(folder, 'large.gz')
  await backUp(made.databaseUrl, file)
  const url = await emptyDatabase()
  await restoreBackup(file, url)
  expect(await digest(url)).toEqual(await digest(made.databaseUrl))
  await made.close()
  process.off('warning', hear)
  expect(warnings).not.toContain('MaxListenersExceededWarning')
})
