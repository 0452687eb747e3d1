import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, callNames, calls, says, startAgent, toolDefinition } from '../../support/runtime/agent.js'

/** A session that enforces nothing changes nothing: what is sent, what comes back, when, and which methods work. */
let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(() => agent.close())

const contracts = [{ tool: 'look', side_effect: 'read' as const }]
const MODES: [string, ReplayOptions][] = [
  ['shadow', { mode: 'shadow' }],
  ['log-only', { mode: 'log-only' }],
  ['advisory', { compatEnforcement: 'advisory' }],
]

describe.each(MODES)('%s', (_, options) => {
  const start = (more: ReplayOptions = {}) => agent.start({ contracts, ...options, ...more })
  const ids = ['option.mode.shadow', 'option.mode.log-only', 'protection.monitor'] as const

  proves(ids, 'methods that are not on the list reach the original client', async () => {
    const { session, diagnostics } = start()
    agent.provider.enqueue({ response: { id: 'batch_1', object: 'batch' } }, { response: { ok: true } })
    const made = await session.client.batches.create({
      completion_window: '24h',
      endpoint: '/v1/responses',
      input_file_id: 'f',
    })
    expect(made.id).toBe('batch_1')
    expect(await session.client.post('/anything', { body: {} })).toEqual({ ok: true })
    expect(diagnostics.map(({ type }) => type)).not.toContain('replay_bypass_detected')
  })

  proves(ids, 'a request is sent as it was made', async () => {
    const { session } = start({ maxRetries: 1, narrowingFeedback: 'inject' })
    agent.provider.enqueue(says('hello'))
    const request = {
      model: 'gpt-4o',
      messages: [{ role: 'user' as const, content: 'go' }],
      tools: [toolDefinition('look'), toolDefinition('unknown')],
      stream: true as const,
    }
    for await (const _chunk of await session.client.chat.completions.create(request));
    expect(agent.provider.requests.at(-1)?.body).toEqual(request)
  })

  proves(ids, 'a stream flows event by event, calls included, and nothing is added or taken away', async () => {
    const { session } = start({ maxRetries: 1 })
    const chunk = (delta: object, finish: string | null = null) => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt-4o',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'unknown', arguments: '{}' } }
    const events = [chunk({ role: 'assistant', tool_calls: [call] }), chunk({}), chunk({}, 'tool_calls')]
    agent.provider.enqueue({ events, eventDelayMs: 50, hangUpAfter: 2 })
    const stream = (await session.client.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'go' }],
      tools: [toolDefinition('look')],
      stream: true,
    })) as AsyncIterable<OpenAI.ChatCompletionChunk>
    const reader = stream[Symbol.asyncIterator]()
    // The call is here although the answer never ends.
    expect((await reader.next()).value).toEqual(events[0])
    const rest = async () => {
      while (!(await reader.next()).done);
    }
    await expect(rest()).rejects.toThrow()
  })

  proves(ids, 'what judging needs and does not get stays without a consequence', async () => {
    const broken = {
      load: () => Promise.reject(new Error('the store is away')),
      save: () => Promise.reject(new Error('the store is away')),
    }
    const { ask } = start({ store: broken })
    agent.provider.enqueue(calls(['look', {}]))
    expect(callNames(await ask(['look']))).toEqual(['look'])
  })

  proves(ids, 'a tool may ask the model in its own session', async () => {
    const { session, ask } = start({
      tools: {
        look: async () => (await ask(['look'])).choices[0]?.message.content,
      },
    })
    agent.provider.enqueue(calls(['look', {}]), says('inner'))
    await ask(['look'])
    expect(await session.tools?.look?.({})).toBe('inner')
  })
})

proves('session.client', 'a session that enforces still refuses what it does not know', async () => {
  const { session } = agent.start({ contracts })
  expect(() => session.client.post('/anything', { body: {} })).toThrow('is not governed')
})
