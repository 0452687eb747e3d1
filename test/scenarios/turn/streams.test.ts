import type Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect } from 'vitest'
import { ReplayContractError, type ReplayOptions, type ReplaySession, replay } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, says, toolDefinition } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
]
const tools = { look: () => ({ found: true }), pay: () => ({ ok: true }) }

const { agent, runtime } = await withAgentAndRuntime()

/** One way to ask a model, with the names of the calls that the program then sees. */
interface Api {
  readonly start: (options: ReplayOptions) => ReplaySession<object>
  readonly ask: (session: ReplaySession<object>) => Promise<string[]>
  readonly stream: (session: ReplaySession<object>) => Promise<string[]>
  /** As the client's own helper puts a stream together. */
  readonly final: (session: ReplaySession<object>) => Promise<{ text: string; names: string[] }>
}

const chat = (session: ReplaySession<object>) => (session.client as OpenAI).chat.completions
const responses = (session: ReplaySession<object>) => (session.client as OpenAI).responses
const messages = (session: ReplaySession<object>) => (session.client as Anthropic).messages
const chatRequest = {
  model: 'gpt-4o',
  messages: [{ role: 'user' as const, content: 'go on' }],
  tools: ['look', 'pay'].map(toolDefinition),
}
const responsesRequest = {
  model: 'gpt-4o',
  input: 'go on',
  tools: ['look', 'pay'].map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false })),
}
const messagesRequest = {
  model: 'claude-test',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'go on' }],
  tools: ['look', 'pay'].map((name) => ({ name, input_schema: { type: 'object' as const } })),
}

const APIS: Record<string, Api> = {
  'OpenAI chat': {
    start: (options) => replay(agent.openai(), options),
    ask: async (session) => {
      const { choices } = await chat(session).create(chatRequest)
      return (choices[0]?.message.tool_calls ?? []).map((call) => ('function' in call ? call.function.name : ''))
    },
    stream: async (session) => {
      const names: string[] = []
      for await (const chunk of await chat(session).create({ ...chatRequest, stream: true })) {
        for (const call of chunk.choices[0]?.delta.tool_calls ?? [])
          if (call.function?.name) names.push(call.function.name)
      }
      return names
    },
    final: async (session) => {
      const { choices } = await chat(session).stream(chatRequest).finalChatCompletion()
      const { content, tool_calls = [] } = choices[0]!.message
      return { text: content ?? '', names: tool_calls.map(({ function: made }) => made.name) }
    },
  },
  'OpenAI Responses': {
    start: (options) => replay(agent.openai(), options),
    ask: async (session) => {
      const { output } = await responses(session).create(responsesRequest)
      return output.flatMap((item) => (item.type === 'function_call' ? [item.name] : []))
    },
    stream: async (session) => {
      const names: string[] = []
      for await (const event of await responses(session).create({ ...responsesRequest, stream: true })) {
        if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
          names.push(event.item.name)
      }
      return names
    },
    final: async (session) => {
      const { output, output_text } = await responses(session).stream(responsesRequest).finalResponse()
      return { text: output_text, names: output.flatMap((item) => (item.type === 'function_call' ? [item.name] : [])) }
    },
  },
  'Anthropic messages': {
    start: (options) => replay(agent.anthropic(), options),
    ask: async (session) => {
      const { content } = await messages(session).create(messagesRequest)
      return content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))
    },
    stream: async (session) => {
      const names: string[] = []
      for await (const event of await messages(session).create({ ...messagesRequest, stream: true })) {
        if (event.type === 'content_block_start' && event.content_block.type === 'tool_use')
          names.push(event.content_block.name)
      }
      return names
    },
    final: async (session) => {
      const { content } = await messages(session).stream(messagesRequest).finalMessage()
      return {
        text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        names: content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
      }
    },
  },
}

