import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createCaptureRecorder } from '../../packages/server/src/captures/capture-recorder.js'
import { createWaitingBytes } from '../../packages/server/src/captures/waiting-bytes.js'
import type { CaptureRecorder } from '../../packages/server/src/context/context.js'
import { checkSession } from '../support/model/session-checker.js'
import { type Fault, faultyDatabase } from '../support/postgres/faulty-database.js'
import { type Attempt, describeLostWrites } from '../support/postgres/lost-writes.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../support/runtime/plans.js'
import { type Answer, type Api, type Runtime, startRuntime } from '../support/runtime/runtime.js'

const store = faultyDatabase()
let runtime: Runtime
let api: Api
let recorder: CaptureRecorder | null = null
beforeAll(async () => {
  // Captures of governed sessions are written beside the requests, a moment later: where they are looked at, by hand.
  const captures: CaptureRecorder = {
    note: (tenantId, item) => recorder?.note(tenantId, item),
    flush: async () => {},
    close: async () => {},
  }
  runtime = await startRuntime({ wrapDatabase: store.wrap, parts: { captures } })
  api = runtime.api()
})
afterAll(() => runtime.close())

const plan = planOf(HELP_DESK)

/** Every write of a session, as a request that can be sent again. */
const WRITES: Record<string, () => Promise<Attempt>> = {
  create: async () => {
    const body = { session_id: randomUUID(), holder_id: 'h', ...plan }
    return { id: body.session_id, send: () => api.createSession({ body }) }
  },
  preflight: async () => {
    const session = await openSession(api)
    const given = { prepared_request_id: randomUUID() }
    return { id: session.sessionId, send: () => session.preflight(given) }
  },
  proposal: async () => {
    const session = await openSession(api)
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id })
    const again = { status: 409, code: 'PREPARED_REQUEST_CONSUMED' }
    return { id: session.sessionId, send: () => session.propose(id, [LOOKUP]), again }
  },
  receipts: async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    return { id: session.sessionId, send: () => session.receipts([receiptFor(decisions[0]!)]) }
  },
  'receipts that prepare the next turn': async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    const next = { prepared_request_id: randomUUID(), tools: [{ name: 'lookup_order' }] }
    return { id: session.sessionId, send: () => session.receipts([receiptFor(decisions[0]!)], 1, next) }
  },
  'receipts with changed arguments': async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    const changed = receiptFor(decisions[0]!, { argument_hash: 'b'.repeat(64) })
    const again = { status: 409, code: 'ARGUMENTS_CHANGED' }
    return { id: session.sessionId, send: () => session.receipts([changed]), again }
  },
  'late receipts': async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    await api.recoverSession({ params: paramsOf(session), body: { holder_id: 'b', takeover: true } })
    return { id: session.sessionId, send: () => session.receipts([receiptFor(decisions[0]!)], 1) }
  },
  label: control((session) => api.addLabel({ params: paramsOf(session), body: { label: 'a' } })),
  'tool filter': control((session) =>
    api.setToolFilter({ params: paramsOf(session), body: { fence: 1, tools: ['a'] } }),
  ),
  bypass: control((session) => api.reportBypass({ params: paramsOf(session), body: {} })),
  kill: control((session) => api.killSession({ params: paramsOf(session), body: { reason: 'why' } })),
  claim: async () => {
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    const { pending_call_id, argument_hash } = decisions[0]!
    const body = {
      fence: 1,
      claim_id: 'clm-1',
      pending_call_id: pending_call_id ?? '',
      argument_hash: argument_hash ?? '',
    }
    return { id: session.sessionId, send: () => api.claimCall({ params: paramsOf(session), body }) }
  },
  end: control((session) => api.endSession({ params: paramsOf(session), body: { fence: 1 } })),
  recover: control((session) => api.recoverSession({ params: paramsOf(session), body: { holder_id: 'b' } })),
}

