import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

async function opened() {
  const session = await openSession(api)
  return { session, params: { session_id: session.sessionId } }
}

proves(
  ['endpoint.recover', 'control.recover', 'state.recover.rotates-fence', 'state.recover'],
  'with nothing pending anybody may take the session up; the former holder is shut out',
  async () => {
    const { session, params } = await opened()
    await session.turn([LOOKUP])
    const { status, body } = await api.recoverSession({ params, body: { holder_id: 'holder-2' } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ fence: 2, in_doubt: [], session: { status: 'ACTIVE', state_version: 1 } })
    expect(body.hash_salt).toBe(session.created.hash_salt)
    expect((await session.preflight()).problem.code).toBe('FENCE_STALE')
    session.fence = body.fence
    expect((await session.preflight()).status).toBe(200)
  },
)

proves('state.recover', 'a session that was killed or bypassed is not recoverable, and keeps its holder', async () => {
  for (const stop of ['killSession', 'reportBypass'] as const) {
    const { session, params } = await opened()
    await api[stop]({ params, body: {} })
    const before = await session.load()
    for (const takeover of [false, true]) {
      const refused = await api.recoverSession({ params, body: { holder_id: 'b', takeover } })
      expect([stop, refused.status, refused.problem.code]).toEqual([stop, 409, 'NOT_RECOVERABLE'])
    }
    expect(await session.load()).toEqual(before)
  }
})

test('while calls wait and the lease runs it is 409 LEASE_ACTIVE with the time; a lapsed lease or takeover gets in', async () => {
  for (const way of ['takeover', 'lapsed'] as const) {
    const { session, params } = await opened()
    await session.decide([LOOKUP])
    const refused = await api.recoverSession({ params, body: { holder_id: 'b' } })
    expect([refused.status, refused.problem.code]).toEqual([409, 'LEASE_ACTIVE'])
    expect(Date.parse(String(refused.problem.lease_until))).toBeGreaterThan(Date.now())
    if (way === 'lapsed') {
      await runtime.sql`update session_heads set revision = revision || ':lapsed', lease_until = now() - interval '1 s' where session_id = ${session.sessionId}`
    }
    const { body } = expectStatus(
      await api.recoverSession({ params, body: { holder_id: 'b', ...(way === 'takeover' ? { takeover: true } : {}) } }),
      200,
    )
    expect(body.session.status).toBe('RECOVERING')
  }
})

test('calls without a receipt are in doubt; when each has an outcome the session is active again', async () => {
  const { session, params } = await opened()
  const { decisions } = await session.decide([LOOKUP])
  const { body } = await api.recoverSession({ params, body: { holder_id: 'b', takeover: true } })
  expect(body.in_doubt).toMatchObject([{ pending_call_id: decisions[0]?.pending_call_id, state: 'in_doubt' }])
  const [row] = await runtime.sql`select state from pending_calls where session_id = ${session.sessionId}`
  expect(row?.state).toBe('in_doubt')
  session.fence = body.fence
  const settled = await session.receipts([receiptFor(decisions[0]!, { outcome: 'unknown' })])
  expect(settled.body).toMatchObject({ status: 'ACTIVE', committed: false, state_version: 0 })
  expect((await session.preflight()).status).toBe(200)
})

test('the same recovery again, its answer lost, gives the same fence', async () => {
  const { params } = await opened()
  const first = await api.recoverSession({ params, body: { holder_id: 'b' } })
  const again = await api.recoverSession({ params, body: { holder_id: 'b' } })
  expect(again.body).toEqual(first.body)
  expect((await api.recoverSession({ params, body: { holder_id: 'c' } })).body.fence).toBe(first.body.fence + 1)
})

test('a request that was prepared before the recovery is void', async () => {
  const { session, params } = await opened()
  const { body } = await session.preflight()
  const recovered = await api.recoverSession({ params, body: { holder_id: 'b' } })
  session.fence = recovered.body.fence
  const id = body.outcome === 'prepared' ? body.prepared_request_id : ''
  expect((await session.propose(id, [LOOKUP])).problem.code).toBe('PREPARED_REQUEST_STALE')
})
