import type { Worker } from 'node:worker_threads'
import type { Contract } from '@countersign/protocol'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'
import type { PoolLimits } from '../../../packages/server/src/base/work/thread-pool.js'
import { createIsolation } from '../../../packages/server/src/process/isolation.js'
import { rounds } from '../../support/data/rounds.js'
import { checkSession } from '../../support/model/session-checker.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres/postgres-proxy.js'
import { proves } from '../../support/proves.js'
import { calls } from '../../support/runtime/agent.js'
import {
  attachSession,
  expectStatus,
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
} from '../../support/runtime/governed-session.js'
import { isolateHere } from '../../support/runtime/isolate-here.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { planOf } from '../../support/runtime/plans.js'
import type { Answer } from '../../support/runtime/runtime.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'
import { lookUp, openWorkflow } from '../../support/runtime/workflow.js'

/** One thread, and little of everything, so that its end comes soon. */
const LIMITS: PoolLimits = {
  what: 'requests of a test',
  threads: 1,
  timeLimitMs: 400,
  memoryMb: 96,
  waitingPerTenant: 16,
  waitingInAll: 64,
}

const workers = new Set<Worker>()
const note = (worker: Worker) => {
  workers.add(worker)
  worker.once('exit', () => workers.delete(worker))
}
process.on('worker', note)
afterAll(() => void process.off('worker', note))

let proxy!: PostgresProxy
let servers = 0
/** A server with threads, and one that answers in place, for all that is not about how a thread ends: a thread starts slowly. */
const { runtime, agent } = await withAgentAndRuntime({
  instances: 2,
  through: async (url) => {
    proxy = await startPostgresProxy(url)
    return proxy.url
  },
  // What is noted of turns is written beside them.
  parts: { captures: { note: () => {}, flush: async () => {}, close: async () => {} } },
  isolate: (parts) =>
    ++servers === 1
      ? createIsolation(parts, { config: parts.config, databaseUrl: proxy.url }, { quick: LIMITS, slow: LIMITS })
      : isolateHere(parts),
})
const inThreads = runtime.api()
const api = runtime.api(runtime.key, runtime.instances[1])
afterAll(() => proxy.close())

/** The statements of a thread that is new are sent with their text. */
const endThreads = () => Promise.all([...workers].map((worker) => worker.terminate()))
beforeEach(async () => void (await endThreads()))
afterEach(() => proxy.release())

/** A policy is judged in a thread, whatever the size of a request. */
const CEDAR: Contract = {
  tool: 'lookup_order',
  side_effect: 'read',
  policy: { cedar: 'permit(principal, action, resource) when { principal.id == "ann" };' },
}
const principal = { id: 'ann' }

interface Attempt {
  readonly session: GovernedSession
  readonly send: (by: GovernedSession) => Promise<Answer<unknown>>
  readonly write: RegExp
  /** After which answer it has been written. */
  readonly lasts: 'answer' | 'commit'
  /** What a client hears that sends it again after it was written: where to look, or what was answered. */
  readonly again: number
}

const EVENT = /select (propose|receive)\w*\(/i

const ATTEMPTS: Record<string, () => Promise<Attempt>> = {
  'a proposal': async () => {
    const session = await openSession(api, { plan: planOf([CEDAR]), principal })
    return { session, send: await proposing(session, LOOKUP), write: EVENT, lasts: 'answer', again: 409 }
  },
  receipts: async () => {
    const session = await openSession(api, { plan: planOf([CEDAR]), principal })
    const { decisions } = await session.decide([LOOKUP])
    return {
      session,
      send: (by) => by.receipts([receiptFor(decisions[0]!)]),
      write: EVENT,
      lasts: 'answer',
      again: 200,
    }
  },
  'a step of a workflow': async () => {
    const session = await openWorkflow(api)
    return { session, send: await proposing(session, lookUp('7')), write: EVENT, lasts: 'commit', again: 409 }
  },
}

async function proposing(session: GovernedSession, call: typeof LOOKUP): Promise<Attempt['send']> {
  const prepared = expectStatus(await session.preflight(), 200).body
  if (prepared.outcome !== 'prepared') throw new Error('the turn was blocked')
  return (by) => by.propose(prepared.prepared_request_id, [call])
}

/** How a thread ends that waits for the database. */
const ENDS: Record<string, () => unknown> = {
  'is ended': endThreads,
  'needs too much memory': () => {
    const input = Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(1_000_000, 'x'))
    for (const worker of workers) worker.postMessage({ name: 'answer', input })
  },
  'takes too long': () => {},
}

