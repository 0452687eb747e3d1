import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkSession } from '../../support/model/session-checker.js'
import { proves } from '../../support/proves.js'
import {
  ALL_TOOLS,
  attachSession,
  expectStatus,
  type GovernedSession,
  LOOKUP,
  openSession,
  refund,
  reserve,
  succeeded,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { HELP_DESK, planOf, type TestPlan } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ instances: 2 })
const nextOf = (id = randomUUID()) => ({
  prepared_request_id: id,
  tools: ALL_TOOLS,
  provider: 'openai',
  model: 'gpt-5',
})
const helpDesk = planOf(HELP_DESK)

/** The receipts of a turn, and the request that they are to prepare. */
async function lookedUp(plan: TestPlan = helpDesk, next = nextOf()) {
  const session = await openSession(api, { plan })
  const id = randomUUID()
  expectStatus(await session.preflight({ prepared_request_id: id, request: { '$.model': 'gpt-5' } }), 200)
  const { decisions } = expectStatus(await session.propose(id, [LOOKUP]), 200).body
  const receipts = succeeded(decisions)
  const send = () => session.receipts(receipts, session.fence, next)
  return { session, receipts, next, id: next.prepared_request_id, send }
}

/** A turn whose receipts were answered. */
async function prepared(plan?: TestPlan) {
  const turn = await lookedUp(plan)
  const { body } = expectStatus(await turn.send(), 200)
  turn.session.stateVersion = body.state_version
  return { ...turn, body }
}

/** Of a plan that it has not used before, a server works out the first requests in a thread, where nothing is prepared ahead. */
async function untilInPlace(plan: TestPlan): Promise<void> {
  for (let tried = 0; (await prepared(plan)).body.next === null; tried++) {
    if (tried === 100) throw new Error('nothing is prepared with receipts')
    await new Promise((done) => setTimeout(done, 50))
  }
}

const headOf = async ({ sessionId }: GovernedSession) => {
  const [head] =
    await runtime.sql`select prepared::json ->> 'id' as id from session_heads where session_id = ${sessionId}`
  return head?.id
}

beforeAll(() => untilInPlace(helpDesk))

describe('receipts that name the next request', () => {
  proves('turn.next', 'prepare it in their write, as a preflight would', async () => {
    const { session, body, id } = await prepared()
    expect(await headOf(session)).toBe(id)
    const asked = expectStatus(await session.preflight(nextOf()), 200).body
    if (asked.outcome !== 'prepared') throw new Error('blocked')
    const { bound, allowed, removed, remaining } = asked
    expect(body.next).toEqual({ bound, allowed, removed, remaining, expires_at: expect.any(String) })
    expect(bound).toMatchObject({ state_version: 1 })
    expect(allowed).toContain('issue_refund')
    const exported = await exportOf(api, session.sessionId)
    expect(exported.events.map(({ type }) => type)).toEqual(['created', 'proposal', 'receipts'])
    expect(await checkSession(runtime.sql, session.sessionId, exported)).toEqual([])
  })

  proves(
    ['turn.next', 'turn.prepared-request.single-use'],
    'of many proposals on it, over two instances, one is accepted',
    async () => {
      const { session, id } = await prepared()
      const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? session : other).propose(id, [reserve(60, `c${at}`)])),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await session.load()).pending).toHaveLength(1)
      expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
    },
  )

  const CHANGES: Record<string, (session: GovernedSession, params: { session_id: string }) => Promise<unknown>> = {
    'a label': (_, params) => api.addLabel({ params, body: { label: 'tainted' } }),
    'a kill': (_, params) => api.killSession({ params, body: {} }),
    'a recovery': (_, params) => api.recoverSession({ params, body: { holder_id: 'other', takeover: true } }),
    'a newer preflight': (session) => session.preflight(),
  }
  for (const [what, change] of Object.entries(CHANGES)) {
    proves(['turn.next', 'turn.prepared-request.bound-to-state'], `prepare what ${what} makes stale`, async () => {
      const { session, id } = await prepared()
      await change(session, { session_id: session.sessionId })
      const before = await session.load()
      expect((await session.propose(id, [LOOKUP])).status).toBe(409)
      expect(await session.load()).toEqual(before)
    })
  }
})

const LIMITED = planOf(HELP_DESK, { session_limits: { max_steps: 2 } })
const BREAKING = planOf(HELP_DESK, { session_limits: { circuit_breaker: { consecutive_errors: 1 } } })
const READS_INPUTS = planOf([
  {
    tool: 'lookup_order',
    side_effect: 'read',
    assertions: { input_invariants: [{ path: '$.model', regex: '^gpt-' }] },
  },
])
const SHARED = planOf(HELP_DESK, {
  shared_limits: [{ name: 'mails', tool: 'send_mail', per: { argument: '$.to' }, max_calls: 3, window: '24h' }],
})

