import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { STATE_SNAPSHOT_FIELDS } from '../../support/runtime/snapshot-fields.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { api } = await withRuntime()

proves('endpoint.session-get', async () => {
  const session = await openSession(api, { agent: 'support', principal: { id: 'ann' } })
  const { status, body } = await api.loadSession({ params: { session_id: session.sessionId } })
  expect(status).toBe(200)
  expect(body.session).toEqual(session.created.session)
  expect(Object.keys(body.session.state).sort()).toEqual(STATE_SNAPSHOT_FIELDS)
  expect(body.session.state).toMatchObject({ sessionId: session.sessionId, agent: 'support', principal: null })
})

proves(
  ['endpoint.session-get.pending', 'endpoint.session-get.pending-on-request'],
  'pending calls are shown when they are asked for and left out otherwise',
  async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    const { pending } = await session.load()
    expect(pending).toEqual([
      expect.objectContaining({
        pending_call_id: decisions[0]?.pending_call_id,
        idempotency_key: decisions[0]?.idempotency_key,
        argument_hash: session.hash(LOOKUP.args),
        tool_name: 'lookup_order',
        state: 'pending',
        checkpoint_required: false,
      }),
    ])
    const plain = await api.loadSession({ params: { session_id: session.sessionId } })
    expect(plain.body).not.toHaveProperty('pending')
  },
)

proves(
  'endpoint.session-get.pending',
  'a call with an outcome is not pending while the others of its step are',
  async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([
      { ...LOOKUP, id: 'a' },
      { ...LOOKUP, id: 'b' },
    ])
    const [first, second] = decisions
    if (first === undefined || second === undefined) throw new Error('two calls were proposed')
    await session.receipts([receiptFor(first)])
    const { pending } = await session.load()
    expect(pending?.map(({ pending_call_id, state }) => [pending_call_id, state])).toEqual([
      [second.pending_call_id, 'pending'],
    ])
    await session.receipts([receiptFor(second)])
    expect((await session.load()).pending).toEqual([])
  },
)

test('an unknown session is 404', async () => {
  const { status, problem } = await api.loadSession({ params: { session_id: 'nobody' } })
  expect([status, problem.code]).toEqual([404, 'NOT_FOUND'])
})
