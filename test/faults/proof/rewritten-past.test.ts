import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyEvent, chainEvent, foldEvents, preparePlan, type SessionState, sealDigest } from '@countersign/engine'
import type { ChainedEvent, LedgerHead, SessionEvent } from '@countersign/protocol'
import { afterAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../../packages/cli/src/commands.js'
import { signHeads } from '../../../packages/server/src/process/jobs/sign-heads.js'
import { listMovedLedgers } from '../../../packages/server/src/store/ledgers/signed-heads.js'
import { proves } from '../../support/proves.js'
import { type GovernedSession, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { openWorkflow } from '../../support/runtime/workflow.js'

/** Somebody who can write to the database, and does. */
const { runtime, api, owner } = await withOwnedRuntime()
const { parts } = runtime.instances[0]
const folder = await mkdtemp(join(tmpdir(), 'countersign-'))
afterAll(() => rm(folder, { recursive: true }))

const sign = () => runtime.sql.begin((tx) => signHeads(tx, parts, parts.ledgerSigner!))
const proof = async (session_id: string) => (await owner.call('loadProof', { params: { session_id } })).body
const apiKey = async () => (await owner.call('createKey', { body: { name: 'verify' } })).body.api_key
const key = await apiKey()
const url = await runtime.instances[0].listen()

async function command(name: string, args: readonly string[]): Promise<[number | undefined, string]> {
  const lines: string[] = []
  const terminal = { print: (line: string) => void lines.push(line), note: () => {} }
  return [await (await COMMANDS[name]?.())?.run(args, terminal as never), lines.join('\n')]
}
const verify = (...args: string[]) => command('verify', args)
const verifyOnline = (id: string, ...args: string[]) => verify(id, '--url', url, '--key', key, ...args)

const keysFile = join(folder, 'keys.json')
await writeFile(keysFile, await (await runtime.fetch(`${TEST_ORIGIN}/.well-known/countersign-ledger-keys`)).text())

async function signedSession(turns = 2): Promise<GovernedSession> {
  const session = await openSession(api, { capture_level: 'full' })
  for (let turn = 0; turn < turns; turn++) await session.turn([LOOKUP])
  await sign()
  return session
}

/** Writes another past: every hash is right, the head fits and the state is what the events fold to. */
async function rewrite(session: GovernedSession, events: readonly SessionEvent[]): Promise<void> {
  const prepared = preparePlan(session.plan.compiled_session)
  if (!prepared.ok) throw new Error('the plan must be usable')
  let head: LedgerHead | null = null
  let state: SessionState | null = null
  const chained: ChainedEvent[] = []
  for (const event of events) {
    const link: ChainedEvent = chainEvent(head, session.sessionId, event)
    head = { seq: link.seq, hash: link.hash }
    state = state === null ? foldEvents([event], prepared.plan) : applyEvent(state, event, prepared.plan)
    chained.push(link)
  }
  const { recent, ...rest } = JSON.parse(JSON.stringify(state)) as SessionState
  await runtime.sql.begin(async (tx) => {
    await tx`delete from session_events where session_id = ${session.sessionId} and seq > ${chained.length}`
    for (const { seq, type, at, body, prev_hash, hash } of chained)
      await tx`
        update session_events set type = ${type}, at = ${at}::text::timestamptz, body = ${JSON.stringify(body)}, prev_hash = ${prev_hash}, hash = ${hash}
        where session_id = ${session.sessionId} and seq = ${seq}`
    await tx`
      update session_heads set revision = 'rewritten', state = ${JSON.stringify(rest)}, recent = ${JSON.stringify(recent)},
        facts = jsonb_set(facts::jsonb, '{ledger}', ${JSON.stringify(head)}::text::jsonb)::text
      where session_id = ${session.sessionId}`
  })
}

const pastOf = async (session: GovernedSession): Promise<SessionEvent[]> =>
  (await exportOf(api, session.sessionId)).events.map(
    ({ type, at, body }) => ({ type, at, body }) as unknown as SessionEvent,
  )

proves('limit.fair.signing', async () => {
  const other = await runtime.createTenant()
  for (let at = 0; at < 3; at++) await openSession(api)
  const single = await openSession(runtime.api(other.key))
  const names = await listMovedLedgers(runtime.sql, { since: new Date(0), until: null }, 2)
  expect(new Set(names.map(({ tenantId }) => tenantId)).size).toBe(2)
  expect(names.map(({ id }) => id)).toContain(single.sessionId)
  // So that the tests below find everything signed.
  await sign()
})

describe('a wholly recomputed chain', () => {
  proves('ledger.rewritten-fails-verify', async () => {
    const session = await signedSession()
    expect(await verifyOnline(session.sessionId)).toEqual([0, expect.stringContaining('signed up to event 5')])
    const past = await pastOf(session)
    const forged = past.map((event, at) =>
      at === 0 && event.type === 'created' ? { ...event, body: { ...event.body, agent: 'somebody-else' } } : event,
    )
    await rewrite(session, forged)
    const [code, said] = await verifyOnline(session.sessionId)
    expect([code, said]).toEqual([1, expect.stringContaining('event 5 is not the one that was signed')])
    expect(await proof(session.sessionId)).toMatchObject({
      verified: false,
      problem: expect.stringContaining('rewritten'),
    })
  })

  proves('ledger.signing-refuses-contradiction', 'is not signed again, and raises an alarm', async () => {
    const session = await signedSession()
    const signed = async () =>
      (await runtime.sql`select seq, hash, problem from signed_heads where id = ${session.sessionId}`)[0]
    const before = await signed()
    await rewrite(session, await pastOf(session))
    await rewrite(session, [
      ...(await pastOf(session)).slice(0, 4),
      { type: 'label', at: '2026-01-01T00:00:00.000Z', body: { label: 'harmless' } },
    ])
    // It goes on behind the head that was signed, where there would be something new to sign.
    await session.api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'goes_on' } })
    await runtime.sql`update ledger_signing set last_tenant = '', last_id = ''`
    await sign()
    expect(await signed()).toEqual({ ...before, problem: expect.stringContaining('rewritten') })
    expect(runtime.logLines.join('\n')).toContain('a ledger contradicts its signed head')
    expect(await parts.metrics.registry.metrics()).toMatch(/countersign_ledger_contradictions [1-9]/)
    expect((await proof(session.sessionId)).verified).toBe(false)
  })
})

