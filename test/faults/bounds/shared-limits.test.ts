import { randomUUID } from 'node:crypto'
import type { Contract, SharedLimit } from '@countersign/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PATIENCE_MS, rounds, testSeed } from '../../support/data/rounds.js'
import { checkSharedCounts } from '../../support/model/shared-counts-checker.js'
import { proves } from '../../support/proves.js'
import {
  attachSession,
  type GovernedSession,
  openSession,
  receiptFor,
  type ToolUse,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

const PAY: Contract = { tool: 'pay', side_effect: 'write', evidence_class: 'local_transaction' }
const limits = (prefix: string): SharedLimit[] => [
  { name: `${prefix}_sum`, tool: 'pay', per: { argument: '$.key' }, sum: '$.amount', lte: 100, window: '24h' },
  { name: `${prefix}_calls`, tool: 'pay', per: { argument: '$.other' }, max_calls: 8, window: '24h' },
]
const pay = (key: string, amount: number, other = key, id = 'c0'): ToolUse => ({
  name: 'pay',
  args: { key, amount, other },
  id,
})
const apis = () => [runtime.api(), runtime.api(runtime.key, runtime.instances[1])] as const
const exportsOf = (sessions: readonly GovernedSession[]) =>
  Promise.all(sessions.map(({ api, sessionId }) => exportOf(api, sessionId)))

const WORKERS = 50
/** Keys that all workers race for at once. A round is a race for one of them. */
const KEYS = 7

proves(
  'shared-limit.never-exceeded',
  'fifty sessions on two instances against one limit use all of it, and never one unit more',
  async () => {
    const plan = planOf([PAY], { shared_limits: limits('race').slice(0, 1) })
    const sessions = await Promise.all(
      Array.from({ length: WORKERS }, (_, at) => openSession(apis()[at % 2 === 0 ? 0 : 1], { plan })),
    )
    for (let round = 0; round < rounds(56, 504); round += KEYS) {
      const keys = Array.from({ length: KEYS }, () => randomUUID())
      const prepared = await Promise.all(sessions.map(prepare))
      const raced = await Promise.all(
        sessions.map(async (session, at) => {
          const calls = keys.map((key, index) => pay(key, 1 + ((at * 7 + index * 3 + round) % 9), key, `c${index}`))
          return { calls, decisions: await decide(session, prepared[at] ?? null, calls) }
        }),
      )
      keys.forEach((_, at) => {
        const tries = raced.flatMap(({ calls, decisions }) => {
          const [amount, decision] = [calls[at]?.args.amount, decisions[at]?.decision]
          return typeof amount === 'number' && decision !== undefined ? [{ amount, decision }] : []
        })
        const used = tries.reduce((sum, { amount, decision }) => sum + (decision === 'allow' ? amount : 0), 0)
        expect(used).toBeLessThanOrEqual(100)
        // Nothing was given back yet, so whoever was blocked would still not fit.
        for (const { amount, decision } of tries) {
          if (decision === 'block') expect(used + amount).toBeGreaterThan(100)
        }
      })
      await Promise.all(
        sessions.map(async (session, at) => {
          const outcome = at % 3 === 0 ? 'not_executed' : 'succeeded'
          const allowed = (raced[at]?.decisions ?? []).filter(({ decision }) => decision === 'allow')
          if (allowed.length === 0) return
          const { body } = await session.receipts(allowed.map((decision) => receiptFor(decision, { outcome })))
          session.stateVersion = body.state_version
        }),
      )
    }
    expect(await checkSharedCounts(runtime.sql, await exportsOf(sessions))).toEqual([])
  },
  PATIENCE_MS,
)

/** The id of the prepared request. Null on a machine that cannot keep up: 503, and nothing was prepared. */
async function prepare(session: GovernedSession): Promise<string | null> {
  const { status, body } = await session.preflight()
  if (status === 503) return null
  if (body.outcome !== 'prepared') throw new Error(`preflight: ${JSON.stringify(body)}`)
  return body.prepared_request_id
}

/** What was decided. 503 BUSY is honest as well: nothing was. */
async function decide(session: GovernedSession, prepared: string | null, calls: readonly ToolUse[]) {
  if (prepared === null) return []
  const { status, body, problem } = await session.propose(prepared, calls, { gate: 'strip_partial' })
  expect(status === 200 || problem.code).toBeOneOf([true, 'BUSY'])
  return status === 200 ? body.decisions : []
}

/** What a program may do with sessions that share two limits, in any order. */
const step = fc.record({
  session: fc.nat(3),
  instance: fc.nat(1),
  does: fc.constantFrom('pay', 'pay', 'pay', 'two', 'retry', 'receipt', 'receipt', 'again', 'kill', 'recover'),
  key: fc.constantFrom('a', 'b'),
  amount: fc.integer({ min: 0, max: 60 }),
  outcome: fc.constantFrom('succeeded', 'failed', 'not_executed', 'unknown'),
})

test(
  'no order of calls, retries, receipts, kills and recoveries exceeds a limit, and the ledgers agree with the counts',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
        const plan = planOf([PAY], { shared_limits: limits(`m${randomUUID().slice(0, 8)}`) })
        const sessions = await Promise.all([0, 1, 2, 3].map(() => openSession(apis()[0], { plan })))
        for (const { session: at, instance, does, key, amount, outcome } of steps) {
          const session = sessions[at] as GovernedSession
          const here = attachSession(apis()[instance === 0 ? 0 : 1], session)
          Object.assign(here, { fence: session.fence, stateVersion: session.stateVersion })
          await take(here, { does, key, amount, outcome })
          Object.assign(session, { fence: here.fence, stateVersion: here.stateVersion })
          const over = await runtime.sql`
            select name from shared_limit_counts
            where (select coalesce(sum(a), 0) from unnest(amounts) a) > case when name like '%calls' then 8 else 100 end`
          expect(over).toEqual([])
        }
        expect(await checkSharedCounts(runtime.sql, await exportsOf(sessions))).toEqual([])
      }),
      { numRuns: rounds(6, 300), seed: testSeed() },
    )
  },
  PATIENCE_MS,
)

