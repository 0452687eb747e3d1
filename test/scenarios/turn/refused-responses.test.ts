import type Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { type ReplayOptions, replay } from '../../../packages/sdk/src/index.js'
import type { Reply } from '../../support/provider/provider.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

const request: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'claude-test',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'go on' }],
  tools: ['read', 'pay'].map((name) => ({ name, input_schema: { type: 'object' } })),
}

function begin(options: ReplayOptions = {}) {
  const ran: unknown[] = []
  const run = (args: unknown) => ran.push(args)
  const session = replay(agent.anthropic(), {
    contracts: [
      { tool: 'read', side_effect: 'read' },
      { tool: 'pay', side_effect: 'write' },
    ],
    tools: { read: run, pay: run },
    apiKey: runtime.key,
    fetch: runtime.fetch,
    ...options,
  })
  /** The content that the program gets of an answer. */
  const ask = async (reply: Reply) => {
    agent.provider.enqueue({ ...reply, usage: { input: 10, output: 3 } })
    return (await session.client.messages.create(request)).content
  }
  const proposals = async () => {
    const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
    return body.events.filter(({ type }) => type === 'proposal').map(({ body: event }) => event)
  }
  return { session, ask, ran, proposals }
}

const usage = { input_tokens: 10, output_tokens: 3 }
const read = { id: 'c1', name: 'read', arguments: { page: 1 } }
const deep = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`)

test('a text that the server cannot keep reaches the program, and what it cost is counted', async () => {
  const { ask, proposals } = begin()
  expect(await ask({ text: 'to\0day' })).toMatchObject([{ text: 'to\0day' }])
  expect(await proposals()).toMatchObject([{ outcome: 'no_calls', usage }])
})

test.each([
  ['a character that cannot be stored', { to: 'DE\0' }],
  ['a nesting that cannot be read', deep],
])('a call with %s is blocked, and the ledger has it', async (_, args) => {
  const { ask, ran, session, proposals } = begin()
  await expect(ask({ calls: [{ id: 'c1', name: 'pay', arguments: args }] })).rejects.toThrow('response_format_invalid')
  await expect(session.tools?.pay?.(args)).rejects.toThrow('did not run')
  expect(ran).toEqual([])
  const blocked = { tool_name: 'pay', decision: 'block', reasons: ['response_format_invalid'] }
  expect(await proposals()).toMatchObject([{ outcome: 'blocked', usage, calls: [blocked] }])
})

test('the other calls of such an answer are judged as ever', async () => {
  const { ask, ran, session } = begin({ gate: 'strip_partial' })
  const content = await ask({ text: 'now\0', calls: [read, { id: 'c2', name: 'pay', arguments: deep }] })
  expect(content).toMatchObject([{ type: 'text' }, { type: 'tool_use', id: 'c1', input: read.arguments }])
  await session.tools?.read?.(read.arguments)
  expect(ran).toEqual([read.arguments])
})
