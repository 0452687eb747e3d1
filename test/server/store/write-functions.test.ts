import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { enter } from '../../../packages/server/src/store/accounts/api-keys.js'
import { takeTokens } from '../../../packages/server/src/store/accounts/buckets.js'
import { storeCaptures } from '../../../packages/server/src/store/captures/captures.js'
import { isTokenUsed } from '../../../packages/server/src/store/sessions/used-tokens.js'
import * as functions from '../../../packages/server/src/store/sessions/write-functions.js'
import { isKeyLost } from '../../../packages/server/src/store/sessions/write-functions.js'
import { appendWorkflow } from '../../../packages/server/src/store/workflows/workflows.js'
import { root } from '../../support/files/tracked-files.js'
import {
  AT,
  callWrites,
  EXTRAS,
  event,
  type Given,
  head,
  json,
  NO_KEY,
  type Write,
} from '../../support/model/call-writes.js'
import { proves } from '../../support/proves.js'
import type { TestTenant } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
let other: TestTenant
let w: ReturnType<typeof callWrites>
beforeAll(async () => {
  other = await runtime.createTenant()
  w = callWrites(runtime, other)
})

describe.each(['prepare', 'propose', 'receive', 'record'] as const)('%s', (name) => {
  const write: Write = (of, more) => w[name](of, more)

  proves(
    'scale.write-functions',
    'writes for one session of one tenant, and nothing where its revision is another',
    async () => {
      const of = await w.createBoth()
      const before = await w.allRows(of)
      expect(await write(of, { known: 'r0', extras: EXTRAS })).toBe(false)
      expect(await w.allRows(of)).toEqual(before)
      expect(await write(of)).toBe(true)
      const after = await w.allRows(of)
      expect(after.other).toEqual(before.other)
      expect(after.own.session_heads).toMatchObject([{ revision: 'r2', state: '{"s":1}', recent: '[]' }])
      // The revision has changed: the same write loses now.
      expect(await write(of)).toBe(false)
      expect(await w.allRows(of)).toEqual(after)
    },
  )

  proves(
    'scale.write-functions',
    'is undone where the key is revoked, expired, of another tenant or of another quota',
    async () => {
      const of = await w.createBoth()
      const before = await w.allRows(of)
      const keyHash = await w.makeKey()
      const proof = { key_hash: keyHash, quota: 'scale' }
      const expectLost = async (given: Given) => {
        const lost = await write(of, { ...given, extras: EXTRAS }).catch((error: unknown) => error)
        expect(isKeyLost(lost), String(lost)).toBe(true)
        expect(await w.allRows(of)).toEqual(before)
      }
      await expectLost({ ...proof, quota: 'team' })
      await expectLost({ ...proof, key_hash: randomBytes(32) })
      await expectLost({ ...proof, tenant: other.tenantId })
      await runtime.sql`update api_keys set expires_at = clock_timestamp() where key_hash = ${keyHash}`
      await expectLost(proof)
      await runtime.sql`update api_keys set expires_at = null, revoked_at = clock_timestamp() where key_hash = ${keyHash}`
      await expectLost(proof)
      await runtime.sql`update api_keys set revoked_at = null where key_hash = ${keyHash}`
      expect(await write(of, proof)).toBe(true)
    },
  )

  test('sees a key that is revoked while it waits for the session', async () => {
    const of = await w.createBoth()
    const keyHash = await w.makeKey()
    const { result } = await runtime.sql.begin(async (tx) => {
      await tx`select 1 from session_heads where tenant_id = ${of.tenant} and session_id = ${of.session} for no key update`
      const waiting = write(of, { key_hash: keyHash, quota: 'scale' }).catch((error: unknown) => error)
      await expect
        .poll(
          async () =>
            (
              await runtime.sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
            ).length,
        )
        .toBeGreaterThan(0)
      await runtime.sql`update api_keys set revoked_at = clock_timestamp() where key_hash = ${keyHash}`
      return { result: waiting }
    })
    expect(isKeyLost(await result)).toBe(true)
  })
})