describe('a ledger that was set back', () => {
  proves('ledger.rollback-fails-verify', 'to an earlier head fails, and the signed head is not replaced', async () => {
    const session = await signedSession(3)
    await rewrite(session, (await pastOf(session)).slice(0, 3))
    expect(await verifyOnline(session.sessionId)).toEqual([1, expect.stringContaining('events were removed')])
    expect(await proof(session.sessionId)).toMatchObject({
      verified: false,
      problem: expect.stringContaining('removed'),
    })
    await session.api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'goes_on' } })
    await sign()
    expect(await verifyOnline(session.sessionId)).toEqual([1, expect.stringContaining('events were removed')])
  })

  proves('ledger.deleted-session-alarms', 'to nothing raises an alarm', async () => {
    const session = await signedSession()
    for (const table of ['session_events', 'session_heads', 'sessions'])
      await runtime.sql.unsafe(`delete from ${table} where session_id = $1`, [session.sessionId])
    await runtime.sql`update ledger_signing set last_tenant = '', last_id = ''`
    await sign()
    const [row] = await runtime.sql`select problem from signed_heads where id = ${session.sessionId}`
    expect(row?.problem).toContain('ends at event 0')
  })

  proves('ledger.seals-chain', 'as a whole shows in the seals that were kept', async () => {
    await signedSession()
    await signedSession()
    const { seals: kept } = (await api.listSeals({})).body
    const last = kept.at(-1)!
    expect(kept.slice(1).map(({ prev_digest }) => prev_digest)).toEqual(kept.slice(0, -1).map(sealDigest))
    await runtime.sql`delete from ledger_seals where number = ${last.number}`
    await runtime.sql`delete from signed_heads where id = (select id from signed_heads where ledger = 'session' limit 1)`
    await signedSession()
    const { seals } = (await api.listSeals({})).body
    const again = seals.find(({ number }) => number === last.number)
    expect(again).toBeDefined()
    expect(again).not.toEqual(last)
    expect(
      runtime.logLines.some((line) => line.includes(last.digest) && line.includes('ledger heads were signed')),
    ).toBe(true)
  })
})

