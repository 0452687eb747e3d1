import { expect } from 'vitest'
import { cpuMs } from '../../../../test/support/cpu-ms.js'
import { createdEvent } from '../../../../test/support/data/created-event.js'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { readResponse } from '../response/read-response.js'
import { initialState } from '../state/session-start.js'
import { judgingStepsTaken } from '../text/judging-budget.js'
import { runToEnd } from '../text/steps.js'
import { narrowToolsInSteps } from './narrow.js'
import type { SharedCounts } from './rules/draws.js'
import { createSharedMemory, sharedDrawsInSteps } from './shared-memory.js'

const PARTY = { principal: '\u0001'.repeat(1_024), agent: 'a', workflowId: null }

/** A plan with 32 limits. */
function planWith(per: 'principal' | { argument: string }) {
  const shared_limits = Array.from({ length: 32 }, (_, at) => ({
    ...{ name: `limit${at}`, per, max_calls: 9, window: '1h' },
    ...(typeof per === 'object' ? { tool: 'pay' } : {}),
  }))
  const compiled = compilePlan({
    contracts: [{ file: 'pay', value: { tool: 'pay' } }],
    session: { file: 'session.yaml', value: { shared_limits } },
  })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  return compiled.plan
}

/** A response of 64 calls with a key each. */
const responseOf = (key: (at: number) => string) =>
  readResponse({
    choices: [
      {
        message: {
          role: 'assistant',
          tool_calls: Array.from({ length: 64 }, (_, at) => ({
            id: `c${at}`,
            type: 'function',
            function: { name: 'pay', arguments: JSON.stringify({ k: key(at) }) },
          })),
        },
      },
    ],
  })

const counts: SharedCounts = createSharedMemory().counts(PARTY)

proves(
  'limit.judging.steps',
  'looking for shared limits takes steps for each key, and other work goes first in between',
  () => {
    const plan = planWith({ argument: '$.k' })
    const response = responseOf((at) => `key ${at}`)
    const steps = sharedDrawsInSteps(plan, counts, response)
    const [taken] = judgingStepsTaken(() => steps.next())
    // 32 limits of one call.
    expect(taken).toBeGreaterThanOrEqual(32 * 800)
    expect([...sharedDrawsInSteps(plan, counts, response)]).toHaveLength(64)
    // Beyond the steps of a response nothing is asked for.
    const draws = runToEnd(sharedDrawsInSteps(plan, counts, response))
    expect(draws.length).toBeGreaterThan(220)
    expect(draws.length).toBeLessThan(260)
  },
)

proves(
  'limit.judging.steps',
  'keys of marks, and of characters that become eighteen, take no longer than they count',
  () => {
    const plan = planWith({ argument: '$.k' })
    runToEnd(
      sharedDrawsInSteps(
        plan,
        counts,
        responseOf(() => 'a'),
      ),
    )
    // It was four seconds.
    for (const key of ['\u0f73', '\u0315\u0300', '\uff9e\u0300', '\ufdfa', 'a\u0f73\u0f73']) {
      const response = responseOf((at) => `${key.repeat(500)}${at}`)
      expect(cpuMs(() => runToEnd(sharedDrawsInSteps(plan, counts, response)))).toBeLessThan(400)
    }
  },
)

proves('limit.judging.steps', 'a key with more than 30 marks in a row cannot be counted, one with fewer can', () => {
  const plan = planWith({ argument: '$.k' })
  const drawsOf = (key: string) =>
    runToEnd(
      sharedDrawsInSteps(
        plan,
        counts,
        responseOf(() => key),
      ),
    )
  expect(drawsOf(`e${'\u0301'.repeat(31)}`)).toEqual([])
  expect(drawsOf(`e${'\uff9e\u0301'.repeat(16)}`)).toEqual([])
  expect(drawsOf(`e${'\u0301'.repeat(30)}`)).toHaveLength(32)
  expect(drawsOf('e\u0301')).toEqual(drawsOf('\u00c9 '))
})

proves('limit.judging.steps', 'limits are looked up once for all tools of a request, and each tool is a step', () => {
  const plan = planWith('principal')
  const tools = Array.from({ length: 512 }, (_, at) => ({ name: `t${at}` }))
  const state = initialState(plan, createdEvent(plan.hash))
  let asked = 0
  const shared: SharedCounts = { ...counts, used: (id) => (asked++ < 0 ? null : counts.used(id)) }
  const about = { plan, state, tools, unmatchedPolicy: 'allow' as const, agent: 'a', nowMs: 0, shared }
  expect([...narrowToolsInSteps(about)]).toHaveLength(512)
  expect(asked).toBe(32)
})
