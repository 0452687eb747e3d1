import { randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { verifyExport } from '../../../packages/engine/src/index.js'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { backUp, restoreBackup } from '../../../packages/server/src/process/backup.js'
import { createTenant, distribute } from '../../../packages/server/src/process/operator.js'
import { createRuntime } from '../../../packages/server/src/process/start-server.js'
import { MIGRATIONS, migrate } from '../../../packages/server/src/schema/migrate.js'
import { CITUS_URL, createCitusDatabase, dropDatabase, machinesOf, NO_CITUS } from '../../support/postgres/citus.js'
import { startTcpProxy, type TcpProxy } from '../../support/postgres/tcp-proxy.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { type GovernedSession, openSession } from '../../support/runtime/governed-session.js'
import { isolateHere } from '../../support/runtime/isolate-here.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { type Api, createApi } from '../../support/runtime/runtime.js'

if (CITUS_URL === undefined) console.warn(NO_CITUS)

/** The service on a divided database of its own, whose workers it reaches through proxies. */
describe.skipIf(CITUS_URL === undefined)('on Citus', () => {
  let machines: string[]
  let proxies: TcpProxy[]
  let databases: string[] = []
  let url: string
  let sql: Sql
  let runtime: ReturnType<typeof createRuntime>
  /** What the service sent. */
  const sent = new Map<string, unknown[]>()

  const newDatabase = async (through: readonly string[] = machines) => {
    const name = `citus_${randomBytes(6).toString('hex')}`
    databases.push(name)
    return createCitusDatabase(machines, name, through)
  }

  beforeAll(async () => {
    machines = await machinesOf(CITUS_URL ?? '')
    proxies = await Promise.all(machines.slice(1).map((machine) => startTcpProxy(machine)))
    url = await newDatabase([machines[0] ?? '', ...proxies.map((proxy) => proxy.url)])
    await distribute(readConfig({ DATABASE_URL: url }), () => {})
    sql = connect({ url }, { max: 2 })
    const config = readConfig({ DATABASE_URL: url, COUNTERSIGN_DEMO: 'off', COUNTERSIGN_LOG_LEVEL: 'silent' })
    runtime = createRuntime(config, url, { isolate: isolateHere })
  })
  afterAll(async () => {
    await runtime?.app.close()
    await runtime?.close()
    await sql?.end({ timeout: 5 })
    for (const proxy of proxies ?? []) await proxy.close()
    for (const name of databases) await dropDatabase(machines, name)
    databases = []
  })

  const newTenant = async (): Promise<{ tenantId: string; api: Api }> => {
    const { tenantId, key } = await createTenant('tenant', 'scale', readConfig({ DATABASE_URL: url }))
    return { tenantId, api: createApi(appFetch(runtime.app), key) }
  }

  /** Which worker has the rows of a tenant. */
  const placeOf = async (tenantId: string): Promise<number> => {
    const [row] = await sql<{ port: number }[]>`
      select nodeport as port from pg_dist_shard_placement
      where shardid = get_shard_id_for_distribution_column('tenants', ${tenantId}::text)`
    return proxies.findIndex((proxy) => Number(new URL(proxy.url).port) === row?.port)
  }

  /** A tenant for each worker. */
  const onePerWorker = async () => {
    const found = new Map<number, Awaited<ReturnType<typeof newTenant>>>()
    for (let tries = 0; found.size < proxies.length && tries < 50; tries++) {
      const tenant = await newTenant()
      found.set(await placeOf(tenant.tenantId), tenant)
    }
    return [...found].toSorted(([a], [b]) => a - b).map(([, tenant]) => tenant)
  }

  const turn = (session: GovernedSession) => session.turn([{ name: 'lookup_order', args: { order_id: 'A-1' } }])

  proves('scale.citus.distribute', async () => {
    const steps: string[] = []
    await distribute(readConfig({ DATABASE_URL: url }), (step) => steps.push(step))
    expect(steps).toEqual([])
    const [placed] = await sql<{ divided: number; copied: number }[]>`
      select count(*) filter (where partmethod = 'h')::int as divided, count(*) filter (where repmodel = 't')::int as copied
      from pg_dist_partition`
    expect(placed?.copied).toBe(1)
    expect(placed?.divided).toBeGreaterThan(45)
    // One with data keeps it, and a later migration places what it makes.
    const plain = await newDatabase()
    await migrate(plain)
    const config = readConfig({ DATABASE_URL: plain })
    const { tenantId } = await createTenant('before', 'team', config)
    await distribute(config, (step) => steps.push(step))
    expect(steps).toContain('tenants: by tenant_id')
    const folder = await mkdtemp(join(tmpdir(), 'countersign-later-'))
    await writeFile(
      join(folder, '0999_later.sql'),
      `create table later (tenant_id text not null references tenants, id text not null, primary key (tenant_id, id));
       create index if not exists later_by_id on later (tenant_id, id);
       alter table runs add column later int;`,
    )
    const { cp } = await import('node:fs/promises')
    const all = join(folder, 'all', 'migrations')
    await cp(MIGRATIONS, all, { recursive: true })
    await cp(join(MIGRATIONS, '..', 'sql'), join(folder, 'all', 'sql'), { recursive: true }).catch(() => {})
    await cp(join(folder, '0999_later.sql'), join(all, '0999_later.sql'))
    expect(await migrate(plain, all)).toEqual([999])
    const other = connect({ url: plain }, { max: 1 })
    const rows = await other`select 1 from tenants where tenant_id = ${tenantId}`
    const later =
      await other`select 1 from pg_dist_partition where logicalrelid = 'later'::regclass and partmethod = 'h'`
    await other.end()
    expect([rows.length, later.length]).toEqual([1, 1])
  })

  proves('scale.citus.pushed-down', async () => {
    const { api } = await newTenant()
    const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
    Object.assign(pg.Client.prototype, {
      query(this: pg.Client, ...given: unknown[]) {
        const [first] = given as [{ text?: string; values?: unknown[] }]
        const name = /^select (?:\* from )?(\w+)\(p_(?:tenant|owner) =>/.exec(first?.text ?? '')?.[1]
        if (name !== undefined) sent.set(first?.text ?? '', first?.values ?? [])
        return Reflect.apply(query, this, given)
      },
    })
    const session = await openSession(api)
    for (let n = 0; n < 3; n++) await turn(session)
    await api.killSession({ params: { session_id: session.sessionId }, body: {} })
    Object.assign(pg.Client.prototype, { query })
    expect(sent.size).toBeGreaterThanOrEqual(4)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const [at, [text, values]] of [...sent].entries()) {
      const name = `call_${at}`
      // The rows were written since, so that the call does nothing; so often that PostgreSQL might plan it for all values.
      for (let n = 0; n < 8; n++) await client.query({ name, text, values }).catch(() => {})
      const literals = values.map((value) => (value === null ? 'null' : pg.escapeLiteral(written(value))))
      const plan = await client.query<{ 'QUERY PLAN': string }>(`explain execute ${name}(${literals.join(', ')})`)
      const lines = plan.rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(lines, text).toContain('Custom Scan (Citus Adaptive)')
      expect(lines, text).toContain('Task Count: 1')
    }
    await client.end()
  })

  proves('scale.citus.worker-lost', async () => {
    const [first, second] = await onePerWorker()
    if (first === undefined || second === undefined) throw new Error('two workers have no two tenants')
    const [lost, kept] = await Promise.all([openSession(first.api), openSession(second.api)])
    await Promise.all([turn(lost), turn(kept)])
    await proxies[0]?.cut()
    const answer = await lost.preflight()
    expect([answer.status, answer.problem.code]).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    for (let n = 0; n < 5; n++) await turn(kept)
    await proxies[0]?.heal()
    await expect.poll(async () => (await lost.preflight()).status, { timeout: 20_000 }).toBe(200)
    await turn(lost)
    for (const { api, sessionId } of [lost, kept])
      expect(verifyExport(await exportOf(api, sessionId))).toMatchObject({ ok: true })
  })

  proves('scale.citus.isolated-tenant', async () => {
    const { tenantId, api } = await newTenant()
    const session = await openSession(api)
    let done = 0
    let isOver = false
    const work = (async () => {
      while (!isOver) {
        await turn(session)
        done += 1
      }
    })()
    await expect.poll(() => done).toBeGreaterThan(2)
    const direct = connect({ url, statementTimeoutMs: 60_000 }, { max: 1 })
    await direct`select isolate_tenant_to_new_shard('tenants', ${tenantId}::text, 'CASCADE', 'block_writes')`
    await direct.end()
    const before = done
    await expect.poll(() => done, { timeout: 20_000 }).toBeGreaterThan(before + 2)
    isOver = true
    await work
    const [events] = await sql<{ count: number }[]>`
      select count(*)::int as count from receipts where tenant_id = ${tenantId}`
    expect(events?.count).toBe(done)
  })

  proves('scale.citus.backup', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-citus-'))
    const file = join(folder, 'backup.gz')
    const rows = await backUp(url, file)
    const target = await newDatabase()
    await distribute(readConfig({ DATABASE_URL: target }), () => {})
    expect(await restoreBackup(file, target, { keepAccess: true })).toBe(rows)
    const restored = connect({ url: target }, { max: 1 })
    for (const table of ['sessions', 'session_events', 'receipts', 'directory', 'api_keys']) {
      // When a key was last used is written some time later.
      const all = (from: Sql) =>
        from`select (to_jsonb(t) - 'last_used_at')::text as row from ${from(table)} t order by 1`
      expect(await all(restored), table).toEqual(await all(sql))
    }
    await restored.end()
  })
})

const written = (value: unknown): string =>
  Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value instanceof Date ? value.toISOString() : String(value)