const eventsOf = async ({ sessionId }: GovernedSession) => (await exportOf(api, sessionId)).events

/** The session goes on, and every event is in order. */
async function expectSound(session: GovernedSession): Promise<void> {
  expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
}

for (const [what, attempt] of Object.entries(ATTEMPTS)) {
  // However it ends, its client hears the same: all of them together are for long rounds.
  const ends = Object.entries(ENDS).slice(0, rounds(what === 'a proposal' ? 2 : 1, 3))
  for (const [how, end] of ends) {
    proves(
      'isolation.ended',
      `${what}: the thread ${how} before it has written: nothing happened, and it can be sent again`,
      async () => {
        const { session, send, write } = await attempt()
        const before = await eventsOf(session)
        const held = proxy.hold(write, 'request')
        const sent = send(attachSession(inThreads, session))
        await held
        await end()
        // Where it had not said yet that it writes, 500: the client asks again after either.
        expect([500, 503]).toContain((await sent).status)
        proxy.release()
        expect(await eventsOf(session)).toEqual(before)
        expectStatus(await send(session), 200)
        expect(await eventsOf(session)).toHaveLength(before.length + 1)
        await expectSound(session)
      },
    )

    proves(
      'isolation.ended',
      `${what}: the thread ${how} after it has written: it happened once, and the client learns that`,
      async () => {
        const { session, send, write, lasts, again } = await attempt()
        const before = await eventsOf(session)
        const held = proxy.hold(write, lasts)
        const sent = send(attachSession(inThreads, session))
        await held
        await end()
        expect((await sent).status).toBe(503)
        proxy.release()
        const after = await eventsOf(session)
        expect(after).toHaveLength(before.length + 1)
        expect((await send(session)).status).toBe(again)
        expect(await eventsOf(session)).toEqual(after)
        await expectSound(session)
      },
    )
  }
}

proves(
  'isolation.ended',
  'a thread that ends before it reads anything: the reply says that nothing was decided',
  async () => {
    const { session, send } = await ATTEMPTS['a proposal']!()
    const before = await eventsOf(session)
    const held = proxy.hold(/from plans/i, 'request')
    const sent = send(attachSession(inThreads, session))
    await held
    await endThreads()
    expect((await sent).status).toBe(500)
    proxy.release()
    expect(await eventsOf(session)).toEqual(before)
    expectStatus(await send(attachSession(inThreads, session)), 200)
    await expectSound(session)
  },
)

for (const side of ['request', 'answer'] as const) {
  proves(
    'isolation.ended',
    `the SDK asks again and hears what was decided: the thread ends ${side === 'request' ? 'before' : 'after'} the write`,
    async () => {
      let ran = 0
      let held: Promise<void> = Promise.resolve()
      const hold = async () => {
        await endThreads()
        held = proxy.hold(EVENT, side)
        void held.then(endThreads).then(proxy.release)
      }
      const { session, ask } = agent.start({
        contracts: [CEDAR],
        tools: {
          // Its receipt is lost in the same way.
          lookup_order: async () => {
            await hold()
            return ++ran
          },
        },
        principal,
        // Threads start one after another.
        timeoutMs: 120_000,
        apiKey: runtime.key,
        fetch: runtime.fetch,
      })
      agent.provider.enqueue({ text: 'hello' })
      await ask(['lookup_order'])
      agent.provider.answerWith(async () => {
        await hold()
        return calls(['lookup_order', { order_id: 'A-1' }])
      })
      await ask(['lookup_order'])
      await held
      expect(await session.tools?.lookup_order?.({ order_id: 'A-1' })).toBe(1)
      await session.close()
      await held
      expect(ran).toBe(1)
      const exported = await exportOf(api, session.sessionId)
      const happened = exported.events.flatMap(({ type, body }) =>
        type === 'proposal' ? (body.calls as { decision: string }[]).map(({ decision }) => decision) : [type],
      )
      expect(happened).toEqual(['created', 'allow', 'receipts', 'ended'])
      expect(await checkSession(runtime.sql, session.sessionId, exported)).toEqual([])
    },
  )
}
