import { expect, test } from 'vitest'
import { consoleText } from '../../../packages/sdk/src/base/warn-on-console.js'
import type { Diagnostic } from '../../../packages/sdk/src/index.js'
import { calls } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

/** A service whose tenant has asked for too much with every first request of a kind. */
function throttledFetch(): typeof fetch {
  const asked = new Set<string>()
  return async (input, init) => {
    const path = new URL(String(input)).pathname.split('/').at(-1) ?? ''
    if (asked.has(path)) return runtime.fetch(input, init)
    asked.add(path)
    const problem = { type: 'about:blank', title: 'slow down', status: 429, code: 'RATE_LIMITED' }
    return Response.json(problem, { status: 429, headers: { 'retry-after': '0.02' } })
  }
}

const start = (sessionId: string, options: { diagnostics?: (event: Diagnostic) => void } = {}) => {
  agent.provider.enqueue(calls(['look', {}, 'c1']))
  return agent.start({
    apiKey: runtime.key,
    sessionId,
    fetch: throttledFetch(),
    contracts: [{ tool: 'look', side_effect: 'read' }],
    tools: { look: () => ({ found: true }) },
    ...options,
  })
}

test('a program that waits for its quota gets a diagnostic, and goes on', async () => {
  const reported: Diagnostic[] = []
  const { ask, session } = start('waits', { diagnostics: (event) => reported.push(event) })
  await ask(['look'])
  expect(await session.tools?.look?.({}, { callId: 'c1' })).toEqual({ found: true })
  const throttled = reported.filter(({ type }) => type === 'replay_throttled')
  expect(throttled.length).toBeGreaterThanOrEqual(3)
  expect(throttled[0]).toMatchObject({ session_id: 'waits', wait_ms: 20, detail: expect.stringContaining('quota') })
  expect(reported.map(({ type }) => type)).not.toContain('replay_degraded')
})

test('without a callback the console says it in the same words each time, so once', () => {
  const [first, second] = [20, 3_000].map((wait_ms) =>
    consoleText({ type: 'replay_throttled', session_id: `s-${wait_ms}`, wait_ms, detail: 'the quota is used up' }),
  )
  expect([first, second]).toEqual(['the quota is used up', 'the quota is used up'])
})
