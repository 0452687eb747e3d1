import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect as connectTo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../packages/server/src/base/config.js'
import { connect } from '../../packages/server/src/postgres/database.js'
import { migrate } from '../../packages/server/src/postgres/migrate.js'
import { backUp } from '../../packages/server/src/process/backup.js'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { createTenant } from '../../packages/server/src/process/operator.js'
import { createRuntime } from '../../packages/server/src/process/start-server.js'
import { checkSession } from '../support/model/session-checker.js'
import { proves } from '../support/proves.js'
import { appFetch } from '../support/runtime/app-fetch.js'
import { LOOKUP, openSession, reserve } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { createApi } from '../support/runtime/runtime.js'

/** Fewer connections to PostgreSQL than the service opens to PgBouncer: transactions share them. */
const SHARED = 3

let folder: string
let postgres: EmbeddedPostgres
let bouncer: ChildProcess
let url: string
beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/countersign-pgbouncer-')
  await chmod(folder, 0o755)
  postgres = await startEmbeddedPostgres({ dataFolder: join(folder, 'data') })
  const port = await freePort()
  const target = new URL(postgres.url)
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
  bouncer = spawn('setpriv', [
    '--reuid=postgres',
    '--regid=postgres',
    '--clear-groups',
    'pgbouncer',
    join(folder, 'pgbouncer.ini'),
  ])
  target.port = String(port)
  url = target.href
  await untilOpen(port)
})
afterAll(async () => {
  bouncer?.kill('SIGKILL')
  await postgres?.stop()
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
    const pooled = `${url}?pgbouncer=true`
    expect((await migrate(pooled)).length).toBeGreaterThan(8)
    const config = readConfig({ DATABASE_URL: pooled, COUNTERSIGN_DEMO: 'off', COUNTERSIGN_LOG_LEVEL: 'silent' })
    const { key } = await createTenant('pooled', 'scale', config)
    const runtime = createRuntime(config, pooled)
    const api = createApi(appFetch(runtime.app), key)
    const sql = connect({ url: pooled }, { max: 2 })
    const work = Array.from({ length: 8 }, async () => {
      const session = await openSession(api)
      for (let turn = 0; turn < 10; turn += 1) await session.turn([LOOKUP, reserve(0.001)])
      const killed = await api.killSession({ params: { session_id: session.sessionId }, body: { reason: 'enough' } })
      expect(killed.status).toBe(200)
      expect(await checkSession(sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
    })
    await Promise.all(work)
    const [row] =
      await sql`select count(*)::int as count from pg_stat_activity where usename = current_user and backend_type = 'client backend'`
    expect(row?.count).toBeLessThanOrEqual(SHARED)
    expect(await backUp(pooled, join(folder, 'backup'))).toBeGreaterThan(80)
    await sql.end()
    await runtime.close()
  },
)

test('without the parameter PgBouncer refuses what a connection is set to', async () => {
  const sql = connect({ url }, { max: 1 })
  await expect(sql`select 1`).rejects.toThrow('unsupported startup parameter')
  await sql.end({ timeout: 1 })
})
