import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect as connectTo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { backUp } from '../../../packages/server/src/process/backup.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { createRuntime } from '../../../packages/server/src/process/start-server.js'
import { migrate } from '../../../packages/server/src/schema/migrate.js'
import { installDebianPackage } from '../../../scripts/debian-package.mjs'
import { checkSession } from '../../support/model/session-checker.js'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { LOOKUP, openSession, reserve } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { createApi } from '../../support/runtime/runtime.js'

const PGBOUNCER = '/usr/sbin/pgbouncer'
if (!existsSync(PGBOUNCER)) installDebianPackage('pgbouncer')
const isThere = existsSync(PGBOUNCER)
if (!isThere) console.warn('pgbouncer is not installed: the way through it is not tried')

/** Fewer connections to PostgreSQL than the service opens to PgBouncer: transactions share them. */
const SHARED = 3

let folder: string
let database: TestDatabase
let bouncer: ChildProcess | undefined
let url: string
beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/countersign-pgbouncer-')
  await chmod(folder, 0o755)
  database = await createEmptyDatabase()
  if (!isThere) return
  const port = await freePort()
  const target = new URL(database.url)
  const settings = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = trust\nauth_file = ${join(folder, 'users.txt')}`,
    `pool_mode = transaction\ndefault_pool_size = ${SHARED}\nmax_client_conn = 200`,
  ]
  await writeFile(join(folder, 'users.txt'), `"${target.username}" ""\n`)
  await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
  // It refuses to run as root.
  const asNobody = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []
  const [command = PGBOUNCER, ...args] = [...asNobody, PGBOUNCER, '-q', join(folder, 'pgbouncer.ini')]
  bouncer = spawn(command, args, { stdio: 'ignore' })
  target.port = String(port)
  url = target.href
  await untilOpen(port)
})
afterAll(async () => {
  bouncer?.kill('SIGKILL')
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const open = await new Promise<boolean>((done) => {
      const socket = connectTo(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
      setTimeout(() => socket.destroy(), 100)
    })
    if (open) return
    await sleep(50)
  }
  throw new Error('PgBouncer did not start')
}

proves(
  'scale.pgbouncer',
  'migrations, turns of many sessions at once, kills and a backup through PgBouncer in transaction mode',
  async () => {
    expect((await migrate(url)).length).toBeGreaterThan(8)
    const config = readConfig({ DATABASE_URL: url, COUNTERSIGN_DEMO: 'off', COUNTERSIGN_LOG_LEVEL: 'silent' })
    const { key } = await createTenant('pooled', 'scale', config)
    const runtime = createRuntime(config, url)
    const api = createApi(appFetch(runtime.app), key)
    const sql = connect({ url }, { max: 2 })
    const work = Array.from({ length: 8 }, async () => {
      const session = await openSession(api)
      for (let turn = 0; turn < 10; turn += 1) await session.turn([LOOKUP, reserve(0.001)])
      const killed = await api.killSession({ params: { session_id: session.sessionId }, body: { reason: 'enough' } })
      expect(killed.status).toBe(200)
      expect(await checkSession(sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
    })
    await Promise.all(work)
    const [row] = await sql`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'`
    expect(row?.count).toBeLessThanOrEqual(SHARED)
    expect(sql.isPooled()).toBe(true)
    expect(await backUp(url, join(folder, 'backup'))).toBeGreaterThan(80)
    await sql.end()
    await runtime.close()
  },
  { skip: !isThere },
)

proves(
  'scale.index-ahead',
  'an index that an interrupted start has left is built anew through PgBouncer, too',
  async () => {
    const name = new URL(database.url).pathname
    const other = await createEmptyDatabase()
    const sql = connect({ url: other.url }, { max: 1 })
    try {
      const one = 'create table things (a int); insert into things values (1), (1);'
      await writeFile(join(folder, '0001_one.sql'), one)
      await migrate(other.url, folder)
      // Two rows with the same value: it fails at its end, and stays as one that is not valid.
      const failing = sql`create unique index concurrently things_by_a on things (a)`
      await expect(failing.execute()).rejects.toThrow('could not create unique index')
      await writeFile(join(folder, '0002_two.sql'), 'create index if not exists things_by_a on things (a);')
      const pooled = url.replace(name, new URL(other.url).pathname)
      expect((await Promise.all([migrate(pooled, folder), migrate(pooled, folder)])).flat()).toEqual([2])
      const [index] = await sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('things_by_a')`
      expect(index?.valid).toBe(true)
    } finally {
      await sql.end()
      await other.drop()
    }
  },
  { skip: !isThere },
)
