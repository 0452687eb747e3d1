import { expect, test } from 'vitest'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { api, owner } = await withOwnedRuntime()

test('a call that two rules block for the same reason is not reported as changed', async () => {
  const plan = planOf([
    {
      tool: 'pay',
      side_effect: 'write',
      arguments: { properties: { amount: { type: 'number' } } },
      argument_value_invariants: [{ path: '$.to', one_of: ['known'] }],
    },
  ])
  const session = await openSession(api, { plan, capture_level: 'redacted' })
  const { body } = await session.preflight({ tools: [{ name: 'pay' }] })
  if (body.outcome !== 'prepared') throw new Error('blocked')
  const call = { id: 'a', name: 'pay', arguments: JSON.stringify({ amount: 'much', to: 'unknown' }) }
  const verdict = await session.propose(body.prepared_request_id, [], { response: { tool_calls: [call] } })
  const reasons = verdict.body.decisions[0]?.reasons.map(({ reason }) => reason)
  expect(reasons).toEqual(['argument_value_mismatch', 'argument_value_mismatch'])
  const timeline = await owner.call('loadTimeline', { params: { session_id: session.sessionId } })
  expect(timeline.body.items.map(({ type, changed }) => [type, changed])).toEqual([
    ['created', undefined],
    ['proposal', undefined],
  ])
})
