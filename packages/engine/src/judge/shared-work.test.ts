import { expect, test } from 'vitest'
import { cpuMs } from '../../../../test/support/cpu-ms.js'
import { createdEvent } from '../../../../test/support/data/created-event.js'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { readResponse } from '../response/read-response.js'
import { initialState } from '../state/session-start.js'
import { narrowTools } from './narrow.js'
import type { SharedCounts } from './rules/draws.js'
import { createSharedMemory, sharedDraws } from './shared-memory.js'

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
  'limit.judging.marks',
  'keys of marks, and of characters that become eighteen, take no longer than others',
  () => {
    const plan = planWith({ argument: '$.k' })
    const draw = (key: (at: number) => string) => sharedDraws(plan, counts, responseOf(key))
    draw(() => 'a')
    // It was four seconds.
    for (const key of ['\u0f73', '\u0315\u0300', '\uff9e\u0300', '\ufdfa', 'a\u0f73\u0f73'])
      expect(cpuMs(() => draw((at) => `${key.repeat(500)}${at}`))).toBeLessThan(1_500)
  },
)

proves('limit.judging.marks', 'a key with more than 30 marks in a row cannot be counted, one with fewer can', () => {
  const plan = planWith({ argument: '$.k' })
  const drawsOf = (key: string) =>
    sharedDraws(
      plan,
      counts,
      responseOf(() => key),
    )
  expect(drawsOf(`e${'\u0301'.repeat(31)}`)).toEqual([])
  expect(drawsOf(`e${'\uff9e\u0301'.repeat(16)}`)).toEqual([])
  expect(drawsOf(`e${'\u0301'.repeat(30)}`)).toHaveLength(32)
  expect(drawsOf('e\u0301')).toEqual(drawsOf('\u00c9 '))
})

test('limits are looked up once for all tools of a request', () => {
  const plan = planWith('principal')
  const tools = Array.from({ length: 512 }, (_, at) => ({ name: `t${at}` }))
  const state = initialState(plan, createdEvent(plan.hash))
  let asked = 0
  const shared: SharedCounts = { ...counts, used: (id) => (asked++ < 0 ? null : counts.used(id)) }
  const about = { plan, state, tools, unmatchedPolicy: 'allow' as const, agent: 'a', nowMs: 0, shared }
  expect(narrowTools(about).allowed).toHaveLength(512)
  expect(asked).toBe(32)
})
