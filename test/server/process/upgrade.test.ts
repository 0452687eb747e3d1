import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backUp, restoreBackup } from '../../../packages/server/src/process/backup.js'
import { MIGRATIONS, readMigrations } from '../../../packages/server/src/schema/migrate.js'
import { root } from '../../support/files/tracked-files.js'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { expectStoryGoesOn, SESSIONS_OF_STORY, tellUpgradeStory } from '../../support/postgres/upgrade-story.js'
import { readDatabase, verifyDatabase } from '../../support/postgres/verify-database.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { startRuntime } from '../../support/runtime/runtime.js'

let folder: string
const databases: TestDatabase[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-upgrade-'))
})
afterAll(async () => {
  for (const database of databases) await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function emptyDatabase(): Promise<string> {
  const database = await createEmptyDatabase()
  databases.push(database)
  return database.url
}

const appliedTo = (url: string) =>
  readDatabase(url, (sql) => sql`select number, name, checksum from schema_migrations order by number`)

/** Chains verify, sessions go on, and the chains still verify. */
async function expectUpgraded(url: string, key: string): Promise<void> {
  expect(await verifyDatabase(url, key)).toBe(SESSIONS_OF_STORY)
  const upgraded = await startRuntime({ through: async () => url })
  try {
    await expectStoryGoesOn(upgraded.api(key), url)
  } finally {
    await upgraded.close()
  }
  expect(await verifyDatabase(url, key)).toBe(SESSIONS_OF_STORY)
}

/** Each fixture was written by the server of its version, by the test below. Add one for each released migration. */
test.each(['schema-0001'])('%s: a database of this version comes to today’s, and its sessions go on', async (name) => {
  const made = JSON.parse(await readFile(`${root}test/fixtures/${name}.json`, 'utf8'))
  const today = await readMigrations(MIGRATIONS)
  // A server refuses a database whose migrations were changed after they were applied.
  expect(today.slice(0, made.migrations.length)).toMatchObject(made.migrations)
  const file = join(folder, `${name}.gz`)
  await writeFile(file, gzipSync(await readFile(`${root}test/fixtures/${name}.backup`)))
  const url = await emptyDatabase()
  await restoreBackup(file, url, { keepAccess: true })
  const applied = await appliedTo(url)
  expect(today).toMatchObject(applied)
  expect(applied).toHaveLength(today.length)
  await expectUpgraded(url, made.key)
})

test('a backup of today comes to the next version, and its sessions go on', async () => {
  const runtime = await startRuntime({ mailer: createMailbox() })
  const key = await tellUpgradeStory(runtime)
  const file = join(folder, 'today.gz')
  await backUp(runtime.databaseUrl, file)
  await runtime.close()

  const next = join(folder, 'migrations')
  await cp(MIGRATIONS, next, { recursive: true })
  await cp(join(MIGRATIONS, '../sql'), join(folder, 'sql'), { recursive: true })
  const today = await readMigrations(MIGRATIONS)
  const number = (today.at(-1)?.number ?? 0) + 1
  await writeFile(
    join(next, `${String(number).padStart(4, '0')}_next.sql`),
    `alter table session_heads add column weight integer not null default 0;
     update session_heads set weight = length(state);`,
  )
  const url = await emptyDatabase()
  await restoreBackup(file, url, { keepAccess: true, migrations: next })
  expect((await appliedTo(url)).map((row) => row.number)).toEqual([...today.map((row) => row.number), number])
  const weights = await readDatabase(url, (sql) => sql`select 1 from session_heads where weight > 0`)
  expect(weights).toHaveLength(SESSIONS_OF_STORY)
  await expectUpgraded(url, key)
})

/**
 * COUNTERSIGN_WRITE_FIXTURE=1 npx vitest run --project server test/server/process/upgrade.test.ts
 * writes the fixture of today's version. Do so before a version with a new migration is released.
 */
if (process.env.COUNTERSIGN_WRITE_FIXTURE)
  test('the fixture of today’s version is written', async () => {
    const runtime = await startRuntime({ mailer: createMailbox() })
    const key = await tellUpgradeStory(runtime)
    const file = join(folder, 'fixture.gz')
    await backUp(runtime.databaseUrl, file)
    await runtime.close()
    const migrations = (await readMigrations(MIGRATIONS)).map(({ number, name, checksum }) => ({
      number,
      name,
      checksum,
    }))
    const name = `${root}test/fixtures/schema-${String(migrations.at(-1)?.number).padStart(4, '0')}`
    await writeFile(`${name}.backup`, gunzipSync(await readFile(file)))
    await writeFile(`${name}.json`, `${JSON.stringify({ key, migrations }, null, 2)}\n`)
  })