test('create_session opens one session under an id, and none that is in an archive', async () => {
  const of = await w.createBoth()
  const rows = await w.allRows(of)
  expect(rows.own.sessions).toMatchObject([{ principal: { id: 'ann' }, agent: 'clerk', environment: null }])
  expect(rows.own.session_events).toMatchObject([{ seq: 1, body: '{"b":1.10}', requestId: null }])
  expect(await w.create(of, { extras: EXTRAS })).toBe(false)
  expect(await w.allRows(of)).toEqual(rows)

  const archived = { tenant: of.tenant, session: `${of.session}_archived` }
  await runtime.sql`
    insert into archived_ledgers (tenant_id, ledger, id, archived_at, file, digest, seq, hash)
    values (${archived.tenant}, 'session', ${archived.session}, ${AT}, 'f', 'd', 1, 'h')`
  expect(await w.create(archived)).toBe(false)
  expect(await w.rowsOf(archived)).toEqual({})
  expect(await w.create({ ...archived, tenant: other.tenantId })).toBe(true)
})

test('create_session stores the plan for good, and uses a token up', async () => {
  const { tenant, session } = await w.createBoth()
  const token = json({ issuer: 'i', jti_hash: session, expires_at: AT })
  const plan = '{"session": {"z":1,"a":2}}'
  expect(await w.create({ tenant, session: `${session}_1` }, { plan, token })).toBe(true)
  const stored = () => runtime.sql`
    select compiled_session::text as text, permanent from plans where tenant_id = ${tenant} and compiled_hash = 'plan'`
  expect(await stored()).toEqual([{ text: plan, permanent: true }])
  const again = { tenant, session: `${session}_2` }
  const refused = await w.create(again, { token }).catch((error: unknown) => error)
  expect(isTokenUsed(refused), String(refused)).toBe(true)
  expect(await w.rowsOf(again)).toEqual({})
})

test('prepare refuses an id that was used or stored apart, and waits for no disk', async () => {
  const of = await w.createBoth()
  expect(await w.propose(of)).toBe(true)
  expect(
    await w.record(of, {
      known: 'r2',
      ...head('r3'),
      ...event(3),
      extras: json({ superseded: { id: 'old', expiresAt: AT } }),
    }),
  ).toBe(true)
  const before = await w.allRows(of)
  const next = { known: 'r3', ...head('r4') }
  expect(await w.prepare(of, { ...next, request: 'req' })).toBe(false)
  expect(await w.prepare(of, { ...next, request: 'old' })).toBe(false)
  expect(await w.allRows(of)).toEqual(before)
  await runtime.sql.begin(async (tx) => {
    await tx`set local synchronous_commit = 'on'`
    const mode = async () => (await tx`select current_setting('synchronous_commit') as mode`)[0]?.mode
    const asked = { ...of, ...NO_KEY, ...next, prepared: null, narrowing: '{}', has_superseded: true, extras: null }
    expect([await functions.prepare(tx, { ...asked, known: 'r0', request: 'new' }), await mode()]).toEqual([
      false,
      'on',
    ])
    expect([await functions.prepare(tx, { ...asked, request: 'new' }), await mode()]).toEqual([true, 'off'])
  })
  expect(await w.rowsOf(of)).toMatchObject({ session_heads: [{ prepared: null, narrowing: '{}' }] })
})

test('receive prepares a request, unless its id was used or stored apart', async () => {
  const of = await w.createBoth()
  expect(await w.propose(of, { extras: json({ superseded: { id: 'old', expiresAt: AT } }) })).toBe(true)
  const next = { known: 'r2', ...head('r3'), ...event(3), prepared: '{"id":"new"}', narrowing: '{"n":1}' }
  const before = await w.allRows(of)
  expect(await w.receive(of, { ...next, request: 'req' })).toBe(false)
  expect(await w.receive(of, { ...next, request: 'old' })).toBe(false)
  expect(await w.allRows(of)).toEqual(before)
  expect(await w.receive(of, { ...next, request: 'new' })).toBe(true)
  expect(await w.rowsOf(of)).toMatchObject({ session_heads: [{ prepared: '{"id":"new"}', narrowing: '{"n":1}' }] })
  const without = { known: 'r3', ...head('r4'), ...event(4), pending_call: 'other' }
  expect(await w.receive(of, without)).toBe(true)
  expect(await w.rowsOf(of)).toMatchObject({ session_heads: [{ prepared: '{"id":"new"}', narrowing: '{"n":1}' }] })
})

