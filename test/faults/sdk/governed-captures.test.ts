import { describe, expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** What the levels of capture promise holds in govern too, where the server captures. */
const { agent, runtime } = await withAgentAndRuntime()

function start(options: ReplayOptions = {}) {
  return agent.start({
    contracts: { tool: 'look', side_effect: 'read' },
    tools: { look: () => null },
    apiKey: runtime.key,
    fetch: runtime.fetch,
    ...options,
  })
}

interface Item {
  request: { messages?: unknown[] }
  response: { content: string | null; tool_calls: { arguments: string | null }[] }
}

async function capturesOf(sessionId: string): Promise<Item[]> {
  await runtime.instances[0].parts.captures.flush()
  const rows = await runtime.sql`select item from captures where conversation_id = ${sessionId} order by at, capture_id`
  return rows.map((row) => row.item as Item)
}

const question = [{ role: 'user' as const, content: 'where is it?' }]

describe('a governed session captures', () => {
  const levels: [NonNullable<ReplayOptions['captureLevel']>, Item][] = [
    ['metadata', { request: {}, response: { content: null, tool_calls: [{ arguments: null }] } }],
    ['redacted', { request: {}, response: { content: null, tool_calls: [{ arguments: '{"at":"x"}' }] } }],
    [
      'full',
      { request: { messages: question }, response: { content: null, tool_calls: [{ arguments: '{"at":"x"}' }] } },
    ],
  ]
  for (const [captureLevel, expected] of levels) {
    proves(['option.capture-level', 'option.mode.enforce'], `what the level ${captureLevel} names`, async () => {
      const { session, ask } = start({ captureLevel })
      agent.provider.enqueue(calls(['look', { at: 'x' }]))
      await ask(['look'], question)
      const [item] = await capturesOf(session.sessionId)
      expect(item).toMatchObject(expected)
      expect(item?.request.messages).toEqual(expected.request.messages)
    })
  }

  proves('option.capture-level', 'turns without calls, with what was said at level full', async () => {
    const { session, ask } = start({ captureLevel: 'full' })
    agent.provider.enqueue(says('it is here'))
    await ask(['look'], question)
    expect(await capturesOf(session.sessionId)).toMatchObject([
      { request: { messages: question }, response: { content: 'it is here', tool_calls: [] } },
    ])
  })

  proves('environment.disable', 'nothing where the environment disables it', async () => {
    process.env.COUNTERSIGN_DISABLE = '1'
    try {
      const { session, ask } = start({ captureLevel: 'full' })
      agent.provider.enqueue(calls(['look', {}]))
      await ask(['look'], question)
      expect(await capturesOf(session.sessionId)).toEqual([])
    } finally {
      delete process.env.COUNTERSIGN_DISABLE
    }
  })
})

proves('option.store', 'a store that a governed session does not use is reported', () => {
  const { diagnostics } = start({ store: { load: () => null, save: () => true } })
  expect(diagnostics).toContainEqual(
    expect.objectContaining({
      type: 'replay_protection_level',
      detail: expect.stringContaining('the option store is ignored'),
    }),
  )
})
