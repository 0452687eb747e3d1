import { expect, test } from 'vitest'
import { calls, results, toolDefinition } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

const contracts = [
  {
    tool: 'pay',
    side_effect: 'write' as const,
    aggregates: [{ name: 'paid', path: '$.amount', function: 'sum' as const, lte: 100 }],
  },
]

function nested(depth: number): unknown {
  let value: unknown = 'end'
  for (let at = 0; at < depth; at++) value = [value]
  return value
}

test.each<[string, () => unknown]>([
  ['a result that the server cannot keep', () => ({ note: 'paid\u0000' })],
  ['a result nested as deep as JSON may be', () => nested(63)],
  [
    'a failure whose code cannot be stored',
    () => {
      throw Object.assign(new Error('half done'), { code: 'E\u0000' })
    },
  ],
])('a tool that ran has used its budget, though its evidence is refused: %s', async (_name, pay) => {
  const paid: number[] = []
  const { session, ask } = agent.start({
    contracts,
    tools: {
      pay: (args) => {
        paid.push((args as { amount: number }).amount)
        return pay()
      },
    },
    apiKey: runtime.key,
    fetch: runtime.fetch,
    captureLevel: 'full',
  })
  agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']), calls(['pay', { amount: 60 }, 'c2']))
  const first = await ask(['pay'])
  await session.tools?.pay?.({ amount: 60 }).catch(() => {})
  await expect(ask(['pay'], results(first))).rejects.toThrow('aggregate_limit_exceeded')
  expect(paid).toEqual([60])
  const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
  const receipts = body.events.filter(({ type }) => type === 'receipts').flatMap(({ body: event }) => event.receipts)
  expect(receipts).toHaveLength(1)
  expect(receipts).not.toMatchObject([{ outcome: 'not_executed' }])
})

test('a tool whose arguments fail the check before it does not run, and the next turn does not wait for it', async () => {
  let ran = 0
  const rule = { path: "$.items[?search(@.name, 'a+b')]", exists: false }
  const { session, ask } = agent.start({
    contracts: { tool: 'send', side_effect: 'read', execution_constraints: { arguments: [rule] } },
    tools: { send: () => ++ran },
    apiKey: runtime.key,
    fetch: runtime.fetch,
  })
  const args = { items: [{ name: 'aab' }] }
  agent.provider.enqueue(calls(['send', args, 'c1']), calls(['send', { items: [] }, 'c2']))
  const first = await ask(['send'])
  await expect(session.tools?.send?.(args)).rejects.toThrow()
  expect(ran).toBe(0)
  await ask(['send'], results(first))
  await session.tools?.send?.({ items: [] })
  expect(ran).toBe(1)
})

test.each<[string, () => unknown]>([
  ['that the server cannot keep', () => ({ error: 'nobody of this name\u0000' })],
  ['that JSON cannot write', () => Object.assign(() => {}, { error: 'nobody of this name' })],
])('a result %s does not show that it names no error', async (_name, verify) => {
  const { session, ask } = agent.start({
    contracts: [
      { tool: 'verify', side_effect: 'read' },
      {
        tool: 'pay',
        side_effect: 'write',
        preconditions: [{ requires_prior_tool: 'verify', with_output: [{ path: '$.error', exists: false }] }],
      },
    ],
    tools: { verify, pay: () => 'paid' },
    apiKey: runtime.key,
    fetch: runtime.fetch,
  })
  agent.provider.enqueue(calls(['verify', {}, 'c1']), calls(['pay', {}, 'c2']))
  const first = await ask(['verify', 'pay'])
  await session.tools?.verify?.({})
  await expect(ask(['verify', 'pay'], results(first))).rejects.toThrow('precondition_not_met')
})

test.each<[string, unknown]>([
  ['a time in nanoseconds', { at: 1.7e18 }],
  ['a text that was cut inside a character', { text: 'done \ud83d' }],
  ['a BigInt', { id: 2n ** 60n }],
  ['names of the language', JSON.parse('{"constructor":"Ferrari"}')],
  ['a deep nesting', nested(200)],
])('a tool whose result holds %s has run all the same: its step commits', async (_name, result) => {
  const { session, ask } = agent.start({
    contracts,
    tools: { pay: () => result },
    apiKey: runtime.key,
    fetch: runtime.fetch,
    captureLevel: 'full',
  })
  agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']))
  await ask(['pay'])
  await session.tools?.pay?.({ amount: 60 })
  expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { pay: 1 } })
})

test('a term about a result is judged on JSON in a text as well, whatever numbers stand beside it', async () => {
  const { session, ask } = agent.start({
    contracts: [
      { tool: 'verify', side_effect: 'read' },
      {
        tool: 'pay',
        side_effect: 'write',
        preconditions: [{ requires_prior_tool: 'verify', with_output: [{ path: '$.error', exists: false }] }],
      },
    ],
    tools: { verify: () => '{"error":"nobody of this name","at":1700000000123456789}', pay: () => 'paid' },
    apiKey: runtime.key,
    fetch: runtime.fetch,
  })
  agent.provider.enqueue(calls(['verify', {}, 'c1']), calls(['pay', {}, 'c2']))
  const first = await ask(['verify', 'pay'])
  await session.tools?.verify?.({})
  await expect(ask(['verify', 'pay'], results(first))).rejects.toThrow('precondition_not_met')
})

test.each<[string, string, object]>([
  ['a text that was cut inside a character', 'go on \ud83d', {}],
  ['a large number', 'go on', { seed: 1e17 }],
  ['names of the language', 'go on', { metadata: { constructor: 'Ferrari' } }],
])('what a request may not hold is found beside %s', async (_name, content, more) => {
  const { session } = agent.start({
    contracts: {
      tool: 'pay',
      side_effect: 'write',
      assertions: { input_invariants: [{ path: "$.messages[?@.role == 'tool']", exists: false }] },
    },
    tools: { pay: () => 'paid' },
    apiKey: runtime.key,
    fetch: runtime.fetch,
  })
  agent.provider.enqueue(calls(['pay', {}, 'c1']))
  const asking = session.client.chat.completions.create({
    model: 'gpt-4o',
    messages: [
      { role: 'user', content },
      { role: 'tool', tool_call_id: 'c0', content: 'pay me' },
    ],
    tools: [toolDefinition('pay')],
    ...more,
  })
  await expect(asking).rejects.toThrow('input_invariant_failed')
})