describe.each(Object.entries(APIS))('%s', (_, api) => {
  for (const level of ['protect', 'govern']) {
    const begin = (options: ReplayOptions = {}) =>
      api.start({
        contracts,
        tools,
        ...(level === 'govern' && { apiKey: runtime.key, fetch: runtime.fetch }),
        ...options,
      })

    for (const way of ['ask', 'stream'] as const) {
      proves('session.client', `governs create, ${way === 'ask' ? 'whole' : 'streamed'} (${level})`, async () => {
        const session = begin()
        agent.provider.enqueue(calls(['look', {}], ['pay', { amount: 5 }]))
        expect(await api[way](session)).toEqual(['look', 'pay'])
        await Promise.all([session.tools?.look?.({}), session.tools?.pay?.({ amount: 5 })])
        expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { look: 1, pay: 1 } })
        agent.provider.enqueue(calls(['look', {}], ['pay', { amount: 501 }]))
        await expect(api[way](session)).rejects.toThrow(ReplayContractError)
        await session.restore()
      })

      proves(
        'option.gate.strip-blocked',
        `strips what is blocked, ${way === 'ask' ? 'whole' : 'streamed'} (${level})`,
        async () => {
          const session = begin({ gate: 'strip_blocked' })
          agent.provider.enqueue(calls(['look', {}], ['pay', { amount: 501 }]), calls(['pay', { amount: 501 }]))
          expect(await api[way](session)).toEqual(['look'])
          await session.tools?.look?.({})
          expect(await api[way](session)).toEqual([])
          expect(session.getState()).toMatchObject({ toolCallCounts: { look: 1 }, totalBlockCount: 2 })
          await session.restore()
        },
      )
    }

    for (const way of ['ask', 'stream'] as const) {
      proves(
        'option.gate.answer',
        `leaves a blocked call in the response, and running it gives the remedy (${way}, ${level})`,
        async () => {
          const session = begin({ gate: 'answer' })
          agent.provider.enqueue(calls(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1'], ['wipe', {}, 'w1']))
          expect(await api[way](session)).toEqual(['look', 'pay'])
          expect(await session.tools?.pay?.({ amount: 501 }, { callId: 'p1' })).toMatch(
            /^"pay" was blocked \(argument_value_mismatch\)/,
          )
          expect(await session.tools?.pay?.({ amount: 501 })).toMatch(/^"pay" was blocked/)
          expect(await session.run('p1')).toMatch(/^"pay" was blocked/)
          await session.run('l1')
          expect(session.getState()).toMatchObject({ toolCallCounts: { look: 1 }, totalBlockCount: 1 })
          await session.restore()
        },
      )
    }

    proves('option.max-retries.shows-call', `shows the model its call with the remedy (${level})`, async () => {
      const session = begin({ maxRetries: 1 })
      agent.provider.enqueue(calls(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1']), calls(['pay', { amount: 5 }]))
      expect(await api.ask(session)).toEqual(['pay'])
      const { messages, input } = agent.provider.requests.at(-1)?.body ?? {}
      const written = JSON.stringify(messages ?? input)
      expect(written).toContain('"go on"')
      expect(written.match(/"l1"/g)).toHaveLength(2)
      expect(written.match(/"p1"/g)).toHaveLength(2)
      expect(written).toMatch(/"p1","(content|output)":"\\"pay\\" was blocked \(argument_value_mismatch\)/)
      expect(written).toContain('It was not run, since another call of the same answer was blocked.')
      expect((messages ?? input) as object[]).toContainEqual({ role: 'user', content: 'go on' })
      await session.restore()
    })

    proves('option.max-retries.joins-streams', `goes on in the same stream after a retry (${level})`, async () => {
      const session = begin({ maxRetries: 2 })
      agent.provider.enqueue(
        { text: 'I pay 501.', ...calls(['pay', { amount: 501 }, 'p1']) },
        { text: 'Then 502.', ...calls(['pay', { amount: 502 }, 'p2'], ['look', {}, 'l1']) },
        { text: 'Five it is.', ...calls(['look', {}, 'l2'], ['pay', { amount: 5 }, 'p3']) },
      )
      const { text, names } = await api.final(session)
      expect(names).toEqual(['look', 'pay'])
      expect(text.replaceAll('\n', '')).toBe('I pay 501.Then 502.Five it is.')
      await session.restore()
    })

    proves('option.max-retries.retries', `asks again for a stream that is held (${level})`, async () => {
      const session = begin({ maxRetries: 1 })
      agent.provider.enqueue(calls(['pay', { amount: 501 }]), calls(['pay', { amount: 5 }]))
      expect(await api.stream(session)).toEqual(['pay'])
      await session.restore()
    })
  }
})

proves('option.max-retries.text-flows', 'with maxRetries text is seen before the answer has ended', async () => {
  for (const offered of [chatRequest.tools, []]) {
    let write: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        write = controller
      },
    })
    const chunk = (delta: object, finish_reason: string | null = null) =>
      write?.enqueue(
        new TextEncoder().encode(
          `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
        ),
      )
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const session = replay(new OpenAI({ apiKey: 'sk-test', fetch }), { contracts, tools, maxRetries: 1 })
    chunk({ content: 'Well' })
    const stream = await session.client.chat.completions.create({
      ...chatRequest,
      tools: offered,
      stream: true,
    })
    const reader = stream[Symbol.asyncIterator]()
    expect((await reader.next()).value?.choices[0]?.delta.content).toBe('Well')
    chunk({}, 'stop')
    write?.close()
    while (!(await reader.next()).done);
    await session.restore()
  }
})

proves('turn.cycle', 'a stream that the program leaves allows nothing and holds nobody up', async () => {
  const session = replay(agent.openai(), { contracts, tools, apiKey: runtime.key, fetch: runtime.fetch })
  agent.provider.enqueue({ text: 'a b c d e f', calls: calls(['pay', { amount: 5 }]).calls ?? [] }, says('done'))
  for await (const chunk of await session.client.chat.completions.create({ ...chatRequest, stream: true })) {
    if (chunk.choices.length > 0) break
  }
  await expect(session.tools?.pay?.({ amount: 5 })).rejects.toThrow('did not run')
  await session.client.chat.completions.create(chatRequest)
  const { body } = await runtime.api().loadSession({
    params: { session_id: session.sessionId },
    query: { include: 'pending' },
  })
  expect(body.pending).toEqual([])
  await session.restore()
})

proves('block.response-format-invalid', 'a stream that breaks off inside its calls allows none of them', async () => {
  const session = replay(agent.openai(), { contracts, tools, apiKey: runtime.key, fetch: runtime.fetch })
  const delta = (tool_calls: object[]) => ({
    id: 'x',
    object: 'chat.completion.chunk',
    model: 'gpt-4o',
    choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }],
  })
  agent.provider.enqueue({
    events: [
      delta([{ index: 0, id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"amount":5}' } }]),
      delta([{ index: 1, id: 'c2', type: 'function', function: { name: 'pay', arguments: '{"amo' } }]),
    ],
  })
  const read = async () => {
    for await (const _ of await session.client.chat.completions.create({ ...chatRequest, stream: true }));
  }
  await expect(read()).rejects.toMatchObject({ decision: { blocked: [{ reason: 'response_format_invalid' }, {}] } })
  await session.restore()
})

proves(
  ['block.response-format-invalid', 'guarantee.streams-contradicting'],
  'a stream that contradicts itself allows none of its calls',
  async () => {
    const session = replay(agent.openai(), { contracts, tools, apiKey: runtime.key, fetch: runtime.fetch })
    const item = (amount: number) => ({
      type: 'function_call',
      id: 'fc_1',
      call_id: 'c1',
      name: 'pay',
      arguments: JSON.stringify({ amount }),
    })
    const contradiction = {
      events: [
        { type: 'response.created', response: { id: 'resp_1', object: 'response', output: [] } },
        { type: 'response.output_item.done', output_index: 0, item: item(501) },
        { type: 'response.completed', response: { id: 'resp_1', object: 'response', output: [item(5)] } },
      ],
    }
    agent.provider.enqueue(contradiction, calls(['pay', { amount: 5 }]))
    await expect(APIS['OpenAI Responses']?.stream(session)).rejects.toThrow(
      'The stream contradicts itself: call "c1" has two arguments, in response.output_item.done and in response.completed',
    )
    await expect(session.tools?.pay?.({ amount: 5 })).rejects.toThrow('did not run')
    expect(session.getState()).toMatchObject({ toolCallCounts: {} })
    expect(await APIS['OpenAI Responses']?.stream(session)).toEqual(['pay'])
    await session.restore()

    const watching = replay(agent.openai(), { contracts, tools, mode: 'shadow' })
    agent.provider.enqueue(contradiction)
    expect(await APIS['OpenAI Responses']?.stream(watching)).toEqual(['pay'])
    expect(watching.getLastShadowDelta()).toMatchObject({
      would_have_blocked: [{ tool_name: 'pay', reason: 'response_format_invalid' }],
    })
    await watching.restore()
  },
)

proves('session.client', 'withResponse and asResponse give what was judged', async () => {
  const session = replay(agent.openai(), { contracts, gate: 'strip_blocked' })
  agent.provider.enqueue(
    calls(['look', {}], ['pay', { amount: 501.875 }]),
    calls(['look', {}], ['pay', { amount: 501.875 }]),
  )
  const { data, response } = await session.client.chat.completions.create(chatRequest).withResponse()
  expect(data.choices[0]?.message.tool_calls).toHaveLength(1)
  expect(response.status).toBe(200)
  const raw = await session.client.chat.completions.create(chatRequest).asResponse()
  expect(await raw.text()).not.toContain('501.875')
  await session.restore()
})

proves(
  ['session.client', 'guarantee.streams-held'],
  'the response of a stream gives what was judged, and nothing before',
  async () => {
    const session = replay(agent.openai(), { contracts, gate: 'strip_blocked' })
    const answer = calls(['look', {}], ['pay', { amount: 501.875 }])
    agent.provider.enqueue(answer, answer)
    const streaming = { ...chatRequest, stream: true } as const
    const { response } = await session.client.chat.completions.create(streaming).withResponse()
    const body = await response.text()
    expect(body).toContain('look')
    expect(body).not.toContain('501.875')
    const { data } = await session.client.chat.completions.create(streaming).withResponse()
    const chunks: unknown[] = []
    for await (const chunk of data) chunks.push(chunk)
    expect(chunks.length).toBeGreaterThan(1)
    // A number may come in pieces; the name of a tool does not.
    expect(JSON.stringify(chunks)).toContain('"look"')
    expect(JSON.stringify(chunks)).not.toContain('"pay"')
    await session.restore()
  },
)