test('propose takes the request from where it lies, and writes what goes with the proposal', async () => {
  const of = await w.createBoth()
  const apart = { superseded: { id: 'toolless', expiresAt: AT } }
  expect(await w.prepare(of, { extras: json(apart) })).toBe(true)
  const calls = '[{"index":0,"arguments":{"z":1.0,"a":"x"}}]'
  const toolless = {
    known: 'r2',
    ...head('r3'),
    request: 'toolless',
    with_tools: false,
    arguments: calls,
    is_blocked: true,
  }
  expect(await w.propose(of, toolless)).toBe(true)
  const { superseded_requests: left, ...rows } = await w.rowsOf(of)
  expect(left).toBeUndefined()
  expect(rows).toMatchObject({
    session_heads: [{ prepared: '{"id":"req"}' }],
    session_events: [
      {},
      { seq: 2, requestId: 'toolless', proposalId: 'prp', outcome: 'accepted', record: '{"fence":1}' },
    ],
    content: [{ kind: 'arguments', ref: 'prp' }],
    blocked_proposals: [{ seq: 2 }],
  })
  const [stored] = await runtime.sql`select body::text as text from content where session_id = ${of.session}`
  expect(stored).toEqual({ text: calls })
  expect(await w.propose(of, { known: 'r3', ...head('r4'), ...event(3), proposal: 'prp2' })).toBe(true)
  expect((await w.rowsOf(of)).session_heads).toMatchObject([{ prepared: null }])
  const used = await w.propose(of, { known: 'r4', ...head('r5'), ...event(4) }).catch((error: unknown) => String(error))
  expect(used).toContain('session_events_by_request')
})

test('record leaves the prepared request or clears it', async () => {
  const of = await w.createBoth()
  expect(await w.prepare(of)).toBe(true)
  const prepared = async () => (await w.rowsOf(of)).session_heads?.map((row) => (row as { prepared: string }).prepared)
  expect(await w.record(of, { known: 'r2', ...head('r3') })).toBe(true)
  expect(await prepared()).toEqual(['{"id":"req"}'])
  expect(await w.record(of, { known: 'r3', ...head('r4'), ...event(3), clears_prepared: true })).toBe(true)
  expect(await prepared()).toEqual([null])
})

test('no function is called without a tenant', async () => {
  await expect(w.record({ tenant: null as never, session: 's' })).rejects.toThrow('record is called without a tenant')
})

interface Stored {
  name: string
  takes: Record<string, string>
  gives: string
}

test('the functions of the database are those of sql/functions, and take what the code gives them', async () => {
  const stored = await runtime.sql<Stored[]>`
    select p.proname as name, p.prorettype::regtype::text as gives,
      (select json_object_agg(a.name, a.type::regtype::text) from unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) as a (name, type)) as takes
    from pg_proc p where p.pronamespace = current_schema()::regnamespace`
  const files = await readdir(`${root}packages/server/sql/functions`)
  expect(stored.map(({ name }) => `${name}.sql`).sort()).toEqual(files.sort())
  const typeOf = async (type: string) => (await runtime.sql`select ${type}::regtype::text as name`)[0]?.name
  const cycle = Object.values(functions).filter((one) => typeof one === 'function' && 'signature' in one)
  for (const { signature } of [...cycle, appendWorkflow, storeCaptures, enter, takeTokens]) {
    const found = stored.find(({ name }) => name === signature.name)
    const takes: Record<string, string> = {}
    for (const [name, type] of Object.entries(signature.takes)) takes[`p_${name}`] = await typeOf(type)
    expect(found, signature.name).toEqual({ name: signature.name, takes, gives: await typeOf(signature.gives) })
  }
})