interface Step {
  readonly does: string
  readonly key: string
  readonly amount: number
  readonly outcome: 'succeeded' | 'failed' | 'not_executed' | 'unknown'
}

async function take(session: GovernedSession, { does, key, amount, outcome }: Step): Promise<void> {
  const params = { session_id: session.sessionId }
  const { session: view, pending = [] } = await session.load()
  session.stateVersion = view.state_version
  if (does === 'kill') return void (await session.api.killSession({ params, body: {} }))
  if (does === 'recover') {
    const { status, body } = await session.api.recoverSession({ params, body: { holder_id: 'next', takeover: true } })
    if (status === 200) session.fence = body.fence
    return
  }
  if (does === 'receipt' || does === 'again') {
    const receipts = pending.map(({ pending_call_id, argument_hash }) => ({
      pending_call_id,
      argument_hash,
      outcome,
      evidence_level: 'reported' as const,
    }))
    if (receipts.length === 0) return
    await session.receipts(receipts)
    if (does === 'again') await session.receipts(receipts)
    return
  }
  const id = randomUUID()
  const prepared = await session.preflight({ prepared_request_id: id })
  if (prepared.status !== 200) return
  const calls = does === 'two' ? [pay(key, amount), pay(key, amount / 2, 'o', 'c1')] : [pay(key, amount)]
  await session.propose(id, calls, { gate: does === 'two' ? 'strip_partial' : 'reject_all' })
  if (does === 'retry') await session.propose(id, calls)
}

test('two limits on one call, taken in opposite orders by two plans, never wait for each other', async () => {
  const [sum, calls] = limits('order') as [SharedLimit, SharedLimit]
  const many = { ...calls, max_calls: 10_000 }
  const plans = [
    planOf([PAY], { shared_limits: [{ ...sum, lte: 1e6 }, many] }),
    planOf([PAY], { shared_limits: [many, { ...sum, lte: 2e6 }] }),
  ]
  const sessions = await Promise.all(
    Array.from({ length: 16 }, (_, at) =>
      openSession(apis()[at % 2 === 0 ? 0 : 1], { plan: plans[at % 2] as (typeof plans)[0] }),
    ),
  )
  const answers = await Promise.all(
    sessions.map(async (session) => {
      for (let turn = 0; turn < 3; turn++) await session.turn([pay('k', 1, 'o'), pay('k', 1, 'p', 'c1')])
      return 'done'
    }),
  )
  expect(answers).toEqual(sessions.map(() => 'done'))
  expect(await checkSharedCounts(runtime.sql, await exportsOf(sessions))).toEqual([])
})
