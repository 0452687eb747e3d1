import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { forgetWarnings } from '../../../packages/sdk/src/base/warn-on-console.js'
import { type ReplayOptions, replay } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const look = { tool: 'look', side_effect: 'read' as const }
const pay = { tool: 'pay', side_effect: 'financial' as const, gate: 'allow' as const }

const { agent, runtime } = await withAgentAndRuntime()
let warnings: string[]
beforeEach(() => {
  warnings = []
  forgetWarnings()
  vi.stubEnv('COUNTERSIGN_API_KEY', undefined)
  vi.spyOn(console, 'warn').mockImplementation((text: string) => void warnings.push(text))
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** What a program that listens to no diagnostics reads on its console when it starts a session. */
async function startsWith(options: ReplayOptions): Promise<string[]> {
  await replay(agent.openai(), options).restore()
  return warnings
}

test('a session with contracts and tools that is meant to be without a server reports nothing', async () => {
  const options: ReplayOptions = { contracts: [look, pay], tools: { look: () => null }, requireProtection: 'protect' }
  expect(await startsWith(options)).toEqual([])
})

proves('option.api-key.missing-reported', 'tools without a key are reported on the console, once', async () => {
  const options = { contracts: look, tools: { look: () => null } }
  expect(await startsWith(options)).toEqual([expect.stringMatching(/^countersign: there is no API key, .*protect/)])
  expect(await startsWith(options)).toHaveLength(1)
})

test('an empty key is reported: the program expects a server', async () => {
  const [text] = await startsWith({ contracts: look, tools: { look: () => null }, apiKey: '' })
  expect(text).toContain('the option apiKey is empty and COUNTERSIGN_API_KEY is not set')
})

test('a key without tools is reported: the server cannot govern', async () => {
  const [text] = await startsWith({ contracts: look, apiKey: runtime.key, fetch: runtime.fetch })
  expect(text).toContain('without the option tools the server cannot govern')
})

test('a tool that no contract covers is reported, with the one that may be meant', async () => {
  const tools = { lok: () => null, pay: () => null }
  const [text] = await startsWith({ contracts: [look, pay], tools, requireProtection: 'protect' })
  expect(text).toContain('no contract covers the tool lok, so its calls are blocked: did you mean "look"?')
  forgetWarnings()
  warnings = []
  const options: ReplayOptions = { contracts: look, tools: { lok: () => null }, requireProtection: 'protect' }
  expect(await startsWith({ ...options, unmatchedPolicy: 'allow' })).toEqual([])
})

test('keys of a contract that nothing enforces are refused', () => {
  const contracts = { ...look, rate_limits: { per_minute: 3 } } as typeof look
  expect(() => replay(agent.openai(), { contracts })).toThrow('rate_limits')
})

test('a call past the session is reported', async () => {
  const client = agent.openai()
  const session = replay(client, { contracts: look })
  agent.provider.enqueue(says('hello'))
  await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] })
  expect(warnings).toEqual([expect.stringContaining('chat.completions.create was called on the original client')])
  await session.restore()
})

test('with a diagnostics callback, everything goes there and nothing to the console', async () => {
  const reported: string[] = []
  await startsWith({ contracts: look, apiKey: '', diagnostics: ({ type }) => reported.push(type) })
  expect([reported, warnings]).toEqual([['replay_protection_level'], []])
})

test.each([
  ['run by hand', { pay: () => null }, 'run it with session.tools.pay'],
  ['without a wrapper', { look: () => null }, 'add pay to the option tools'],
])('a tool %s is reported once when its contract needs evidence: its calls never commit', async (_how, tools, fix) => {
  const govern = { contracts: [look, pay], tools, apiKey: runtime.key, fetch: runtime.fetch }
  const { ask, session, diagnostics } = agent.start(govern)
  for (let turn = 0; turn < 2; turn++) {
    agent.provider.enqueue(calls(['pay', { amount: turn }]), says('done'))
    await ask(['pay'], results(await ask(['pay'])))
  }
  expect(diagnostics).toMatchObject([{ type: 'replay_protection_level', detail: expect.stringContaining(fix) }])
  expect(session.getState().stateVersion).toBe(0)
})

proves('block.policy-error.reported', async () => {
  const cedar = 'permit (principal, action, resource) when { context.arguments.amount < 100 };'
  const contracts = [{ ...pay, policy: { cedar } }]
  const tools = { pay: () => null }
  const given = { contracts, tools, principal: { id: 'ann-of-sales' } }
  for (const options of [given, { ...given, apiKey: runtime.key, fetch: runtime.fetch }]) {
    const { session, ask, diagnostics } = agent.start(options)
    agent.provider.enqueue(calls(['pay', { amount: 500 }]), calls(['pay', { sum: 'a-secret' }]), calls(['pay', {}]))
    await expect(ask(['pay'])).rejects.toThrow()
    expect(diagnostics.filter(({ type }) => type === 'replay_policy_error')).toEqual([])
    await expect(ask(['pay'])).rejects.toThrow()
    await expect(ask(['pay'])).rejects.toThrow()
    const reported = diagnostics.filter(({ type }) => type === 'replay_policy_error')
    expect(reported).toMatchObject([{ session_id: session.sessionId, tool_name: 'pay' }])
    expect(JSON.stringify(reported)).not.toMatch(/ann-of-sales|a-secret/)
  }
  const lines = runtime.logLines.filter((line) => line.includes('a policy failed on a call'))
  expect(lines).toHaveLength(2)
  expect(lines.join()).not.toMatch(/ann-of-sales|a-secret/)
  const metrics = await runtime.instances[0].parts.metrics.registry.metrics()
  expect(metrics).toContain('countersign_policy_errors_total 2')
})