describe('seals that were kept', () => {
  const seals = (...args: string[]) => command('seals', [...args, '--url', url, '--key', key])
  const file = join(folder, 'seals.jsonl')

  proves('ledger.seals-checked', 'are the same later; forged or missing ones are named', async () => {
    await signedSession()
    await signedSession()
    const [, printed] = await seals()
    await writeFile(file, printed)
    await signedSession()
    const count = printed.split('\n').length
    const all = new RegExp(`^${count} of ${count} kept seals were compared and are the same`)
    expect(await seals('check', file)).toEqual([0, expect.stringMatching(all)])
    expect(await seals('check', file, '--keys', keysFile)).toEqual([0, expect.stringMatching(all)])

    const last = JSON.parse(printed.split('\n').at(-1) ?? '')
    const logged = join(folder, 'service.log')
    await writeFile(logged, `starting\n${runtime.logLines.filter((line) => line.includes(last.digest)).join('\n')}\n`)
    expect(await seals('check', logged)).toEqual([0, expect.stringContaining('1 of 1 kept seals')])

    const forged = { ...last, digest: '0'.repeat(64) }
    await writeFile(file, JSON.stringify(forged))
    expect(await seals('check', file)).toEqual([1, expect.stringContaining('in your file, seal')])
    await writeFile(file, 'nothing of the kind')
    await expect(seals('check', file)).rejects.toThrow(/holds no seals/)
    await expect(seals('check', join(folder, 'none'))).rejects.toThrow(/ENOENT/)
  })

  proves('ledger.seals-checked', 'show that the database was set back, or its seals written anew', async () => {
    const [, printed] = await seals()
    await writeFile(file, printed)
    const newest = printed.split('\n').length
    await runtime.sql`delete from ledger_seals where number = ${newest}`
    expect(await seals('check', file)).toEqual([
      1,
      expect.stringMatching(/was kept, but the newest here is .* set back/),
    ])
    await signedSession()
    expect(await seals('check', file)).toEqual([1, expect.stringMatching(/is another one than was kept/)])
    await runtime.sql`update ledger_seals set prev_digest = ${'0'.repeat(64)} where number = 2`
    expect(await seals('check', file)).toEqual([1, expect.stringContaining('seal 2 is not genuine')])
  })
})

describe('a signature', () => {
  proves(
    'ledger.verify-pinned-keys',
    'is checked offline with keys that were saved, and must be there then',
    async () => {
      const session = await signedSession()
      const file = join(folder, 'export.json')
      const exported = await exportOf(api, session.sessionId)
      const check = async (change: object, ...args: string[]) => {
        await writeFile(file, JSON.stringify({ ...exported, ...change }))
        return verify(file, ...args)
      }
      expect(await check({}, '--keys', keysFile)).toEqual([
        0,
        expect.stringMatching(/signed up to event 5 .* with key [0-9a-f]{32}/),
      ])
      expect(await check({})).toEqual([0, expect.stringContaining('not checked: the signature of the head')])
      expect(await check({ signed_head: null }, '--keys', keysFile)).toEqual([
        1,
        expect.stringContaining('was signed yet'),
      ])
      const signed_head = { ...exported.signed_head!, signature: 'A'.repeat(86) }
      expect(await check({ signed_head }, '--keys', keysFile)).toEqual([1, expect.stringContaining('not genuine')])
      const other = { ...exported.signed_head!, key_id: '0'.repeat(32) }
      expect(await check({ signed_head: other }, '--keys', keysFile)).toEqual([
        1,
        expect.stringContaining('not among the given keys'),
      ])
      const foreign = { ...exported.signed_head!, id: 'another' }
      expect(await check({ signed_head: foreign }, '--keys', keysFile)).toEqual([
        1,
        expect.stringContaining('belongs to the session another'),
      ])
    },
  )

  test('covers workflows as well', async () => {
    const root = await openWorkflow(api)
    await sign()
    expect(await verifyOnline(root.workflowId, '--workflow', '--keys', keysFile)).toEqual([
      0,
      expect.stringContaining('signed up to event'),
    ])
    await runtime.sql`update signed_heads set hash = ${'0'.repeat(64)} where ledger = 'workflow' and id = ${root.workflowId}`
    expect(await verifyOnline(root.workflowId, '--workflow')).toEqual([
      1,
      expect.stringContaining('not the one that was signed'),
    ])
  })

  test('that was put into the database by somebody else is not taken for ours', async () => {
    const session = await signedSession()
    await runtime.sql`update signed_heads set signature = ${'B'.repeat(86)} where id = ${session.sessionId}`
    expect(await proof(session.sessionId)).toMatchObject({
      verified: false,
      problem: expect.stringContaining('not genuine'),
    })
    await session.turn([LOOKUP])
    await sign()
    const [row] = await runtime.sql`select seq, problem from signed_heads where id = ${session.sessionId}`
    expect(row).toEqual({ seq: 5, problem: expect.stringContaining('not ours') })
  })
})

