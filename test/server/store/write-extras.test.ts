import { beforeAll, expect, test } from 'vitest'
import { storeCaptures } from '../../../packages/server/src/store/captures/captures.js'
import { isLimitTaken } from '../../../packages/server/src/store/sessions/shared-counts.js'
import { appendWorkflow } from '../../../packages/server/src/store/workflows/workflows.js'
import { AT, callWrites, EXTRAS, event, head, json } from '../../support/model/call-writes.js'
import type { TestTenant } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
let other: TestTenant
let w: ReturnType<typeof callWrites>
beforeAll(async () => {
  other = await runtime.createTenant()
  w = callWrites(runtime, other)
})

test('write_extras writes everything that a change may have beside its event', async () => {
  const of = await w.createBoth()
  await runtime.sql`
    insert into resource_holds (tenant_id, workflow_id, session_id, pending_call_id, key_hash, mode, held_at)
    values (${of.tenant}, 'w', ${of.session}, 'call', 'k', 'shared', ${AT}), (${other.tenantId}, 'w', ${of.session}, 'call', 'k', 'shared', ${AT})`
  const audit = { action: 'session_killed', actor: 'system', subject: of.session, key_id: runtime.keyId }
  const owner = `owner of ${of.session}`
  const sticky = {
    owner,
    added: [
      { label: 'b', call_id: 'call' },
      { label: 'a', call_id: '' },
    ],
    settled: ['gone'],
  }
  await runtime.sql`
    insert into sticky_labels (tenant_id, owner, label, call_id, added_at)
    values (${of.tenant}, ${owner}, 'c', 'gone', ${AT}), (${other.tenantId}, ${owner}, 'c', 'gone', ${AT})`
  const extras = json({ ...JSON.parse(EXTRAS), holds_end: AT, audit, sticky })
  const before = await w.allRows(of)
  expect(await w.receive(of, { extras })).toBe(true)
  const { own, other: untouched } = await w.allRows(of)
  expect(untouched).toEqual(before.other)
  expect(own).toMatchObject({
    sessions: [{ status: 'KILLED', endedAt: null }],
    session_events: [{}, { seq: 2 }, { seq: 3, body: '{"c":2}' }],
    receipts: [
      { pendingCallId: 'call' },
      { pendingCallId: 'more', record: '{"pending_call_id":"more","v":1}', seq: 2 },
    ],
    late_receipts: [{ pendingCallId: 'call', number: 1, resultHash: null, seq: 2 }],
    content: [{ kind: 'response', body: { big: 1 } }],
    superseded_requests: [{ preparedRequestId: 'old', request: `{"id":"old","expiresAt":"${AT}"}` }],
    session_facets: [{ kind: 'label', value: 'vip' }],
    stopped_calls: [{ proposalId: 'prp', reason: 'killed' }],
    findable_ids: [{ id: 'call_1' }, { id: 'call_2' }],
  })
  expect(own.content).toHaveLength(1)
  const holds = await runtime.sql`
    select tenant_id = ${of.tenant} as own, ends_at is not null as ends from resource_holds where session_id = ${of.session}`
  expect(holds.filter(({ own, ends }) => own === ends)).toHaveLength(2)
  expect(
    await runtime.sql`select action, key_id, key_prefix is not null as named from audit_entries where subject = ${of.session}`,
  ).toEqual([{ action: 'session_killed', keyId: runtime.keyId, named: true }])
  expect(
    await runtime.sql`
    select tenant_id = ${of.tenant} as own, label, call_id from sticky_labels where owner = ${owner} order by own desc, label`,
  ).toEqual([
    { own: true, label: 'a', callId: '' },
    { own: true, label: 'b', callId: 'call' },
    { own: false, label: 'c', callId: 'gone' },
  ])
})

test('a shared limit is not exceeded, and what it undoes is the whole write', async () => {
  const of = await w.createBoth()
  const count = (amount: string, bound: string | null) =>
    json({
      counts: [
        {
          name: 'l',
          id: of.session,
          bucket: 7,
          amount,
          bound,
          past: 0,
          expires_at: AT,
          per: 'tenant',
          counts: 'calls',
          time_window: '1h',
          most: '10',
        },
      ],
    })
  expect(await w.propose(of, { extras: count('6', '10') })).toBe(true)
  const before = await w.allRows(of)
  const next = { known: 'r2', ...head('r3'), ...event(3), request: 'req2' }
  const taken = await w.propose(of, { ...next, extras: count('5', '10') }).catch((error: unknown) => error)
  expect(isLimitTaken(taken), String(taken)).toBe(true)
  expect(await w.allRows(of)).toEqual(before)
  // It has happened: it counts in any case.
  expect(await w.propose(of, { ...next, extras: count('5', null) })).toBe(true)
  expect(await runtime.sql`select used::int, amounts::text from shared_limit_counts where id = ${of.session}`).toEqual([
    { used: 11, amounts: '{11}' },
  ])
})

