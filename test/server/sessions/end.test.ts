import type { SessionActivity } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()

const end = (session: { sessionId: string; fence: number }) =>
  api.endSession({ params: { session_id: session.sessionId }, body: { fence: session.fence } })

proves('control.end', 'an ended session takes no turn, until somebody recovers it', async () => {
  const session = await openSession(api)
  const prepared = expectStatus(await session.preflight(), 200).body
  if (prepared.outcome !== 'prepared') throw new Error('preflight was blocked')
  const ended = expectStatus(await end(session), 200).body
  expect(ended).toMatchObject({ status: 'ACTIVE', activity: 'ended' })
  expect((await end(session)).body).toEqual(ended)
  expect((await session.preflight()).problem.code).toBe('SESSION_ENDED')
  const late = await session.propose(prepared.prepared_request_id, [LOOKUP])
  expect(late.problem.code).toBe('SESSION_ENDED')
  const { session: view, ledger } = await session.load()
  expect(view).toMatchObject({ activity: 'ended', ended_at: expect.any(String) })
  expect(Date.parse(view.lease_until)).toBeLessThanOrEqual(Date.parse(view.ended_at ?? ''))
  expect(ledger.seq).toBe(ended.ledger.seq)

  const params = { session_id: session.sessionId }
  const recovered = expectStatus(await api.recoverSession({ params, body: { holder_id: 'holder-2' } }), 200).body
  expect(recovered.session).toMatchObject({ activity: 'running', ended_at: null })
  expect((await end(session)).problem.code).toBe('FENCE_STALE')
  session.fence = recovered.fence
  expect((await session.preflight()).status).toBe(200)
})

proves('control.end', 'an allowed call can still be answered after the end, and is unanswered until then', async () => {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP])
  await end(session)
  const unanswered = async () => {
    const { body } = await owner.call('loadSessionDetail', { params: { session_id: session.sessionId } })
    return [body.row.activity, body.row.unanswered]
  }
  expect(await unanswered()).toEqual(['ended', 1])
  expect((await session.receipts([receiptFor(decisions[0]!)])).body).toMatchObject({ committed: true })
  expect(await unanswered()).toEqual(['ended', 0])
})

proves('people.activity', 'each state has a list of its own, and the overview counts those that run', async () => {
  const agent = 'of-three-states'
  const open = () => openSession(api, { agent })
  const running = [await open(), await open()]
  const idle = await open()
  await runtime.sql`
    update session_heads set revision = revision || ':lapsed', lease_until = now() - interval '1 s'
    where session_id = ${idle.sessionId}`
  const [ended, killed, bypassed] = [await open(), await open(), await open()]
  await end(ended)
  await api.killSession({ params: { session_id: killed.sessionId }, body: {} })
  await api.reportBypass({ params: { session_id: bypassed.sessionId }, body: {} })
  const listed = async (activity: SessionActivity) =>
    (await owner.call('listSessions', { query: { agent, activity } })).body.items
  const ids = (sessions: { sessionId: string }[]) => sessions.map(({ sessionId }) => sessionId).sort()
  for (const [activity, sessions] of [
    ['running', running],
    ['idle', [idle]],
    ['ended', [ended, killed, bypassed]],
  ] as const) {
    const rows = await listed(activity)
    expect(rows.map((row) => row.session_id).sort()).toEqual(ids([...sessions]))
    for (const session of sessions) expect((await session.load()).session.activity).toBe(activity)
    for (const row of rows) expect(row.activity).toBe(activity)
  }
  const all = (await owner.call('listSessions', { query: { activity: 'running' } })).body.items
  const { totals } = (await owner.call('loadOverview', { query: { range: '1h' } })).body
  expect(totals.active_sessions).toBe(all.length)
})

proves('people.list.sorted-as-headed', async () => {
  const agent = 'of-three-starts'
  const ids: string[] = []
  for (const hours of [3, 1, 2]) {
    const { sessionId } = await openSession(api, { agent })
    ids.push(sessionId)
    await runtime.sql`
      update sessions set created_at = created_at - ${`${hours} hours`}::interval where session_id = ${sessionId}`
  }
  const listed = async (query: object) =>
    (await owner.call('listSessions', { query: { agent, ...query } })).body.items.map(({ session_id }) => session_id)
  const [first, third, second] = ids
  expect(await listed({})).toEqual([third, second, first])
  expect(await listed({ order: 'oldest' })).toEqual([first, second, third])
  const since = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  expect(await listed({ from: since(2.5), to: since(1.5) })).toEqual([second])
})