describe('receipts are recorded, and the next request is not prepared', () => {
  const expectNone = async (session: GovernedSession, answer: Awaited<ReturnType<GovernedSession['receipts']>>) => {
    expect(expectStatus(answer, 200).body.next).toBeNull()
    expect(await headOf(session)).toBeNull()
  }

  proves('turn.next', 'while another call waits', async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const { decisions } = await session.decide([refund(1), reserve(1, 'r')])
    const [first, second] = succeeded(decisions)
    await expectNone(session, await session.receipts([first!], 1, nextOf()))
    expect((await session.receipts([second!], 1, nextOf())).body.next).not.toBeNull()
  })

  proves('turn.next', 'where a preflight would be blocked', async () => {
    await untilInPlace(LIMITED)
    const { session } = await prepared(LIMITED)
    const { decisions } = await session.decide([LOOKUP])
    await expectNone(session, await session.receipts(succeeded(decisions), 1, nextOf()))
    session.stateVersion = 2
    expect((await session.preflight()).body).toMatchObject({ outcome: 'blocked' })
  })

  proves('turn.next', 'where the receipts kill the session', async () => {
    await untilInPlace(BREAKING)
    const { session, receipts } = await lookedUp(BREAKING)
    const failed = receipts.map((receipt) => ({ ...receipt, outcome: 'failed' as const }))
    const answer = await session.receipts(failed, 1, nextOf())
    expect(answer.body.status).toBe('KILLED')
    await expectNone(session, answer)
  })

  proves('turn.next', 'for a former holder, or after the session has ended', async () => {
    const { session, receipts } = await lookedUp()
    const params = { session_id: session.sessionId }
    await api.recoverSession({ params, body: { holder_id: 'b', takeover: true } })
    await expectNone(session, await session.receipts(receipts, 1, nextOf()))
    const unknown = receipts.map((one) => ({
      ...one,
      outcome: 'unknown' as const,
      evidence_level: 'reported' as const,
    }))
    expect((await session.receipts(unknown, 2)).body.status).toBe('ACTIVE')
    const failed = receipts.map((one) => ({ ...one, outcome: 'failed' as const }))
    await expectNone(session, await session.receipts(failed, 1, nextOf()))
    const ended = await lookedUp()
    await api.endSession({ params: { session_id: ended.session.sessionId }, body: { fence: 1 } })
    await expectNone(ended.session, await ended.send())
  })

  proves('turn.next', 'where rules read the request, or a limit is shared', async () => {
    for (const plan of [READS_INPUTS, SHARED]) {
      for (let turn = 0; turn < 4; turn++) {
        const next = { ...nextOf(), tools: [{ name: 'lookup_order' }] }
        const { session, send } = await lookedUp(plan, next)
        await expectNone(session, await send())
        await new Promise((done) => setTimeout(done, 50))
      }
    }
  })

  proves('turn.next', 'under an id that a request has or had', async () => {
    const { session, id } = await prepared()
    const { decisions } = expectStatus(await session.propose(id, [LOOKUP]), 200).body
    await expectNone(session, await session.receipts(succeeded(decisions), 1, nextOf(id)))
    const apart = randomUUID()
    session.stateVersion = 2
    expectStatus(await session.preflight({ prepared_request_id: apart, tools: [] }), 200)
    const again = await session.decide([LOOKUP])
    await expectNone(session, await session.receipts(succeeded(again.decisions), 1, nextOf(apart)))
  })
})

describe('receipts that are sent again', () => {
  proves('turn.next.same-again', 'get the same prepared request', async () => {
    const { session, body, send } = await prepared()
    expect((await send()).body.next).toEqual(body.next)
    expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
  })

  proves('turn.next.same-again', 'get none for other tools, or by another id', async () => {
    const { session, receipts, next } = await prepared()
    const others = { ...next, tools: [{ name: 'lookup_order' }] }
    expect((await session.receipts(receipts, 1, others)).body.next).toBeNull()
    expect((await session.receipts(receipts, 1, nextOf())).body.next).toBeNull()
    expect((await session.receipts(receipts)).body.next).toBeNull()
    expect((await session.receipts(receipts, 1, next)).body.next).not.toBeNull()
  })

  proves('turn.next.same-again', 'get none once it is used, or the session has moved on', async () => {
    const used = await prepared()
    expectStatus(await used.session.propose(used.id, [LOOKUP]), 200)
    expect((await used.send()).body.next).toBeNull()
    const labelled = await prepared()
    const params = { session_id: labelled.session.sessionId }
    await api.addLabel({ params, body: { label: 'tainted' } })
    expect((await labelled.send()).body.next).toBeNull()
    const killed = await prepared()
    await api.killSession({ params: { session_id: killed.session.sessionId }, body: {} })
    expect((await killed.send()).body.next).toBeNull()
  })
})

test('a request without tools is not prepared with receipts', async () => {
  const { session, receipts } = await lookedUp()
  expect((await session.receipts(receipts, 1, { ...nextOf(), tools: [] })).status).toBe(400)
})
