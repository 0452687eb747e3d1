import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { type RunningServer, startServer } from '../../../packages/server/src/process/start-server.js'
import { codeVersion, MIGRATIONS, MigrationError, migrate } from '../../../packages/server/src/schema/migrate.js'
import { root } from '../../support/files/tracked-files.js'
import { checkSession } from '../../support/model/session-checker.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { createApi, type Runtime, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'

/** This version on a database that a next version migrates. */
let runtime: Runtime
let server: RunningServer
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-beside-'))
  runtime = await startRuntime()
  server = await startServer(settings())
})
afterAll(async () => {
  await server.close()
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

const settings = () =>
  readConfig({ DATABASE_URL: runtime.databaseUrl, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' })

/** Migrations as the next version has them: another `propose`, and columns that this version does not know. */
async function nextVersion(line: string): Promise<string> {
  const today = await codeVersion()
  const migrations = join(folder, 'migrations')
  await cp(MIGRATIONS, migrations, { recursive: true })
  await cp(join(MIGRATIONS, '../sql'), join(folder, 'sql'), { recursive: true })
  const propose = await readFile(join(folder, 'sql/functions/propose.sql'), 'utf8')
  await writeFile(
    join(folder, 'sql/functions/propose_2.sql'),
    propose
      .replace('function propose(', 'function propose_2(')
      .replace('p_extras json\n)', 'p_extras json, p_weight integer\n)')
      .replace('set revision = p_revision', 'set revision = p_revision, weight = p_weight'),
  )
  await writeFile(
    join(migrations, `${String(today + 1).padStart(4, '0')}_next.sql`),
    [
      line,
      'alter table sessions add column colour text;',
      'alter table session_heads add column weight integer not null default 0;',
      '\\ir ../sql/functions/propose_2.sql',
    ].join('\n'),
  )
  return migrations
}

interface Released {
  readonly takes: string
  readonly gives: string
  readonly body: string
}

const functionsOf = async (): Promise<Record<string, Released>> => {
  const rows = await runtime.sql<(Released & { name: string })[]>`
    select proname as name, pg_get_function_arguments(oid) as takes, pg_get_function_result(oid) as gives,
      encode(sha256(convert_to(prosrc, 'UTF8')), 'hex') as body
    from pg_proc where pronamespace = current_schema()::regnamespace order by proname`
  return Object.fromEntries(rows.map(({ name, ...rest }) => [name, rest]))
}

const RELEASED = `${root}test/fixtures/released-functions.json`

/**
 * COUNTERSIGN_WRITE_FIXTURE=1 npx vitest run --project server test/server/process/side-by-side.test.ts
 * notes the functions of today. Do so when a version is released; functions of the version before the last may go.
 */
if (process.env.COUNTERSIGN_WRITE_FIXTURE)
  test('the functions of today are noted', async () => {
    await writeFile(RELEASED, `${JSON.stringify(await functionsOf(), null, 2)}\n`)
  })

proves(
  'scale.versions-beside',
  'the functions that were released are there, with the same arguments and the same text',
  async () => {
    const released: Record<string, Released> = JSON.parse(await readFile(RELEASED, 'utf8'))
    expect(Object.keys(released).length).toBeGreaterThan(5)
    expect(await functionsOf()).toMatchObject(released)
  },
)

proves(
  'scale.versions-beside',
  'nothing is refused while the next version migrates, nor afterwards, where its migration says so',
  async () => {
    const api = createApi(appFetch(server.app), runtime.key)
    const sessions = await Promise.all(Array.from({ length: 3 }, () => openSession(api)))
    let over = false
    let turns = 0
    const working = sessions.map(async (session) => {
      while (!over) {
        await session.turn([LOOKUP])
        expect((await session.api.listSessionsByKey()).status).toBe(200)
        expect((await session.load()).session.status).toBe('ACTIVE')
        turns += 1
      }
    })
    const moreTurns = async () => {
      const enough = turns + 10
      await expect.poll(() => turns, { timeout: 30_000 }).toBeGreaterThan(enough)
    }
    await moreTurns()
    const today = await codeVersion()
    expect(
      await migrate(runtime.databaseUrl, await nextVersion(`-- beside ${String(today).padStart(4, '0')}`)),
    ).toEqual([today + 1])
    // Long enough for the next look at the version.
    await new Promise((done) => setTimeout(done, 1_500))
    await moreTurns()
    const [first] = sessions
    const asked = await runtime.sql`
      select propose_2(p_tenant => h.tenant_id, p_session => h.session_id, p_known => 'another', p_revision => '',
        p_lease_until => h.lease_until, p_facts => '', p_state => null, p_recent => null, p_key_hash => null, p_quota => null,
        p_seq => 0, p_type => '', p_at => h.lease_until, p_body => '', p_prev_hash => '', p_hash => '', p_request => '',
        p_with_tools => true, p_proposal => '', p_outcome => '', p_record => '', p_arguments => null, p_is_blocked => false,
        p_extras => null, p_weight => 7) as written
      from session_heads h where h.session_id = ${first?.sessionId ?? ''}`
    expect(asked).toEqual([{ written: false }])
    over = true
    await Promise.all(working)
    expect((await appFetch(server.app)(`${TEST_ORIGIN}/readyz`)).status).toBe(200)
    for (const { sessionId } of sessions)
      expect(await checkSession(runtime.sql, sessionId, await exportOf(api, sessionId))).toEqual([])

    // Another instance of this version, which crashed meanwhile and starts again.
    const again = await startServer(settings())
    expect((await appFetch(again.app)(`${TEST_ORIGIN}/readyz`)).status).toBe(200)
    await again.close()
  },
)

proves('scale.versions-beside', 'a version that the migration does not name is refused', async () => {
  const today = await codeVersion()
  await runtime.sql`update schema_migrations set beside = ${today + 1} where number = ${today + 1}`
  await expect(migrate(runtime.databaseUrl)).rejects.toThrow(MigrationError)
  await expect
    .poll(async () => (await appFetch(server.app)(`${TEST_ORIGIN}/readyz`)).status, { timeout: 20_000 })
    .toBe(503)
})