test('append_workflow appends to the ledger as it was read, and to no other', async () => {
  const workflow = 'wf'
  for (const tenant of [runtime.tenantId, other.tenantId])
    await runtime.sql`
      insert into workflows (tenant_id, workflow_id, definition, definition_hash, key_salt, ledger_seq, ledger_hash, created_at)
      values (${tenant}, ${workflow}, '{}', 'd', 's', 0, '', ${AT})`
  const events = json([1, 2].map((seq) => ({ ...event(seq), body: { n: seq } })))
  const written = { tenant: runtime.tenantId, workflow, known: 0, status: 'KILLED', seq: 2, hash: 'h2', events }
  const stored = () => runtime.sql`
    select w.tenant_id = ${runtime.tenantId} as own, status, ledger_seq, ledger_hash,
      (select count(*)::int from workflow_events e where e.tenant_id = w.tenant_id and e.workflow_id = w.workflow_id) as events
    from workflows w where workflow_id = ${workflow} order by 1 desc`
  const untouched = { own: false, status: 'ACTIVE', ledgerSeq: 0, ledgerHash: '', events: 0 }
  expect(await appendWorkflow(runtime.sql, { ...written, known: 1 })).toBe(false)
  expect(await stored()).toEqual([{ ...untouched, own: true }, untouched])
  expect(await appendWorkflow(runtime.sql, written)).toBe(true)
  expect(await stored()).toEqual([
    { own: true, status: 'KILLED', ledgerSeq: 2, ledgerHash: 'h2', events: 2 },
    untouched,
  ])
})

test('store_captures stores what is new and nothing of a session that was erased since', async () => {
  const of = await w.createBoth()
  expect(await w.propose(of, { proposal: 'before' })).toBe(true)
  await runtime.sql`
    insert into erased_sessions (tenant_id, session_id, seq, erased_at) values (${of.tenant}, ${of.session}, 2, ${AT})`
  expect(await w.propose(of, { known: 'r2', ...head('r3'), ...event(3), request: 'req3', proposal: 'after' })).toBe(
    true,
  )
  const capture = (capture_id: string) => ({
    capture_id,
    agent: 'clerk',
    conversation_id: of.session,
    at: AT,
    capture_level: 'full',
    tool_names: ['a'],
    decision: null,
    governed: true,
    calls: 2,
    covered: 1,
  })
  const store = (tenant: string, ids: readonly string[], governed: boolean) =>
    storeCaptures(runtime.sql, {
      tenant,
      captures: json(ids.map((id) => ({ ...capture(id), governed }))),
      items: ids.map((id) => json({ id })).join('\n'),
      salts: json([{ agent: 'clerk', salt: 's' }]),
      governed,
    })
  expect(await store(of.tenant, ['before', 'after'], true)).toBe(1)
  expect(await store(of.tenant, ['after', 'seen', 'seen'], false)).toBe(1)
  expect(await store(other.tenantId, ['before'], true)).toBe(1)
  const stored = await runtime.sql`
    select capture_id, item, item_size from captures where tenant_id = ${of.tenant} order by capture_id`
  expect(stored).toEqual([
    { captureId: 'after', item: { id: 'after' }, itemSize: 14 },
    { captureId: 'seen', item: { id: 'seen' }, itemSize: 13 },
  ])
  expect(await runtime.sql`select calls, covered from captured_calls where tenant_id = ${of.tenant}`).toEqual([
    { calls: 2, covered: 1 },
  ])
  const batches = await runtime.sql`
    select captures, due_at > clock_timestamp() + interval '2 minutes' as waits from unlearned_captures
    where tenant_id = ${of.tenant} order by first_id`
  expect(batches).toEqual([
    { captures: 1, waits: true },
    { captures: 1, waits: false },
  ])
})
