import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { archive } from '../../../packages/cli/src/commands/operator/archive.js'
import { verify } from '../../../packages/cli/src/commands/verify.js'
import { archiveLines, readArchive, writeDraft } from '../../../packages/server/src/archives/archive-file.js'
import { type ArchiveOptions, archiveSessions } from '../../../packages/server/src/archives/archive-sessions.js'
import { checkArchive } from '../../../packages/server/src/archives/check-archive.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { disableTimeouts } from '../../../packages/server/src/postgres/database.js'
import { signHeads } from '../../../packages/server/src/process/jobs/sign-heads.js'
import { ARCHIVED_TABLES, readArchivedRows } from '../../../packages/server/src/store/archives/archived-rows.js'
import { proves } from '../../support/proves.js'
import { type GovernedSession, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { join as joinWorkflow, offer, openWorkflow, PAYMENTS, pay, settle } from '../../support/runtime/workflow.js'

const { runtime, owner, key, api } = await withOwnedRuntime()
const [{ parts }] = runtime.instances
const tenantId = (await owner.call('me', {})).body.user.tenant_id
const folder = await mkdtemp(join(tmpdir(), 'countersign-archive-'))
const operators = [0, 1].map(() => connect({ url: runtime.databaseUrl, statementTimeoutMs: 0 }, { max: 1 }))
const [operator, other] = operators as [(typeof operators)[0], (typeof operators)[0]]
afterAll(async () => {
  for (const sql of operators) await sql.end({ timeout: 5 })
  await rm(folder, { recursive: true, force: true })
})

const BEFORE = new Date('2021-01-01T00:00:00Z')
const what = (given: Partial<ArchiveOptions> = {}): ArchiveOptions => ({
  ...{ tenantId, before: BEFORE, idle: false, folder },
  ...given,
})
const sign = () => runtime.sql.begin((tx) => signHeads(tx, parts, parts.ledgerSigner!))

/** As if nobody had touched them for years. Their events keep their times, which are hashed. */
async function age(...ids: string[]): Promise<void> {
  await runtime.sql`
    update session_heads set lease_until = '2020-01-01', facts = regexp_replace(facts, '"updatedAt":"[^"]*"', '"updatedAt":"2020-01-01T00:00:00.000Z"')
    where session_id = any (${ids}::text[])`
  await runtime.sql`update sessions set created_at = '2020-01-01T00:00:00.123456Z' where session_id = any (${ids}::text[])`
}

/** With a stored argument, an answered call and a blocked one unless said; ended unless said, and old. */
async function ended(session_id: string, { acts = true, ends = true } = {}): Promise<GovernedSession> {
  const session = await openSession(api, { session_id, capture_level: 'full', labels: ['vip'], agent: 'archivist' })
  if (acts) await session.turn([{ name: 'lookup_order', args: { order_id: 'A-1 \u2028 ünïcödé' } }])
  if (acts) await session.turn([{ name: 'delete_everything', args: {} }])
  if (ends) await api.endSession({ params: { session_id }, body: { fence: session.fence } })
  await age(session_id)
  return session
}

const STAYS = ['archived_ledgers', 'captures', 'erased_sessions', 'findable_ids', 'used_tokens']
const tables = async () =>
  runtime.sql<{ name: string; ofWorkflow: boolean }[]>`
    select c.relname as name, bool_and(a.attname = 'workflow_id') as of_workflow
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname in ('session_id', 'workflow_id')
    group by c.relname order by c.relname`

/** Every row of these sessions and workflows, wherever it is, as PostgreSQL writes it. */
async function rowsOf(...ids: string[]): Promise<string[]> {
  const all = [
    ...(await tables()).filter(({ name }) => !STAYS.includes(name)),
    { name: 'signed_heads', ofWorkflow: false },
  ]
  const found = await Promise.all(
    all.map(async ({ name, ofWorkflow }) => {
      const column = name === 'signed_heads' ? 'id' : ofWorkflow ? 'workflow_id' : 'session_id'
      const rows = await runtime.sql<{ row: string }[]>`
        select to_json(t)::text as row from ${runtime.sql(name)} t where ${runtime.sql(column)} = any (${ids}::text[])`
      return rows.map(({ row }) => `${name} ${row}`)
    }),
  )
  return found.flat().sort()
}
/** Every row in a file but the plans, which stay in the database. */
async function rowsInFile(file: string): Promise<string[]> {
  const found: string[] = []
  await readArchive(file, async ({ rows }) => {
    for await (const { table, json } of rows) if (table !== 'plans') found.push(`${table} ${json}`)
  })
  return found.sort()
}
const isStored = async (id: string) => (await rowsOf(id)).length > 0
const archives = async () =>
  (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.gz')).map((name) => join(folder, name))
const drafts = async () => (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.draft'))

/** Archives all that is old, which is one file. */
async function archiveOne(given: Partial<ArchiveOptions> = {}): Promise<string> {
  let written = ''
  const onWritten = (file: string) => {
    written = file
  }
  expect(await archiveSessions(operator, what({ onWritten, ...given }))).toMatchObject({ files: 1, kept: [] })
  return written
}

async function run(command: typeof verify, ...args: string[]) {
  const said: string[] = []
  const code = await command.run(args, { print: (line) => said.push(line), note: (line) => said.push(line) })
  return { code, said: said.join('\n') }
}
const database = ['--database-url', runtime.databaseUrl]

proves('archive.round-trip', async () => {
  await ended('done')
  await ended('killed', { ends: false })
  await api.killSession({ params: { session_id: 'killed' }, body: {} })
  await ended('asleep', { acts: false, ends: false })
  await ended('young', { acts: false })
  await openSession(api, { session_id: 'running' })
  await sign()
  await age('killed')
  await runtime.sql`update session_heads set facts = regexp_replace(facts, '2020-01-01', '2021-01-01') where session_id = 'young'`
  const before = await rowsOf('done', 'killed')
  expect(new Set(before.map((row) => row.split(' ')[0]))).toEqual(
    new Set([
      ...['sessions', 'session_heads', 'session_events', 'signed_heads', 'receipts', 'content', 'session_facets'],
      'blocked_proposals',
    ]),
  )
  const args = ['--before', '2021-01-01', '--to', folder, '--tenant', tenantId, ...database]
  expect(await run(archive, ...args)).toEqual({
    code: 0,
    said: expect.stringMatching(/archived 2 sessions in 1 files$/),
  })
  const [file = ''] = await archives()
  expect(file).toMatch(new RegExp(`^${join(folder, tenantId)}/[0-9a-f]{32}\\.archive\\.gz$`))
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await rowsOf('done', 'killed')).toEqual([])
  for (const id of ['asleep', 'young', 'running']) expect(await isStored(id)).toBe(true)
  const keys = join(folder, 'keys.json')
  await writeFile(keys, JSON.stringify({ keys: parts.ledgerSigner?.keys }))
  expect(await run(verify, file, '--keys', keys)).toEqual({
    code: 0,
    said: expect.stringMatching(
      /^done: \d+ events are intact.*\nkilled: \d+ events are intact.*\n2 of 2 ledgers of tenant/,
    ),
  })
  expect(await rowsInFile(file)).toEqual(before)
  const trail = (await owner.call('listAudit', {})).body.items.map(({ action, actor, detail }) => ({
    action,
    actor,
    detail,
  }))
  expect(trail).toEqual(
    expect.arrayContaining([
      { action: 'sessions_archived', actor: 'operator', detail: expect.stringContaining(`2 sessions: ${tenantId}/`) },
    ]),
  )
  // With those that nobody ended: all but the two that are young.
  expect(await archiveSessions(operator, what({ idle: true }))).toMatchObject({ sessions: 1, files: 1 })
  expect(await run(archive, ...args)).toEqual({ code: 0, said: 'nothing to archive' })
})

proves('archive.every-table', async () => {
  const archived = new Set(ARCHIVED_TABLES.map(({ name }) => name))
  const forgotten = (await tables()).filter(({ name }) => !archived.has(name) && !STAYS.includes(name))
  expect(forgotten).toEqual([])
})

proves('archive.workflow-whole', async () => {
  const root = await openWorkflow(api, { session_id: 'giver' })
  const { workflowId } = root
  const { handoff_id: handoffId } = await offer(root, { tools: ['pay'] })
  const child = await joinWorkflow(api, { workflowId, handoffId, session_id: 'taker' })
  await child.turn([pay('7')])
  await settle('completeHandoff', child, { workflowId, handoffId })
  await api.endSession({ params: { session_id: 'giver' }, body: { fence: root.fence } })
  await age('giver', 'taker')
  expect(await archiveSessions(operator, what())).toMatchObject({ sessions: 0 })
  await api.endSession({ params: { session_id: 'taker' }, body: { fence: child.fence } })
  await sign()
  await age('giver', 'taker')
  const before = await rowsOf('giver', 'taker', workflowId)
  const file = await archiveOne()
  expect(await rowsOf('giver', 'taker', workflowId)).toEqual([])
  const archived = await api.loadWorkflow({ params: { workflow_id: workflowId } })
  expect(archived.problem).toMatchObject({
    code: 'NOT_FOUND',
    detail: expect.stringMatching(/^this workflow was archived on/),
  })
  const joining = {
    body: {
      session_id: 'late',
      holder_id: 'h',
      ...child.plan,
      workflow: { workflow_id: workflowId, role: 'researcher', definition: PAYMENTS },
    },
  }
  expect((await api.createSession(joining)).problem).toMatchObject({
    code: 'NOT_FOUND',
    detail: archived.problem?.detail,
  })
  expect(await run(verify, file)).toMatchObject({
    code: 0,
    said: expect.stringContaining(`${workflowId}: 8 events are intact`),
  })
  expect(await rowsInFile(file)).toEqual(before)
})

proves('archive.nothing-lost', async () => {
  await ended('lost', { acts: false })
  const before = await rowsOf('lost')
  const crash = () => {
    throw new Error('the power is gone')
  }
  const had = await archives()
  await expect(archiveSessions(operator, what({ onWritten: crash }))).rejects.toThrow('the power is gone')
  expect(await rowsOf('lost')).toEqual(before)
  const left = (await archives()).filter((file) => !had.includes(file))
  expect(await archiveOne()).toBe(left[0])
  expect([left.length, await drafts()]).toEqual([1, []])
  expect(await rowsInFile(left[0] ?? '')).toEqual(before)
})

proves('archive.nothing-lost', 'a folder that takes no file: nothing is removed', async () => {
  await ended('kept', { acts: false })
  const before = await rowsOf('kept')
  const blocked = join(folder, 'blocked')
  await writeFile(blocked, '')
  await expect(archiveSessions(operator, what({ folder: blocked }))).rejects.toThrow(
    /blocked.* cannot be created .*--to/,
  )
  expect(await rowsOf('kept')).toEqual(before)
  await archiveOne()
})

const FULL = '/dev/full'
proves(
  'archive.full-disk',
  async () => {
    await ended('large', { acts: false })
    // More than is read at once, and more than is compressed before anything is written.
    const noise = randomBytes(60_000).toString('base64')
    await runtime.sql`
      insert into content (tenant_id, session_id, kind, ref, body, created_at)
      select ${tenantId}, 'large', 'response', n::text, to_json(${noise}::text || n), now() from generate_series(1, 20) n`
    const before = await rowsOf('large')
    const draft = join(folder, 'no-room.draft')
    await symlink(FULL, draft)
    const batch = { tenantId, sessionIds: ['large'], workflowIds: [] }
    const writing = operator.begin(async (tx) => {
      await disableTimeouts(tx)
      await writeDraft(draft, archiveLines({ migration: 1, tenantId }, readArchivedRows(tx, batch)))
    })
    await expect(writing).rejects.toThrow(/no-room\.draft cannot be written: the disk is full; nothing was removed/)
    expect([await rowsOf('large'), await drafts()]).toEqual([before, []])
    await archiveOne()
  },
  { skip: !existsSync(FULL) },
)

proves('archive.unchanged-rows-only', async () => {
  const session = await ended('touched', { acts: false })
  await ended('erased')
  await ended('beside')
  const had = await archives()
  let round = 0
  const onWritten = async () => {
    round += 1
    if (round === 1) {
      const recovered = await api.recoverSession({ params: { session_id: 'touched' }, body: { holder_id: 'h2' } })
      expect(recovered.status).toBe(200)
    }
    if (round === 2) expect((await owner.call('eraseContent', { params: { session_id: 'erased' } })).status).toBe(200)
  }
  expect(await archiveSessions(operator, what({ onWritten }))).toMatchObject({ sessions: 2, files: 1 })
  expect([round, await isStored('touched'), await isStored('erased'), await isStored('beside')]).toEqual([
    3,
    true,
    false,
    false,
  ])
  expect((await session.load()).session.fence).toBe(2)
  const written = (await archives()).filter((file) => !had.includes(file))
  expect(written).toHaveLength(1)
  const text = gunzipSync(await readFile(written[0] ?? '')).toString()
  expect([text.includes('touched'), /\["content",\{[^\n]*"session_id":"erased"/.test(text)]).toEqual([false, false])
  expect(/\["content",\{[^\n]*"session_id":"beside"/.test(text)).toBe(true)
})

proves('archive.leftover-replaced', async () => {
  await ended('left')
  await ended('left-beside', { acts: false })
  const inFolder = async () => (await readdir(join(folder, tenantId)).catch(() => [])).sort()
  const had = await inFolder()
  const stop = () => Promise.reject(new Error('killed'))
  await expect(archiveSessions(operator, what({ onWritten: stop }))).rejects.toThrow('killed')
  const [leftover = '', ...marks] = (await inFolder()).filter((name) => !had.includes(name))
  expect(marks).toEqual([`${leftover}.unfinished`])
  const text = async (name: string) => gunzipSync(await readFile(join(folder, tenantId, name))).toString()
  expect(await text(leftover)).toMatch(/\["content",\{[^\n]*"session_id":"left"/)
  expect((await owner.call('eraseContent', { params: { session_id: 'left' } })).status).toBe(200)
  // Nothing is old enough: the sessions are still in the database, and the file waits.
  await archiveSessions(operator, what({ before: new Date('2019-01-01T00:00:00Z') }))
  expect(await inFolder()).toEqual([...had, leftover, ...marks].sort())
  await archiveOne()
  const left = (await inFolder()).filter((name) => !had.includes(name))
  expect([left.length, left.includes(leftover)]).toEqual([1, false])
  expect(await text(left[0] ?? '')).not.toMatch(/\["content",\{[^\n]*"session_id":"left"/)
})

proves('archive.nothing-lost', 'a mark beside a file that is needed goes, and the file stays', async () => {
  await ended('marked', { acts: false })
  const file = await archiveOne()
  await writeFile(`${file}.unfinished`, '')
  await archiveSessions(operator, what())
  expect([existsSync(file), existsSync(`${file}.unfinished`)]).toEqual([true, false])
})

proves('archive.two-runs', async () => {
  for (const id of ['t-1', 't-2', 't-3']) await ended(id, { acts: false })
  const live = await openSession(api, { session_id: 'live' })
  const had = await archives()
  // Both have their file before either removes anything; meanwhile the service serves.
  let arrived = 0
  let go: () => void = () => {}
  const both = new Promise<void>((done) => {
    go = done
  })
  const onWritten = async () => {
    arrived += 1
    if (arrived === 2) {
      expect(await live.turn([{ name: 'lookup_order', args: { order_id: '1' } }])).not.toBeNull()
      go()
    }
    await both
  }
  const runs = await Promise.all([operator, other].map((sql) => archiveSessions(sql, what({ onWritten }))))
  expect(runs.map(({ sessions }) => sessions).sort()).toEqual([0, 3])
  const written = (await archives()).filter((file) => !had.includes(file))
  expect(written).toHaveLength(1)
  const { ledgers } = await checkArchive(written[0] ?? '')
  expect(ledgers.map(({ broken }) => broken)).toEqual([null, null, null])
})

proves('archive.broken-stays', async () => {
  await ended('sound', { acts: false })
  await ended('forged', { acts: false })
  await runtime.sql`update session_events set body = replace(body, 'vip', 'vop') where session_id = 'forged' and seq = 1`
  const args = ['--before', '2021-01-01', '--to', folder, ...database]
  expect(await run(archive, ...args)).toEqual({
    code: 1,
    said: expect.stringMatching(
      /archived 1 sessions in 1 files\nforged of tenant .* stays: its ledger does not hold \(event 1: /,
    ),
  })
  expect([await isStored('forged'), await isStored('sound'), await drafts()]).toEqual([true, false, []])
  await runtime.sql`delete from sessions where session_id = 'forged'`
  await runtime.sql`delete from session_heads where session_id = 'forged'`
})

proves('archive.refused', async () => {
  await ended('beside-refused', { acts: false })
  await archiveOne()
  await ended('refused')
  const file = await archiveOne()
  const text = gunzipSync(await readFile(file)).toString()
  const copy = async (name: string, bytes: string | Buffer) => {
    const path = join(folder, `${name}.copy`)
    await writeFile(path, typeof bytes === 'string' ? gzipSync(bytes) : bytes)
    return path
  }
  /** With a digest of its own, as somebody who knows the format would write it. */
  const forge = async (name: string, edit: (text: string) => string) => {
    const { createHash } = await import('node:crypto')
    const lines = edit(text).trimEnd().split('\n').slice(0, -1)
    const sha256 = createHash('sha256')
      .update(`${lines.join('\n')}\n`)
      .digest('hex')
    return copy(name, `${lines.join('\n')}\n${JSON.stringify({ end: { rows: lines.length - 1, sha256 } })}\n`)
  }
  const packed = await readFile(file)
  const refused: readonly [string, RegExp][] = [
    [await copy('edited', text.replace('A-1', 'B-2')), /was changed after it was written: its digest does not match/],
    [await copy('longer', `${text}["sessions",{}]\n`), /it goes on after its end/],
    [await copy('cut', text.slice(0, text.lastIndexOf('{"end"'))), /is truncated: its end is missing/],
    [await copy('torn', packed.subarray(0, packed.length - 40)), /cannot be unpacked .*truncated/],
    [
      await forge('mixed', (old) =>
        old.replace(`["content",{"tenant_id":"${tenantId}"`, '["content",{"tenant_id":"x"'),
      ),
      /a row of another tenant/,
    ],
    [await forge('table', (old) => old.replace('["content",', '["users",')), /a line of no table/],
  ]
  for (const [path, why] of refused) {
    await expect(checkArchive(path)).rejects.toThrow(why)
  }
  for (const name of ['edited', 'torn', 'cut'])
    expect(await run(verify, join(folder, `${name}.copy`))).toMatchObject({
      code: 1,
      said: expect.stringContaining('broken'),
    })
  expect(await run(verify, file, join(folder, 'edited.copy'))).toEqual({
    code: 1,
    said: expect.stringMatching(
      /\.gz: 1 of 1 ledgers .*\nbroken: .*edited\.copy was changed .*\n1 of 2 files are intact/,
    ),
  })
  expect(await run(verify, folder)).toMatchObject({
    code: 0,
    said: expect.stringMatching(/(\d+) of \1 files are intact/),
  })
  await expect(archiveSessions(operator, what({ before: new Date() }))).rejects.toThrow(/of the last 31 days stay/)
})

proves('archive.answer', async () => {
  await ended('asked', { acts: false })
  await archiveOne()
  const says = {
    ...{ code: 'NOT_FOUND', archived_at: expect.any(String) },
    detail: expect.stringMatching(
      /^this session was archived on \d{4}-\d\d-\d\d: its ledger is in the file \S+, which the operator has/,
    ),
  }
  const params = { session_id: 'asked' }
  expect((await api.loadSession({ params })).problem).toMatchObject(says)
  expect((await api.exportEvents({ params })).problem).toMatchObject(says)
  expect((await owner.call('loadProof', { params })).body).toMatchObject(says)
  expect((await api.killSession({ params, body: {} })).problem).toMatchObject(says)
  await expect(openSession(api, { session_id: 'asked' })).rejects.toThrow(/409.*SESSION_EXISTS.*archived on/)
  const url = await runtime.instances[0].listen()
  const reading = verify.run(['asked', '--url', url, '--key', key], { print: () => {}, note: () => {} })
  await expect(reading).rejects.toThrow(/archived on .* its ledger is in the file \S+, which .* checks$/)
  const stranger = await runtime.api(runtime.key).loadSession({ params })
  expect(stranger.problem).toEqual(expect.not.objectContaining({ archived_at: expect.anything() }))
})

proves('archive.signed-heads', async () => {
  await ended('signed', { acts: false })
  await sign()
  await archiveOne()
  await runtime.sql`update ledger_signing set last_tenant = '', last_id = ''`
  for (let round = 0; round < 2; round++) await sign()
  expect(await runtime.sql`select 1 from signed_heads where problem is not null or id = 'signed'`).toEqual([])
})

test('tenants never share a file, and a name leads to no other folder', async () => {
  const tricky = '../../up'
  await runtime.sql`
    insert into tenants (tenant_id, name, quota, verified_at) values (${tricky}, 'tricky', 'scale', now())`
  await ended('mine', { acts: false })
  await ended('theirs', { acts: false })
  for (const table of ['sessions', 'session_heads', 'session_events', 'receipts', 'content'])
    await runtime.sql`update ${runtime.sql(table)} set tenant_id = ${tricky} where session_id = 'theirs'`
  await runtime.sql`insert into plans select ${tricky} as tenant_id, compiled_hash, compiled_session from plans where tenant_id = ${tenantId} on conflict do nothing`
  const had = await archives()
  expect(await run(archive, '--before', '2021-01-01', '--to', folder, ...database)).toMatchObject({ code: 0 })
  const written = (await archives()).filter((file) => !had.includes(file))
  const texts = await Promise.all(written.map(async (file) => gunzipSync(await readFile(file)).toString()))
  expect(written.map((file) => file.slice(folder.length + 1).split('/')[0]).sort()).toEqual(
    [tenantId, `tenant-${Buffer.from(tricky).toString('hex')}`].sort(),
  )
  expect(texts.filter((text) => text.includes('"mine"') && text.includes('"theirs"'))).toEqual([])
})
