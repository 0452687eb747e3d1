import type { Decision, PendingCallView, Receipt } from '@countersign/protocol'
import { expect } from 'vitest'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { listRecentBlocks } from '../../../packages/server/src/store/dashboard/recent-blocks.js'
import { loadEventsAt } from '../../../packages/server/src/store/sessions/ledger.js'
import { loadReceipts, loadTurns } from '../../../packages/server/src/store/sessions/stored-turns.js'
import { openSession } from '../runtime/governed-session.js'
import { Person } from '../runtime/person.js'
import type { Api, Runtime } from '../runtime/runtime.js'
import { readDatabase } from './verify-database.js'

export const SESSIONS_OF_STORY = 4

/**
 * What a database holds before it is upgraded: a person who signed up, a session with a refund and labels, one that was
 * blocked and killed, one with a pending call, and one with unused requests of every kind, which expire in the far
 * future. Returns the person's key.
 */
export async function tellUpgradeStory(runtime: Runtime): Promise<string> {
  const { body } = await new Person(runtime.fetch).signup()
  await runtime.sql`update tenants set verified_at = clock_timestamp(), quota = 'scale'`
  const api = runtime.api(body.api_key)
  const lookup = { name: 'lookup_order', args: { order_id: 'A-1' } }
  const refund = (amount: number) => ({ name: 'issue_refund', args: { order_id: 'A-1', amount } })

  const first = await openSession(api, { session_id: 'ses-first', labels: ['from_creation'] })
  await first.turn([lookup])
  await first.turn([refund(40)])
  await api.addLabel({ params: { session_id: 'ses-first' }, body: { label: 'later' } })

  const second = await openSession(api, { session_id: 'ses-second' })
  await second.turn([lookup])
  await second.decide([refund(900)])
  await api.killSession({ params: { session_id: 'ses-second' }, body: {} })

  const third = await openSession(api, { session_id: 'ses-third' })
  await third.decide([lookup])

  const fourth = await openSession(api, { session_id: 'ses-fourth' })
  await fourth.preflight({ prepared_request_id: 'superseded' })
  await fourth.preflight({ prepared_request_id: 'newest' })
  await fourth.preflight({ prepared_request_id: 'used-title', tools: [] })
  await fourth.propose('used-title', [])
  await fourth.preflight({ prepared_request_id: 'without-tools', tools: [] })
  await runtime.sql`
    update superseded_requests set expires_at = ${LONG_AFTER},
      request = jsonb_set(request::jsonb, '{expiresAt}', to_jsonb(${LONG_AFTER}::text))::text`
  await runtime.sql`
    update session_heads set prepared = jsonb_set(prepared::jsonb, '{expiresAt}', to_jsonb(${LONG_AFTER}::text))::text
    where prepared is not null`
  await runtime.instances[0].parts.captures.flush()
  return body.api_key
}

const LONG_AFTER = '9000-01-01T00:00:00.000Z'

/** The sessions of the story go on where they were. */
export async function expectStoryGoesOn(api: Api, databaseUrl: string): Promise<void> {
  const { body: killed } = await api.loadSession({ params: { session_id: 'ses-second' } })
  expect(killed.session.status).toBe('KILLED')
  const { body: waiting } = await api.loadSession({
    params: { session_id: 'ses-third' },
    query: { include: 'pending' },
  })
  expect(waiting.pending).toHaveLength(1)
  const labelled = await api.addLabel({ params: { session_id: 'ses-first' }, body: { label: 'after_upgrade' } })
  expect(labelled.body.labels).toEqual(['from_creation', 'money_moved', 'later', 'after_upgrade'])
  await readDatabase(databaseUrl, (sql) => expectOldTurns(sql, api))
  await expectReceipt(api, waiting.pending?.[0])
  await expectUnusedRequests(api)
}

/** What happened is shown as before; a used request stays used. */
async function expectOldTurns(sql: Sql, api: Api): Promise<void> {
  const [turn] = await sql<{ tenantId: string; seq: number; decisions: Decision[]; preparedRequestId: string }[]>`
    select tenant_id, seq, decisions, prepared_request_id from proposals where session_id = 'ses-first' order by seq limit 1`
  if (turn === undefined) throw new Error('the session has no turn')
  const { tenantId, seq } = turn
  const session = { tenantId, sessionId: 'ses-first' }
  expect([...(await loadTurns(sql, session, [seq], 1)).turns.values()]).toMatchObject([
    { seq, request: { preparedAt: expect.any(String), allowed: expect.arrayContaining(['lookup_order']) } },
  ])
  const calls = turn.decisions.flatMap(({ pending_call_id }) => pending_call_id ?? [])
  const [received] = await loadEventsAt(
    sql,
    session,
    [...(await loadReceipts(sql, session, calls)).values()].map(({ seq }) => seq),
  )
  expect(received).toMatchObject({ type: 'receipts', body: { receipts: [{ outcome: 'succeeded' }] } })
  expect(await listRecentBlocks(sql, tenantId, 10)).toMatchObject([
    { sessionId: 'ses-second', toolName: 'issue_refund' },
  ])
  const { problem } = await api.propose({
    params: { session_id: 'ses-first' },
    body: { prepared_request_id: turn.preparedRequestId, fence: 1, response: { content: null, tool_calls: [] } },
  })
  expect(problem.code).toBe('PREPARED_REQUEST_CONSUMED')
}

/** A pending call takes its receipt, and the same receipt again gets the same answer. */
async function expectReceipt(api: Api, call: PendingCallView | undefined): Promise<void> {
  if (call === undefined) throw new Error('no call is pending')
  const receipt: Receipt = {
    pending_call_id: call.pending_call_id,
    argument_hash: call.argument_hash,
    outcome: 'succeeded',
    evidence_level: 'executed',
    result_hash: 'a'.repeat(64),
    started_at: '2026-01-01T00:00:00.000Z',
    finished_at: '2026-01-01T00:00:01.000Z',
  }
  const send = () =>
    api.submitReceipts({ params: { session_id: 'ses-third' }, body: { fence: 1, receipts: [receipt] } })
  expect((await send()).body.committed).toBe(true)
  expect((await send()).body.results).toMatchObject([{ outcome: 'succeeded', at_level: true }])
}

async function expectUnusedRequests(api: Api): Promise<void> {
  const propose = async (id: string) => {
    const { status, problem } = await api.propose({
      params: { session_id: 'ses-fourth' },
      body: { prepared_request_id: id, fence: 1, response: { content: 'Fine.', tool_calls: [] } },
    })
    return status === 200 ? 200 : problem.code
  }
  expect(await propose('superseded')).toBe('PREPARED_REQUEST_STALE')
  expect(await propose('used-title')).toBe('PREPARED_REQUEST_CONSUMED')
  expect(await propose('without-tools')).toBe(200)
  expect(await propose('newest')).toBe(200)
  expect(await propose('never-made')).toBe('NOT_FOUND')
}