function control(send: (session: GovernedSession) => Promise<Answer<unknown>>): () => Promise<Attempt> {
  return async () => {
    const session = await openSession(api)
    return { id: session.sessionId, send: () => send(session) }
  }
}

const paramsOf = ({ sessionId }: GovernedSession) => ({ session_id: sessionId })

/** Everything that is stored of a session, without times, revisions, and ids that chance makes. */
async function keptOf(sessionId: string): Promise<Record<string, number>> {
  const tables = [
    'sessions',
    'session_events',
    'prepared_requests',
    'proposals',
    'pending_calls',
    'receipts',
    'late_receipts',
    'content',
  ]
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [row] = await runtime.sql`select count(*) from ${runtime.sql(table)} where session_id = ${sessionId}`
      return [table, row?.count] as const
    }),
  )
  const [audited] = await runtime.sql`select count(*) from audit_entries where subject = ${sessionId}`
  return { ...Object.fromEntries(counts), audited: audited?.count }
}

describeLostWrites({
  store,
  writes: WRITES,
  keptOf,
  problemsOf: async (sessionId) => checkSession(runtime.sql, sessionId, await exportOf(api, sessionId)),
})

describe('captures of governed sessions, which are written after the answer', () => {
  afterEach(() => {
    recorder = null
  })
  const record = () => {
    recorder = createCaptureRecorder(runtime.instances[0].parts, createWaitingBytes(4_000_000))
    return recorder
  }
  const capturesOf = (sessionId: string) =>
    runtime.sql`select tool_names, decision from captures where conversation_id = ${sessionId}`

  test.each<[Fault, string]>([
    ['before', 'never reaches the store'],
    ['after', 'is done and its answer lost'],
  ])('%s: a batch that %s is written again, stored once, and no turn notices', async (fault) => {
    const captures = record()
    const session = await openSession(api)
    const { decisions } = await session.decide([LOOKUP])
    store.takeWrites()
    store.failNext(fault)
    await captures.flush()
    expect(store.takeWrites()).toBe(1)
    expect((await session.receipts([receiptFor(decisions[0]!)])).body).toMatchObject({ committed: true })
    await captures.close()
    expect(await capturesOf(session.sessionId)).toEqual([{ toolNames: ['lookup_order'], decision: 'allow' }])
    expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
  })

  test.each<Fault>(['before', 'after'])('a proposal is lost (%s) while a batch is being written', async (fault) => {
    const captures = record()
    const earlier = await openSession(api)
    await earlier.decide([LOOKUP])
    const session = await openSession(api)
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id })
    const flushing = await runtime.sql.begin(async (tx) => {
      await tx`lock table captures in exclusive mode`
      store.takeWrites()
      const flushing = captures.flush()
      while (store.takeWrites() === 0) await new Promise((done) => setImmediate(done))
      store.failNext(fault)
      expect((await session.propose(id, [LOOKUP])).status).toBe(503)
      const again = await session.propose(id, [LOOKUP])
      expect(again.status).toBe(fault === 'before' ? 200 : 409)
      return { done: flushing }
    })
    await flushing.done
    await captures.close()
    expect(await capturesOf(earlier.sessionId)).toHaveLength(1)
    // Of a proposal whose answer was lost the ledger tells, which is what counts; captures may miss it.
    expect(await capturesOf(session.sessionId)).toHaveLength(fault === 'before' ? 1 : 0)
    expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
  })
})

test('a proposal whose answer was lost goes on with the decisions of the refusal to its commit', async () => {
  const session = await openSession(api)
  const id = randomUUID()
  await session.preflight({ prepared_request_id: id })
  store.failNext('after')
  expect((await session.propose(id, [LOOKUP])).status).toBe(503)
  const { problem } = await session.propose(id, [LOOKUP])
  const { decisions } = problem.proposal as { decisions: Parameters<typeof receiptFor>[0][] }
  const { body } = await session.receipts([receiptFor(decisions[0]!)])
  expect(body).toMatchObject({ committed: true, state_version: 1 })
})
