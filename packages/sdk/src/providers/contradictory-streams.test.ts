import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { CHAT, CHAT_LEGAL } from '../../../../test/support/provider/contradictions/chat-streams.js'
import { MESSAGES, MESSAGES_LEGAL } from '../../../../test/support/provider/contradictions/message-streams.js'
import { RESPONSES, RESPONSES_LEGAL } from '../../../../test/support/provider/contradictions/response-streams.js'
import type { Contradiction, Legal } from '../../../../test/support/provider/contradictions/stream-case.js'
import { startAgent } from '../../../../test/support/runtime/agent.js'
import type { JsonObject } from '../base/json-object.js'
import { ReplayContractError, type ReplayOptions, replay } from '../index.js'

/**
 * A provider, or whoever stands in its place, says two things in one stream: one that may pass, and one that may not
 * (a payment of 501.875). Whichever the program reads, and by whatever helper of its client, it must see neither.
 */
const agent = await startAgent()
afterAll(() => agent.close())

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
  { tool: 'note', side_effect: 'read' as const },
  { tool: 'local_shell', side_effect: 'read' as const },
  { tool: 'shell', side_effect: 'read' as const },
]

type Reader = (events: readonly JsonObject[], options: ReplayOptions, see: (part: unknown) => void) => Promise<void>

const user = { role: 'user' as const, content: 'go on' }
const names = ['look', 'pay', 'note']
const chatRequest = {
  model: 'm',
  messages: [user],
  tools: names.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } })),
}
const responsesRequest = {
  model: 'm',
  input: 'go on',
  tools: [
    ...names.map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false })),
    { type: 'local_shell' as const },
    { type: 'shell' as const },
  ],
}
const messagesRequest = {
  model: 'm',
  max_tokens: 100,
  messages: [user],
  tools: names.map((name) => ({ name, input_schema: { type: 'object' as const } })),
}

const openaiReader =
  (read: (client: OpenAI, see: (part: unknown) => void) => Promise<void>): Reader =>
  async (events, options, see) => {
    agent.provider.enqueue({ events })
    const session = replay(agent.openai(), { contracts, ...options })
    await read(session.client, see).finally(() => session.restore())
  }
const anthropicReader =
  (read: (client: Anthropic, see: (part: unknown) => void) => Promise<void>): Reader =>
  async (events, options, see) => {
    agent.provider.enqueue({ events })
    const session = replay(agent.anthropic(), { contracts, ...options })
    await read(session.client, see).finally(() => session.restore())
  }

async function each(stream: AsyncIterable<unknown>, see: (part: unknown) => void): Promise<void> {
  for await (const event of stream) see(event)
}

/** Whether somebody listened or not, an emitter's failure is reported by `done` too. */
const seeing = (see: (part: unknown) => void) => (part: unknown) => see(part)

interface Api {
  readonly raw: Reader
  readonly helpers: Readonly<Record<string, Reader>>
}

const chat: Api = {
  raw: openaiReader(async (client, see) => {
    await each(await client.chat.completions.create({ ...chatRequest, stream: true }), see)
  }),
  helpers: {
    finalChatCompletion: openaiReader(async (client, see) => {
      see(await client.chat.completions.stream(chatRequest).finalChatCompletion())
    }),
    listeners: openaiReader(async (client, see) => {
      const stream = client.chat.completions.stream(chatRequest)
      stream.on('tool_calls.function.arguments.done', seeing(see)).on('message', seeing(see))
      await stream.done()
    }),
    toReadableStream: openaiReader(async (client, see) => {
      const stream = await client.chat.completions.create({ ...chatRequest, stream: true })
      see(await new Response(stream.toReadableStream() as ReadableStream).text())
    }),
    asResponse: openaiReader(async (client, see) => {
      see(await (await client.chat.completions.create({ ...chatRequest, stream: true }).asResponse()).text())
    }),
  },
}

