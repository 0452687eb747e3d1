import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { archive } from '../../../packages/cli/src/commands/operator/archive.js'
import { type ArchiveOptions, archiveSessions } from '../../../packages/server/src/archives/archive-sessions.js'
import { nextBatch } from '../../../packages/server/src/archives/next-batch.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { proves } from '../../support/proves.js'
import { rowsOfSessions, whereSessionsAre } from '../../support/runtime/archived-sessions.js'
import { openSession } from '../../support/runtime/governed-session.js'
import type { Api } from '../../support/runtime/runtime.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { storeAgedCopies } from '../../support/volume/aged-copies.js'

/** What one session or tenant does while sessions are archived keeps nobody else's in the database. */
const { runtime, owner, api } = await withOwnedRuntime()
const tenantId = (await owner.call('me', {})).body.user.tenant_id
const folder = await mkdtemp(join(tmpdir(), 'countersign-apart-'))
const operator = connect({ url: runtime.databaseUrl, statementTimeoutMs: 0 }, { max: 1 })
afterAll(async () => {
  await operator.end({ timeout: 5 })
  await rm(folder, { recursive: true, force: true })
})

const what = (given: Partial<ArchiveOptions> = {}): ArchiveOptions => ({
  ...{ tenantId, before: new Date('2021-01-01T00:00:00Z'), idle: false, folder },
  ...given,
})

/** Old sessions of a tenant, with content. */
async function oldSessions(
  ids: readonly string[],
  tenant: { api: Api; tenantId: string } = { api, tenantId },
  compiledHash: ((id: string) => string) | null = null,
) {
  const original = `original-of-${ids[0]}`
  const session = await openSession(tenant.api, { session_id: original, capture_level: 'full' })
  await session.turn([{ name: 'lookup_order', args: { order_id: 'A-1' } }])
  await tenant.api.endSession({ params: { session_id: original }, body: { fence: session.fence } })
  await storeAgedCopies(runtime.sql, { tenantId: tenant.tenantId, original, ids, compiledHash })
}

