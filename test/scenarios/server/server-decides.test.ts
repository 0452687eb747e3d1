import { expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { callNames, calls, results } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime, api } = await withAgentAndRuntime()

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, labels: { deny_when: ['tainted'] } },
]
const tools = { look: () => 'found', pay: () => 'paid' }

async function begin() {
  const started = agent.start({ contracts, tools, apiKey: runtime.key, fetch: runtime.fetch })
  agent.provider.enqueue(calls(['look', {}]))
  const first = await started.ask(['look', 'pay'])
  await started.session.tools?.look?.({})
  await started.session.flush()
  return { ...started, params: { session_id: started.session.sessionId }, messages: results(first) }
}

proves('turn.server-decides', 'what the client would allow is blocked when the server knows better', async () => {
  const { session, ask, params, messages } = await begin()
  // Beside the client, which does not learn of it.
  await api.addLabel({ params, body: { label: 'tainted' } })
  agent.provider.enqueue(calls(['pay', {}]))
  await expect(ask(['look', 'pay'], messages)).rejects.toThrow('forbidden_tool')
  await expect(session.tools?.pay?.({})).rejects.toThrow('did not run')
  const { body } = await api.loadSession({ params, query: { include: 'pending' } })
  expect([body.session.state_version, body.pending]).toEqual([1, []])
})

proves('turn.server-decides', 'what the client would block is allowed when the server allows it', async () => {
  const { session, ask, params, messages } = await begin()
  session.narrow(['look'])
  await session.flush()
  await api.setToolFilter({ params, body: { tools: null, fence: 1 } })
  agent.provider.enqueue(calls(['pay', {}]))
  expect(callNames(await ask(['look', 'pay'], messages))).toEqual(['pay'])
  expect(await session.tools?.pay?.({})).toBe('paid')
  const { body } = await api.loadSession({ params })
  expect(body.session).toMatchObject({ state_version: 2, state: { toolCallCounts: { look: 1, pay: 1 } } })
})