const responses: Api = {
  raw: openaiReader(async (client, see) => {
    await each(await client.responses.create({ ...responsesRequest, stream: true }), see)
  }),
  helpers: {
    finalResponse: openaiReader(async (client, see) => {
      see(await client.responses.stream(responsesRequest).finalResponse())
    }),
    listeners: openaiReader(async (client, see) => {
      const stream = client.responses.stream(responsesRequest)
      stream.on('response.function_call_arguments.delta', seeing(see))
      stream.on('response.output_item.done', seeing(see)).on('response.completed', seeing(see))
      await stream.done()
    }),
    tee: openaiReader(async (client, see) => {
      const [left, right] = (await client.responses.create({ ...responsesRequest, stream: true })).tee()
      await Promise.all([each(left, see), each(right, see)])
    }),
  },
}

const messages: Api = {
  raw: anthropicReader(async (client, see) => {
    await each(await client.messages.create({ ...messagesRequest, stream: true }), see)
  }),
  helpers: {
    finalMessage: anthropicReader(async (client, see) => {
      see(await client.messages.stream(messagesRequest).finalMessage())
    }),
    listeners: anthropicReader(async (client, see) => {
      const stream = client.messages.stream(messagesRequest)
      stream.on('contentBlock', seeing(see)).on('message', seeing(see))
      await stream.done()
    }),
    toReadableStream: anthropicReader(async (client, see) => {
      const stream = await client.messages.create({ ...messagesRequest, stream: true })
      see(await new Response(stream.toReadableStream() as ReadableStream).text())
    }),
  },
}

const APIS: [string, Api, Contradiction[], Legal[]][] = [
  ['OpenAI chat', chat, CHAT, CHAT_LEGAL],
  ['OpenAI Responses', responses, RESPONSES, RESPONSES_LEGAL],
  ['Anthropic messages', messages, MESSAGES, MESSAGES_LEGAL],
]

describe.each(APIS)('%s', (_, api, rows, legal) => {
  describe.each(rows)('%s', (_what, events, reason) => {
    proves(
      ['block.response-format-invalid', 'guarantee.known-shapes'],
      'a stream that says two things is blocked, and the reason says which',
      async () => {
        const seen: unknown[] = []
        const error: unknown = await api.raw(events, {}, (event) => seen.push(event)).catch((thrown: unknown) => thrown)
        expect(JSON.stringify(seen)).not.toContain('501.875')
        expect(error).toBeInstanceOf(ReplayContractError)
        const { decision } = error as ReplayContractError
        expect(new Set(decision.blocked.map(({ reason }) => reason))).toEqual(new Set(['response_format_invalid']))
        expect((error as ReplayContractError).message).toMatch(reason)
        expect((error as ReplayContractError).message).not.toContain('501.875')
      },
    )

    test.each(Object.entries(api.helpers))('%s shows neither', async (_helper, read) => {
      for (const maxRetries of [0, 1]) {
        if (maxRetries === 1) agent.provider.answerWith(() => ({ events }))
        const seen: unknown[] = []
        await expect(read(events, { maxRetries }, (part) => seen.push(part))).rejects.toThrow()
        expect(calledIn(seen)).toEqual([])
      }
    })

    test('a gate that strips leaves a text of ours', async () => {
      for (const read of [api.raw, ...Object.values(api.helpers)]) {
        const seen: unknown[] = []
        await read(events, { gate: 'strip_blocked' }, (part) => seen.push(part))
        expect(JSON.stringify(seen)).toContain('response_format_invalid')
        expect(calledIn(seen)).toEqual([])
      }
    })
  })

  test.each(legal)('allowed: %s', async (_what, events, calls) => {
    const seen: JsonObject[] = []
    await api.raw(events, {}, (event) => seen.push(event as JsonObject))
    expect(seen).toEqual(events.filter(({ choices }) => !Array.isArray(choices) || choices.length > 0))
    const final: unknown[] = []
    const [helper] = Object.values(api.helpers)
    // A client may not make out a stream that programs can read.
    await helper?.(events, {}, (part) => final.push(part)).catch(() => {})
    for (const call of calledIn(final)) expect(calls).toContain(call)
  })
})

/** Whatever looks like a call, at any depth: a name with its arguments. */
function calledIn(value: unknown): string[] {
  if (typeof value === 'string') return /"(arguments|input|partial_json|command)":/.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  const { name, arguments: args, input: used } = value as JsonObject
  const own = args ?? used
  const here = typeof name === 'string' && own !== undefined ? [`${name} ${textOf(own)}`] : []
  return [...here, ...Object.values(value).flatMap(calledIn)]
}

const textOf = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args))
