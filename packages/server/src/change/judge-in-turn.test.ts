import type { Plan, Steps } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { spendOnJudging, withinJudgingBudget } from '../../../engine/src/text/judging-budget.js'
import { heldThread } from '../base/work/held-thread.js'
import { processorMs } from '../base/work/processor-time.js'
import type { Context } from '../context/context.js'
import type { LoadedSession } from './change-session.js'
import { type JudgingOptions, judgeInTurn } from './judge-in-turn.js'

const STEPS = 4

function* slow(note: () => void): Steps<string> {
  for (let at = 0; at < STEPS; at++) {
    const endMs = performance.now() + 10
    while (performance.now() < endMs) {}
    note()
    yield
  }
  return 'judged'
}

proves('limit.fair.under-a-lock', async () => {
  const ctx = { tenant: { tenantId: 't' }, request: { http: { bodyBytes: 10 } } } as Context
  const loaded = { plan: {} as Plan, locked: true } as LoadedSession
  let since = 0
  let longest = 0
  let isDone = false
  /** As the thread looks at its connections. */
  const look = () => {
    since = 0
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  const note = () => {
    since += 1
    longest = Math.max(longest, since)
  }
  expect(await judgeInTurn(ctx, loaded, slow(note))).toBe('judged')
  isDone = true
  expect(longest).toBe(1)
})

function* costing(steps: number): Steps<string> {
  withinJudgingBudget(200_000, () => spendOnJudging(steps))
  yield* []
  return 'judged'
}

const CHEAP = 1_000
const COSTLY = 200_000

/** Whether a decision of a tenant was made at once. */
async function isAtOnce(plan: Plan, tenantId: string, steps: number): Promise<boolean> {
  const ctx = { tenant: { tenantId }, request: { http: { bodyBytes: 10 } } } as Context
  // Under a lock, so that the test does not wait for turns.
  const judged = judgeInTurn(ctx, { plan, locked: true } as LoadedSession, costing(steps))
  expect(await judged).toBe('judged')
  return typeof judged === 'string'
}

proves('limit.fair.same-plan', 'costly calls of one tenant leave another with the same plan alone', async () => {
  const plan = {} as Plan
  for (const tenant of ['cheap', 'costly']) {
    expect(await isAtOnce(plan, tenant, CHEAP)).toBe(false)
    expect(await isAtOnce(plan, tenant, CHEAP)).toBe(true)
  }
  await isAtOnce(plan, 'costly', COSTLY)
  expect(await isAtOnce(plan, 'costly', CHEAP)).toBe(false)
  expect(await isAtOnce(plan, 'cheap', CHEAP)).toBe(true)
})

proves('limit.fair.same-plan', 'a costly call is forgotten after twenty cheap ones, and not before some', async () => {
  const plan = {} as Plan
  await isAtOnce(plan, 't', COSTLY)
  for (let time = 0; time < 10; time++) expect(await isAtOnce(plan, 't', CHEAP)).toBe(false)
  for (let time = 0; time < 10; time++) await isAtOnce(plan, 't', CHEAP)
  expect(await isAtOnce(plan, 't', CHEAP)).toBe(true)
})

proves('limit.fair.same-plan', 'of a plan that very many tenants use, those are known that used it last', async () => {
  const plan = {} as Plan
  for (let tenant = 0; tenant < 1_000; tenant++) await isAtOnce(plan, `t${tenant}`, CHEAP)
  expect(await isAtOnce(plan, 't0', CHEAP)).toBe(true)
  await isAtOnce(plan, 'another', CHEAP)
  expect(await isAtOnce(plan, 't0', CHEAP)).toBe(true)
  expect(await isAtOnce(plan, 't1', CHEAP)).toBe(false)
})

/** Steps that nothing divides, as long as each number says. */
function* holding(...steps: readonly number[]): Steps<string> {
  for (const ms of steps) {
    const end = processorMs() + ms
    while (processorMs() < end) {}
    yield
  }
  return 'judged'
}

/** Decides for a tenant in steps of these lengths. */
const judgeHolding = (tenantId: string, steps: readonly number[], options?: JudgingOptions) => {
  const ctx = { app: { log: { warn: () => {} } }, tenant: { tenantId }, request: { http: { bodyBytes: 10 } } }
  const loaded = { plan: {} as Plan, locked: true } as LoadedSession
  return Promise.resolve().then(() => judgeInTurn(ctx as unknown as Context, loaded, holding(...steps), options))
}

const refusedNow = { code: 'RATE_LIMITED' }

proves('limit.fair.held-thread', 'a tenant with long steps is refused until it has its share again', async () => {
  // Half a second is let pass, and short steps are never counted.
  expect(await judgeHolding('long', [300, ...Array<number>(20).fill(20)])).toBe('judged')
  expect(await judgeHolding('long', [5])).toBe('judged')
  // What was begun is finished: it would take as long again, and never come to an end.
  expect(await judgeHolding('long', [450, 450])).toBe('judged')
  const refused = judgeHolding('long', [1])
  await expect(refused).rejects.toMatchObject(refusedNow)
  const { headers, extras } = await refused.catch((error) => error)
  // 1.2 s, of which 500 ms are free and each step may count 20 ms more; a twentieth of the time pays for the rest.
  expect(Number(headers['retry-after'])).toBeGreaterThan(1)
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(16)
  expect(extras.detail).toContain('held up other tenants')
  // What ran already is recorded, and others are not concerned.
  expect(await judgeHolding('long', [1], { isRefusable: false })).toBe('judged')
  expect(await judgeHolding('another', [5])).toBe('judged')
})

proves('limit.fair.held-thread', 'a decision that nothing bounds is given up after five seconds', async () => {
  let begun = 0
  function* endless(): Steps<string> {
    for (;;) {
      begun++
      // As if the step had taken a second, of which time pays for next to nothing here.
      heldThread.note('endless', 1_000)
      yield
    }
  }
  const ctx = {
    app: { log: { warn: () => {} } },
    tenant: { tenantId: 'endless' },
    request: { http: { bodyBytes: 10 } },
  }
  const loaded = { plan: {} as Plan, locked: true } as LoadedSession
  await expect(judgeInTurn(ctx as unknown as Context, loaded, endless())).rejects.toMatchObject(refusedNow)
  expect(begun).toBe(6)
})
