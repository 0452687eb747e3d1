import type { Plan, Steps } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { spendOnJudging, withinJudgingBudget } from '../../../engine/src/text/judging-budget.js'
import { processorMs } from '../base/work/processor-time.js'
import type { Context } from '../context/context.js'
import type { LoadedSession } from './change-session.js'
import { judgeInTurn } from './judge-in-turn.js'

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

proves('limit.fair.held-thread', 'a tenant with long steps is refused until it has its share again', async () => {
  const warned: unknown[] = []
  const log = { warn: (_: unknown, text: string) => warned.push(text) }
  const judge = async (tenantId: string, ...steps: readonly number[]) => {
    const ctx = { app: { log }, tenant: { tenantId }, request: { http: { bodyBytes: 10 } } } as unknown as Context
    return judgeInTurn(ctx, { plan: {} as Plan, locked: true } as LoadedSession, holding(...steps))
  }
  // Half a second is let pass, and short steps are never counted.
  expect(await judge('long', 300, ...Array<number>(20).fill(20))).toBe('judged')
  expect(await judge('long', 5)).toBe('judged')
  const refused = judge('long', 300, 300, 300)
  await expect(refused).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const { headers, extras } = await refused.catch((error) => error)
  // Each counts at most 340 ms, of which 500 are free; a twentieth of the time pays for the rest.
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(4)
  expect(extras.detail).toContain('others had to wait')
  // After the second long step none was taken any more.
  expect(warned).toHaveLength(2)
  await expect(judge('long', 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await judge('another', 5)).toBe('judged')
})