const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${100 + at}`)

async function run(to = folder) {
  const [printed, noted]: [string[], string[]] = [[], []]
  const args = ['--before', '2021-01-01', '--to', to, '--database-url', runtime.databaseUrl]
  const terminal = { print: (line: string) => printed.push(line), note: (line: string) => noted.push(line) }
  try {
    return { code: await archive.run(args, terminal), printed, noted }
  } catch (error) {
    return { code: (error as Error).message, printed, noted }
  }
}

const stored = async (ids: readonly string[]) =>
  (await runtime.sql`select 1 from sessions where session_id = any (${[...ids]}::text[])`).length

proves('archive.changing-stays', async () => {
  const ids = idsOf('calm', 30)
  const restless = ['calm-104', 'calm-117']
  await oldSessions(ids)
  const before = await rowsOfSessions(
    runtime.sql,
    ids.filter((id) => !restless.includes(id)),
  )
  const onWritten = async () => {
    await runtime.sql`update session_heads set revision = revision || '+' where session_id = any (${restless}::text[])`
  }
  const done = await archiveSessions(operator, what({ onWritten }))
  expect(done).toMatchObject({ sessions: 28, workflows: 0 })
  expect(done.kept).toEqual(restless.map((id) => ({ id, why: expect.stringMatching(/^it keeps changing .* later$/) })))
  expect(await whereSessionsAre(runtime.sql, before, folder)).toMatchObject({ stored: [] })
  expect(await stored(restless)).toBe(2)
  expect(await archiveSessions(operator, what())).toMatchObject({ sessions: 2, files: 1, kept: [] })
})

proves('archive.erased-again', async () => {
  const ids = idsOf('erased', 3)
  await oldSessions(ids)
  const erase = async () =>
    expect((await owner.call('eraseContent', { params: { session_id: 'erased-101' } })).status).toBe(200)
  const revision = async () =>
    (await runtime.sql`select revision from session_heads where session_id = 'erased-101'`)[0]
  const first = await revision()
  await erase()
  const second = await revision()
  expect(second).not.toEqual(first)
  await erase()
  expect(await revision()).toEqual(second)
  let files = 0
  const onWritten = async () => {
    files += 1
    await erase()
  }
  expect(await archiveSessions(operator, what({ onWritten }))).toMatchObject({ sessions: 3, files: 1, kept: [] })
  expect(files).toBe(1)
})

proves('archive.tenants-apart', async () => {
  const { tenantId: otherId, key } = await runtime.createTenant()
  const [mine, theirs] = [idsOf('mine', 2), idsOf('theirs', 4)]
  await oldSessions(mine)
  await oldSessions(theirs, { api: runtime.api(key), tenantId: otherId })
  const before = await rowsOfSessions(runtime.sql, theirs)
  const [kept] = await runtime.sql<{ facts: string }[]>`select facts from session_heads where session_id = 'mine-101'`
  await runtime.sql`update session_heads set facts = 'no JSON' where session_id = 'mine-101'`
  const broken = await run()
  expect(broken).toMatchObject({ code: 1, printed: ['archived 4 sessions in 1 files'] })
  expect(broken.noted.at(-1)).toMatch(
    new RegExp(`^tenant ${tenantId} failed: .*json.*; 0 of its sessions were archived, the others stay$`),
  )
  expect(await whereSessionsAre(runtime.sql, before, folder)).toMatchObject({ stored: [] })
  expect(await stored(mine)).toBe(2)
  await runtime.sql`update session_heads set facts = ${kept?.facts ?? ''} where session_id = 'mine-101'`
  // What no tenant can help ends the run.
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  expect(await run(file)).toMatchObject({ code: expect.stringContaining('cannot be created'), printed: [], noted: [] })
  expect(await stored(mine)).toBe(2)
  // Said of whoever was before, too.
  await oldSessions(idsOf('more', 3), { api: runtime.api(key), tenantId: otherId })
  const apart = join(folder, 'apart')
  await mkdir(apart)
  await writeFile(join(apart, otherId), '')
  const ended = await run(apart)
  expect(ended).toMatchObject({
    code: expect.stringContaining('cannot be created'),
    printed: ['archived 2 sessions in 1 files'],
  })
  expect(ended.noted.slice(-2)).toEqual([
    expect.stringMatching(new RegExp(`^tenant ${otherId} failed: .*; 0 of its sessions were archived`)),
    'the run ended there: tenants after it were not looked at',
  ])
  expect([await stored(mine), await stored(idsOf('more', 3))]).toEqual([0, 3])
  expect(await run()).toMatchObject({ code: 0, printed: ['archived 3 sessions in 1 files'] })
})

proves('archive.large-plans', 'a file holds 8 MB of plans, each of which counts once', async () => {
  const { tenantId: planned, key } = await runtime.createTenant()
  const tenant = { api: runtime.api(key), tenantId: planned }
  const [own, shared] = [idsOf('own', 5), idsOf('shared', 4)]
  await oldSessions(own, tenant, (id) => `plan of ${id}`)
  await oldSessions(shared, tenant, () => 'plan of own-104')
  await runtime.sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    select ${planned}, 'plan of ' || id, json_build_object('text', repeat('x', 3000000)) from unnest(${own}::text[]) id`
  const batches: (readonly string[])[] = []
  const planBytes = new Map<string, number>()
  for (let after: Awaited<ReturnType<typeof nextBatch>> = null; ; ) {
    const bounds = { after: after?.last ?? null, skipped: new Set<string>(), most: 200, planBytes }
    after = await nextBatch(operator, what({ tenantId: planned }), bounds)
    if (after === null) break
    batches.push(after.units)
  }
  expect(batches).toEqual([own.slice(0, 2), own.slice(2, 4), [...own.slice(4), ...shared]])
})
