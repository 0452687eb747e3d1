import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createMemories } from '../../../packages/server/src/base/memories.js'
import { createSessionCache } from '../../../packages/server/src/context/session-cache.js'
import type { SessionRow } from '../../../packages/server/src/store/sessions/session-row.js'
import { loadSession } from '../../../packages/server/src/store/sessions/sessions.js'
import {
  ALL_TOOLS,
  attachSession,
  type GovernedSession,
  LOOKUP,
  openSession,
  refund,
  reserve,
  succeeded,
} from '../../support/runtime/governed-session.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

const plain = (row: SessionRow | null) => JSON.parse(JSON.stringify({ ...row, now: null }))

/** What the first instance keeps of the session is what the database has. */
async function expectSame({ sessionId }: GovernedSession): Promise<void> {
  const cached = runtime.instances[0].parts.sessions.find(sessionId)
  expect(cached).not.toBeNull()
  expect(plain(cached)).toEqual(plain(await loadSession(runtime.sql, runtime.tenantId, sessionId)))
}

describe('a session as this process last wrote it', () => {
  test('is what is stored, after every step of a turn', async () => {
    const session = await openSession(runtime.api(), { labels: ['vip'], principal: { id: 'ann' }, agent: 'a' })
    const prepare = async (tools = ALL_TOOLS) => {
      const { body } = await session.preflight({ prepared_request_id: randomUUID(), tools })
      await expectSame(session)
      return body.outcome === 'prepared' ? body.prepared_request_id : ''
    }
    const { decisions } = (await session.propose(await prepare(), [LOOKUP])).body
    await expectSame(session)
    session.stateVersion = (await session.receipts(succeeded(decisions))).body.state_version
    await expectSame(session)
    await session.propose(await prepare(), [refund(900)])
    await expectSame(session)
    await prepare([])
    const { decisions: refunds } = (await session.propose(await prepare(), [refund(5)])).body
    await expectSame(session)
    const forged = succeeded(refunds).map((receipt) => ({ ...receipt, argument_hash: 'f'.repeat(64) }))
    const changed = await session.receipts(forged)
    expect(changed.problem.code).toBe('ARGUMENTS_CHANGED')
    await expectSame(session)
  })

  test('has the recent calls as they are stored: what repeats itself is seen by another instance, too', async () => {
    const plan = planOf(HELP_DESK, { session_limits: { loop_detection: { window: 4, threshold: 2 } } })
    const session = await openSession(runtime.api(), { plan })
    const recent = async () =>
      (await loadSession(runtime.sql, runtime.tenantId, session.sessionId))?.head.state.recent.map(({ tool }) => tool)
    const { decisions } = await session.decide([LOOKUP, reserve(1, 'r')])
    await expectSame(session)
    expect(await recent()).toEqual(['lookup_order', 'reserve'])
    const [, reserved] = succeeded(decisions)
    session.stateVersion = (await session.receipts(succeeded(decisions).slice(0, 1))).body.state_version
    await expectSame(session)
    // A call that was not made did not repeat anything.
    await session.receipts([{ ...reserved!, outcome: 'not_executed', evidence_level: 'reported' }])
    await expectSame(session)
    expect(await recent()).toEqual(['lookup_order'])
    const elsewhere = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
    elsewhere.stateVersion = (await session.load()).session.state_version
    expect((await elsewhere.decide([LOOKUP])).decisions).toMatchObject([{ decision: 'block', reason: 'loop_detected' }])
  })

  test('is not used once another instance has written: a label and a kill count at once', async () => {
    const elsewhere = runtime.api(runtime.key, runtime.instances[1])
    const session = await openSession(runtime.api())
    await session.turn([LOOKUP])
    const params = { session_id: session.sessionId }
    await elsewhere.addLabel({ params, body: { label: 'untrusted_input' } })
    const labelled = await session.preflight()
    expect(labelled.body.outcome === 'prepared' && labelled.body.removed.map(({ tool }) => tool)).toEqual([
      'issue_refund',
    ])
    await elsewhere.killSession({ params, body: {} })
    expect((await session.preflight()).problem.code).toBe('SESSION_KILLED')
  })

  test('of one tenant is never that of another by the same id', async () => {
    const other = await runtime.createTenant()
    const session_id = `shared-${randomUUID()}`
    const [mine, theirs] = [
      await openSession(runtime.api(), { session_id, labels: ['mine'] }),
      await openSession(runtime.api(other.key), { session_id, labels: ['theirs'] }),
    ]
    for (let turn = 0; turn < 3; turn++) {
      await mine.turn([LOOKUP])
      expect((await theirs.load()).session.labels).toEqual(['theirs'])
      await theirs.preflight()
      expect((await mine.load()).session).toMatchObject({ labels: ['mine'], state_version: turn + 1 })
    }
  })
})

test('no more sessions are cached than fit', () => {
  const head = { state: { recent: [] }, prepared: null, lastNarrowing: null } as unknown as SessionRow['head']
  const cache = createSessionCache(createMemories({ memoryMb: 0.09 }).cache('sessions'))
  for (const sessionId of ['a', 'b', 'a', 'c'])
    cache.remember({ fixed: { tenantId: 'ten_1', sessionId } as SessionRow['fixed'], head, now: new Date() })
  expect(['a', 'b', 'c'].map((id) => cache.find(id)?.fixed.sessionId ?? null)).toEqual(['a', null, 'c'])
})
