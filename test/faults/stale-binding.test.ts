import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import {
  attachSession,
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
  reserve,
} from '../support/runtime/governed-session.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ instances: 2 })

const CHANGES: Record<string, (session: GovernedSession, params: { session_id: string }) => Promise<unknown>> = {
  'a label': (_session, params) => api.addLabel({ params, body: { label: 'tainted' } }),
  'a tool filter': (_session, params) =>
    api.setToolFilter({ params, body: { fence: 1, tools: ['reserve', 'lookup_order'] } }),
  'a bypass report': (_session, params) => api.reportBypass({ params, body: {} }),
  'a kill': (_session, params) => api.killSession({ params, body: {} }),
  'a recovery': (_session, params) => api.recoverSession({ params, body: { holder_id: 'other' } }),
  'a newer preflight': (session) => session.preflight(),
}

describe('between preflight and proposal', () => {
  test.each(Object.entries(CHANGES))('%s makes the proposal fail', async (_name, change) => {
    const session = await openSession(api)
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id })
    await change(session, { session_id: session.sessionId })
    const before = await session.load()
    const { status } = await session.propose(id, [LOOKUP])
    expect(status).toBe(409)
    expect(await session.load()).toEqual(before)
    expect(before.pending).toEqual([])
  })

  test.each(Object.keys(CHANGES))(
    '%s at the same moment: accepted before it or refused, never after',
    async (name) => {
      const change = CHANGES[name]!
      for (let round = 0; round < rounds(4, 80); round++) {
        const session = await openSession(api)
        const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
        const id = randomUUID()
        await session.preflight({ prepared_request_id: id })
        const [proposed] = await Promise.all([
          other.propose(id, [LOOKUP]),
          change(session, { session_id: session.sessionId }),
        ])
        const { body } = await api.exportEvents({ params: { session_id: session.sessionId } })
        const types = body.events.map(({ type }) => type)
        expect(proposed.status === 200).toBe(types.includes('proposal'))
        // The event of the change, where it has one, comes last: the proposal was bound to the state before it.
        if (types.length === 3) expect(types[1]).toBe('proposal')
      }
    },
    PATIENCE_MS,
  )
})

test(
  'two requests prepared on one state cannot both use one budget',
  async () => {
    for (let round = 0; round < rounds(10, 200); round++) {
      const session = await openSession(api)
      const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
      const ids = [randomUUID(), randomUUID()]
      await Promise.all([
        session.preflight({ prepared_request_id: ids[0]! }),
        other.preflight({ prepared_request_id: ids[1]! }),
      ])
      const answers = await Promise.all([
        session.propose(ids[0]!, [reserve(60)]),
        other.propose(ids[1]!, [reserve(60)]),
      ])
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await session.load()).pending).toHaveLength(1)
    }
  },
  PATIENCE_MS,
)

test('a prepared request that a crash of PostgreSQL lost is not used, though the server that made it remembers it', async () => {
  const session = await openSession(api)
  const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
  const [lost, newer] = [randomUUID(), randomUUID()]
  const { sql } = runtime
  const [before] = await sql`select * from session_heads where session_id = ${session.sessionId}`
  expect((await session.preflight({ prepared_request_id: lost })).status).toBe(200)
  // A preflight does not wait for the disk: after a crash the database is as it was before.
  await sql`
    update session_heads set revision = ${before!.revision}, facts = ${before!.facts}, prepared = ${before!.prepared},
      narrowing = ${before!.narrowing}, lease_until = ${before!.leaseUntil}
    where session_id = ${session.sessionId}`
  expect((await other.preflight({ prepared_request_id: newer })).status).toBe(200)
  expect((await session.propose(lost, [reserve(1)])).status).toBe(404)
  expect((await session.propose(newer, [reserve(1)])).status).toBe(200)
})

describe('two holders on one session id', () => {
  test('of two creates with different holders one gets the session and the other learns that it is held', async () => {
    for (let round = 0; round < rounds(5, 100); round++) {
      const first = await openSession(api)
      const body = { session_id: randomUUID(), compiled_hash: first.plan.compiled_hash }
      const answers = await Promise.all(
        ['holder-a', 'holder-b'].map((holder_id, index) =>
          runtime.api(runtime.key, runtime.instances[index]).createSession({ body: { ...body, holder_id } }),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
      expect(answers.find(({ status }) => status === 409)?.problem.code).toBe('SESSION_HELD')
    }
  })

  test('of two recoveries at once each gets a fence of its own, and only the newer one may write', async () => {
    for (let round = 0; round < rounds(5, 100); round++) {
      const session = await openSession(api)
      const params = { session_id: session.sessionId }
      const answers = await Promise.all(
        ['holder-a', 'holder-b'].map((holder_id, index) =>
          runtime.api(runtime.key, runtime.instances[index]).recoverSession({ params, body: { holder_id } }),
        ),
      )
      const fences = answers.map(({ body }) => body.fence)
      expect(fences.toSorted()).toEqual([2, 3])
      for (const fence of [2, 3]) {
        session.fence = fence
        expect((await session.preflight()).status).toBe(fence === 3 ? 200 : 409)
      }
    }
  })

  test('the former holder cannot resolve the calls that the new one was given', async () => {
    const session = await openSession(api)
    const params = { session_id: session.sessionId }
    const recovered = await api.recoverSession({ params, body: { holder_id: 'holder-b' } })
    const second = attachSession(api, session)
    second.fence = recovered.body.fence
    const { decisions } = await second.decide([LOOKUP])
    const zombie = await session.receipts([receiptFor(decisions[0]!)])
    expect(zombie.body).toMatchObject({ results: [{ late: true }], committed: false, state_version: 0 })
    expect((await second.load()).pending).toMatchObject([{ state: 'pending' }])
    expect((await second.receipts([receiptFor(decisions[0]!)])).body).toMatchObject({
      committed: true,
      state_version: 1,
    })
  })
})