describe('content that was changed in the database', () => {
  proves('content.forged-not-shown', 'is not shown, is named, and the ledger is not verified', async () => {
    const session = await signedSession()
    const timeline = async () =>
      (await owner.call('loadTimeline', { params: { session_id: session.sessionId } })).body.items[1]
    expect((await timeline())?.calls[0]?.arguments).toEqual(LOOKUP.args)
    expect((await timeline())?.changed).toBeUndefined()
    expect((await proof(session.sessionId)).verified).toBe(true)
    await runtime.sql`
      update content set body = replace(body::text, ${String(Object.values(LOOKUP.args)[0])}, 'forged')::json
      where session_id = ${session.sessionId} and kind = 'arguments'`
    expect(await timeline()).toMatchObject({
      changed: ['the arguments of call 0 (lookup_order)'],
      calls: [{ arguments: null, tool_name: 'lookup_order' }],
    })
    expect(JSON.stringify(await timeline())).not.toContain('forged')
    expect(await proof(session.sessionId)).toMatchObject({
      verified: false,
      problem: expect.stringContaining('stored content does not match its hash in the ledger: the arguments of call 0'),
    })
    expect(await parts.metrics.registry.metrics()).toMatch(/countersign_content_mismatches_total [1-9]/)
  })

  test.each([
    [
      'record',
      `update session_events set record = replace(record, '"allow"', '"block"') where session_id = $1 and seq = 2`,
    ],
    [
      'preflight',
      `update session_events set record = replace(record, 'issue_refund', 'another_tool') where session_id = $1 and seq = 2`,
    ],
    ['missing record', `update session_events set request_id = null, record = null where session_id = $1 and seq = 2`],
    ['arguments without calls', `update content set body = '[]' where session_id = $1 and kind = 'arguments'`],
    ['arguments that are no list', `update content set body = '{"0": 1}' where session_id = $1 and kind = 'arguments'`],
    ['arguments of no call', `update content set body = '[null, 1, {}]' where session_id = $1 and kind = 'arguments'`],
  ])('is found in the %s', async (_what, change) => {
    const session = await signedSession(1)
    expect((await proof(session.sessionId)).verified).toBe(true)
    await runtime.sql.unsafe(change, [session.sessionId])
    expect(await proof(session.sessionId)).toMatchObject({
      verified: false,
      problem: expect.stringMatching(/^event 2: stored content does not match/),
    })
    const { items } = (await owner.call('loadTimeline', { params: { session_id: session.sessionId } })).body
    expect(items[1]?.changed).toHaveLength(1)
    expect(items[1]?.calls[0]?.decision).toBe('allow')
  })

  test('a forged receipt is not shown: the timeline shows the one in the ledger', async () => {
    const session = await signedSession(1)
    await runtime.sql`
      update receipts set record = replace(record, '"succeeded"', '"failed"') where session_id = ${session.sessionId}`
    const { items } = (await owner.call('loadTimeline', { params: { session_id: session.sessionId } })).body
    expect(items[1]?.calls[0]?.receipt?.outcome).toBe('succeeded')
  })
})
