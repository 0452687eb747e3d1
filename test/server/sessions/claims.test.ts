import { randomUUID } from 'node:crypto'
import type { Decision } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

const claim = (
  { sessionId, fence }: { sessionId: string; fence: number },
  { pending_call_id, argument_hash }: Pick<Decision, 'pending_call_id' | 'argument_hash'>,
  claim_id = `clm-${randomUUID()}`,
) => {
  const body = { fence, claim_id, pending_call_id: pending_call_id ?? '', argument_hash: argument_hash ?? '' }
  return api.claimCall({ params: { session_id: sessionId }, body })
}

async function proposed() {
  const session = await openSession(api)
  const { decisions } = await session.decide([LOOKUP])
  const [call] = decisions
  if (call === undefined) throw new Error('nothing was decided')
  return { session, call }
}

proves('control.claim', 'of twenty at once one gets the call, and gets it again under the same claim', async () => {
  const { session, call } = await proposed()
  const ids = Array.from({ length: 20 }, (_, at) => `clm-${at}`)
  const answers = await Promise.all(ids.map((id) => claim(session, call, id)))
  const winners = ids.filter((_, at) => answers[at]?.status === 200)
  expect(winners).toHaveLength(1)
  const codes = new Set(answers.filter(({ status }) => status !== 200).map(({ problem }) => problem.code))
  expect([...codes]).toEqual(['CALL_TAKEN'])
  const again = expectStatus(await claim(session, call, winners[0]), 200).body
  const { events } = await exportOf(api, session.sessionId)
  expect(events.filter(({ type }) => type === 'claimed').map(({ body }) => body)).toEqual([
    { pending_call_id: call.pending_call_id, claim_id: winners[0] },
  ])
  expect(again.ledger.seq).toBe(events.length)
  const params = { session_id: session.sessionId }
  const { body } = await api.loadSession({ params, query: { include: 'pending' } })
  expect(body.pending).toMatchObject([{ pending_call_id: call.pending_call_id, state: 'pending', claimed: true }])
  // What was claimed is settled as ever, and the next turn begins at the version that the client knows.
  expect((await session.receipts([receiptFor(call)])).body).toMatchObject({ committed: true })
  expect((await claim(session, call, winners[0])).status).toBe(404)
})

proves(
  'control.claim',
  'other arguments, another call, another fence, and a call with an outcome are refused',
  async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([
      { ...LOOKUP, id: 'c1' },
      { ...LOOKUP, id: 'c2' },
    ])
    const [call, second] = decisions as [Decision, Decision]
    const codeOf = async (answer: ReturnType<typeof claim>) => (await answer).problem.code
    expect(await codeOf(claim(session, { ...call, argument_hash: 'a'.repeat(64) }))).toBe('NOT_FOUND')
    expect(await codeOf(claim(session, { ...call, pending_call_id: 'pnd-unknown' }))).toBe('NOT_FOUND')
    expect(await codeOf(claim({ ...session, fence: session.fence + 1 }, call))).toBe('FENCE_STALE')
    await session.receipts([receiptFor(second)])
    expect(await codeOf(claim(session, second))).toBe('CALL_TAKEN')
    const params = { session_id: session.sessionId }
    const recovered = expectStatus(
      await api.recoverSession({ params, body: { holder_id: 'holder-2', takeover: true } }),
      200,
    ).body
    // It is in doubt now: the holder before may have run it.
    expect(await codeOf(claim({ ...session, fence: recovered.fence }, call))).toBe('CALL_TAKEN')
    expect((await exportOf(api, session.sessionId)).events.some(({ type }) => type === 'claimed')).toBe(false)
  },
)

proves('control.claim', 'a stopped or ended session, and that of another tenant, give nothing', async () => {
  const stranger = runtime.api((await runtime.createTenant()).key)
  const { session, call } = await proposed()
  const body = {
    fence: 1,
    claim_id: 'clm',
    pending_call_id: call.pending_call_id ?? '',
    argument_hash: call.argument_hash ?? '',
  }
  const foreign = await stranger.claimCall({ params: { session_id: session.sessionId }, body })
  expect(foreign.problem.code).toBe('NOT_FOUND')
  await api.endSession({ params: { session_id: session.sessionId }, body: { fence: 1 } })
  expect((await claim(session, call)).problem.code).toBe('SESSION_ENDED')
  const other = await proposed()
  await api.killSession({ params: { session_id: other.session.sessionId }, body: {} })
  expect((await claim(other.session, other.call)).problem.code).toBe('SESSION_KILLED')
})
