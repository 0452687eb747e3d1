import { afterAll, describe, expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** A wrapped tool obeys whoever decided about its call, in the way in which that one decides. */
const { agent, runtime } = await withAgentAndRuntime()
afterAll(() => {
  isAway = false
})

let isAway = false
const fetch: typeof globalThis.fetch = (input, init) =>
  isAway ? Promise.reject(new TypeError('fetch failed')) : runtime.fetch(input, init)

const contracts = [
  {
    tool: 'pay',
    side_effect: 'write' as const,
    argument_value_invariants: [{ path: '$.amount', lte: 500 }],
    execution_constraints: { arguments: [{ path: '$.amount', lte: 90 }] },
  },
]

function start(options: ReplayOptions = {}) {
  const got: unknown[] = []
  const tools = { pay: (args: unknown) => got.push(args) }
  return { ...agent.start({ contracts, tools, ...options }), got }
}

proves(
  'option.compat-enforcement.advisory',
  'a governed session whose server is away advises in its tools too, and enforces again once it is back',
  async () => {
    const { session, ask, got } = start({
      apiKey: runtime.key,
      fetch,
      onError: 'allow',
      timeoutMs: 300,
      compatEnforcement: 'advisory',
    })
    agent.provider.enqueue(says('hello'), calls(['pay', { amount: 501 }, 'c1'], ['pay', { amount: 95 }, 'c2']))
    await ask(['pay'])
    isAway = true
    const advised = await ask(['pay'])
    expect(callNames(advised)).toEqual(['pay', 'pay'])
    await session.tools?.pay?.({ amount: 501 }, { callId: 'c1' })
    await session.tools?.pay?.({ amount: 95 }, { callId: 'c2' })
    expect(got).toEqual([{ amount: 501 }, { amount: 95 }])
    isAway = false
    agent.provider.enqueue(calls(['pay', { amount: 95 }, 'c3']))
    await ask(['pay'], results(advised))
    await expect(session.tools?.pay?.({ amount: 95 }, { callId: 'c3' })).rejects.toThrow('did not run')
    await expect(session.tools?.pay?.({ amount: 1 })).rejects.toThrow('did not run')
    expect(got).toHaveLength(2)
  },
)

describe('a kill', () => {
  const modes: [string, ReplayOptions][] = [
    ['shadow', { mode: 'shadow' }],
    ['log-only', { mode: 'log-only' }],
    ['advisory', { compatEnforcement: 'advisory' }],
    ['enforce', {}],
  ]
  for (const [name, options] of modes) {
    proves(['session.kill', 'block.killed'], `stops wrapped tools in ${name}, judged or not`, async () => {
      const { session, ask, got } = start(options)
      agent.provider.enqueue(calls(['pay', { amount: 5 }, 'c1']))
      await ask(['pay'])
      session.kill()
      for (const amount of [5, 6]) {
        await expect(session.tools?.pay?.({ amount })).rejects.toThrow('did not run')
      }
      await expect(session.tools?.pay?.({ amount: 5 }, { callId: 'c1' })).rejects.toThrow('did not run')
      expect(got).toEqual([])
    })
  }
})
