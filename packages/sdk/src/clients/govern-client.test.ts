import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fakeTurn } from '../../../../test/support/provider/fake-turn.js'
import { type LoopbackProvider, startProvider } from '../../../../test/support/provider/provider.js'
import type { JsonObject } from '../base/json-object.js'
import type { Shown } from '../turn/apply-verdict.js'
import type { Came } from '../turn/read-answer.js'
import type { Asked } from '../turn/read-request.js'
import { runTurn } from '../turn/run-turn.js'
import type { Left } from '../turn/turn.js'
import { detectClient } from './clients.js'
import { governClient } from './govern-client.js'

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())
afterEach(() => {
  provider.requests.length = 0
})

interface Overrides {
  mayRetry?: boolean
  prepared?: (asked: Asked) => Asked
}

interface Recorded {
  answers: Came[]
  abandoned: Left[]
}

/** Governs a client with turns that follow `judge`, and records what they were given. */
function governed<Client extends object>(
  client: Client,
  judge: (came: Came, asked: Asked) => Shown,
  { mayRetry = false, prepared = (asked) => asked }: Overrides = {},
): { client: Client; recorded: Recorded } {
  const kind = detectClient(client)
  if (kind === null) throw new Error('the client was not recognised')
  const recorded: Recorded = { answers: [], abandoned: [] }
  const judged = (came: Came, asked: Asked): Shown => {
    recorded.answers.push(came)
    return judge(came, asked)
  }
  const abandon = async (_asked: Asked, left: Left): Promise<void> => void recorded.abandoned.push(left)
  return {
    client: governClient(client, kind, {
      runTurn: (call) => {
        const turn = fakeTurn(call.provider, judged, mayRetry)
        const prepare = async (request: JsonObject): Promise<Asked> => prepared(await turn.prepare(request))
        return runTurn({ ...turn, prepare, abandon }, call)
      },
      assertUsable: () => {},
      binds: () => true,
      send: (call) => call(),
    }),
    recorded,
  }
}

const openai = () => new OpenAI({ apiKey: 'unused', baseURL: `${provider.url}/v1`, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: 'unused', baseURL: provider.url, maxRetries: 0 })

const release = (): Shown => ({ action: 'release' })
const keep =
  (...ids: string[]) =>
  (): Shown => ({ action: 'keep', callIds: new Set(ids) })
const TWO_CALLS = {
  text: 'Let me see.',
  calls: [
    { id: 'call_a', name: 'search', arguments: { q: 'weather' } },
    { id: 'call_b', name: 'refund', arguments: { amount: 50 } },
  ],
}
const user = { role: 'user' as const, content: 'hello' }
const chat = { model: 'gpt-test', messages: [user] }
const message = { model: 'claude-test', max_tokens: 100, messages: [user] }
const response = { model: 'gpt-test', input: 'hello' }

/** The three APIs, each whole and streamed, as one shape: what the program sees of calls and text. */
const APIS = {
  'chat.completions.create': {
    whole: async (judge: () => Shown) => {
      const { client } = governed(openai(), judge)
      const { choices } = await client.chat.completions.create(chat)
      const [choice] = choices
      return {
        calls: choice?.message.tool_calls?.map((call) => call.id) ?? [],
        text: choice?.message.content,
        end: choice?.finish_reason,
      }
    },
    streamed: async (judge: () => Shown) => {
      const { client } = governed(openai(), judge)
      const final = await client.chat.completions.stream(chat).finalChatCompletion()
      const [choice] = final.choices
      return {
        calls: choice?.message.tool_calls?.map((call) => call.id) ?? [],
        text: choice?.message.content,
        end: choice?.finish_reason,
      }
    },
    ends: { calls: 'tool_calls', text: 'stop' },
  },
  'responses.create': {
    whole: async (judge: () => Shown) => {
      const { client } = governed(openai(), judge)
      return responseView(await client.responses.create(response))
    },
    streamed: async (judge: () => Shown) => {
      const { client } = governed(openai(), judge)
      return responseView(await client.responses.stream(response).finalResponse())
    },
    ends: { calls: 'completed', text: 'completed' },
  },
  'messages.create': {
    whole: async (judge: () => Shown) => {
      const { client } = governed(anthropic(), judge)
      return messageView(await client.messages.create(message))
    },
    streamed: async (judge: () => Shown) => {
      const { client } = governed(anthropic(), judge)
      return messageView(await client.messages.stream(message).finalMessage())
    },
    ends: { calls: 'tool_use', text: 'end_turn' },
  },
}

function responseView(final: OpenAI.Responses.Response) {
  const calls = final.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))
  const texts = final.output.flatMap((item) => (item.type === 'message' ? item.content : []))
  const text = texts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
  return { calls, text, end: final.status }
}

function messageView(final: Anthropic.Message) {
  const calls = final.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
  const text = final.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  return { calls, text, end: final.stop_reason }
}

describe.each(Object.entries(APIS))('%s', (_path, api) => {
  describe.each(['whole', 'streamed'] as const)('%s', (mode) => {
    test('a released answer is what the model said', async () => {
      provider.enqueue(TWO_CALLS)
      const seen = await api[mode](release)
      expect(seen).toEqual({ calls: ['call_a', 'call_b'], text: 'Let me see.', end: api.ends.calls })
    })

    test('a call that is removed is not seen', async () => {
      provider.enqueue(TWO_CALLS)
      const seen = await api[mode](keep('call_b'))
      expect(seen).toEqual({ calls: ['call_b'], text: 'Let me see.', end: api.ends.calls })
    })

    test('without calls the answer ends as a text does', async () => {
      provider.enqueue(TWO_CALLS)
      const seen = await api[mode](keep())
      expect(seen).toEqual({ calls: [], text: 'Let me see.', end: api.ends.text })
    })

    test('an answer in place of calls is text in the shape of the provider', async () => {
      provider.enqueue({ calls: TWO_CALLS.calls })
      const seen = await api[mode](() => ({ action: 'answer', text: 'I may not.' }))
      expect(seen).toEqual({ calls: [], text: 'I may not.', end: api.ends.text })
    })

    test('what the judge throws is what the program sees', async () => {
      provider.enqueue(TWO_CALLS)
      await expect(
        api[mode](() => {
          throw new Error('blocked')
        }),
      ).rejects.toThrow('blocked')
    })
  })
})

async function events(stream: AsyncIterable<unknown>): Promise<JsonObject[]> {
  const seen: JsonObject[] = []
  for await (const event of stream) seen.push(event as JsonObject)
  return seen
}

describe('streams', () => {
  test('text flows before the judgement, calls after it', async () => {
    provider.enqueue(TWO_CALLS)
    const order: string[] = []
    const { client } = governed(anthropic(), () => {
      order.push('judge')
      return { action: 'release' }
    })
    for await (const event of await client.messages.create({ ...message, stream: true })) {
      order.push(event.type === 'content_block_start' ? event.content_block.type : event.type)
    }
    expect(order.indexOf('text')).toBeLessThan(order.indexOf('judge'))
    expect(order.indexOf('judge')).toBeLessThan(order.indexOf('tool_use'))
    expect(order.filter((one) => one === 'judge')).toHaveLength(1)
  })

  test('a consumer that leaves early aborts the request and nothing is judged', async () => {
    provider.enqueue({
      events: [{ type: 'message_start', message: {} }, ...Array(1_000).fill({ type: 'ping2' })],
      eventDelayMs: 20,
    })
    const { client, recorded } = governed(anthropic(), release)
    for await (const _event of await client.messages.create({ ...message, stream: true })) break
    expect(recorded.answers).toHaveLength(0)
    expect(recorded.abandoned).toMatchObject([{ why: 'left' }])
    await expect.poll(() => provider.requests[0]?.aborted).toBe(true)
  })

  test('a stream without its end is judged as incomplete', async () => {
    provider.enqueue({
      events: [
        { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 't', name: 'refund', input: {} },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"amount": 5' } },
      ],
    })
    const { client, recorded } = governed(anthropic(), keep())
    const seen = await events(await client.messages.create({ ...message, stream: true }))
    expect(seen.map((event) => event.type)).toEqual(['message_start'])
    expect(recorded.answers).toMatchObject([
      { complete: false, response: { content: [{ type: 'tool_use', name: 'refund', input: '{"amount": 5' }] } },
    ])
  })

  test('a connection that breaks in the middle fails as it does without the wrapper', async () => {
    provider.enqueue({ events: Array(5).fill({ type: 'ping2' }), eventDelayMs: 10, hangUpAfter: 3 })
    const { client, recorded } = governed(anthropic(), release)
    await expect(events(await client.messages.create({ ...message, stream: true }))).rejects.toThrow()
    expect(recorded.abandoned).toMatchObject([{ why: 'failed' }])
  })

  test('usage is asked for, and hidden from a program that did not ask', async () => {
    provider.enqueue({ text: 'Hi.' }, { text: 'Hi.' })
    const { client, recorded } = governed(openai(), release)
    const hidden = await events(await client.chat.completions.create({ ...chat, stream: true }))
    const asked = { ...chat, stream: true as const, stream_options: { include_usage: true } }
    const shown = await events(await client.chat.completions.create(asked))
    expect(hidden.filter((chunk) => chunk.usage)).toHaveLength(0)
    expect(shown.filter((chunk) => chunk.usage)).toHaveLength(1)
    expect(provider.requests.map(({ body }) => body?.stream_options)).toEqual([
      { include_usage: true },
      { include_usage: true },
    ])
    expect(recorded.answers.map(({ response }) => response.usage)).toMatchObject([
      { total_tokens: 15 },
      { total_tokens: 15 },
    ])
  })

  test('tee and toReadableStream read what was judged', async () => {
    provider.enqueue(TWO_CALLS, TWO_CALLS)
    const { client } = governed(openai(), keep('call_a'))
    const [left, right] = (await client.chat.completions.create({ ...chat, stream: true })).tee()
    expect(await events(left)).toEqual(await events(right))
    const stream = await client.chat.completions.create({ ...chat, stream: true })
    const text = await new Response(stream.toReadableStream() as ReadableStream).text()
    expect(text).toContain('call_a')
    expect(text).not.toContain('call_b')
    expect(stream.controller).toBeInstanceOf(AbortController)
  })

  test('a stream goes on with the next answer where the model is asked again', async () => {
    provider.enqueue(TWO_CALLS, { text: 'Better.' })
    let judged = 0
    const { client } = governed(
      openai(),
      (_came, { request }) => {
        judged += 1
        return judged === 1 ? { action: 'retry', request: { ...request, user: 'again' } } : { action: 'release' }
      },
      { mayRetry: true },
    )
    const final = await client.chat.completions.stream(chat).finalChatCompletion()
    expect(final.choices[0]?.message).toMatchObject({ content: 'Let me see.\n\nBetter.' })
    expect(final.choices[0]?.message.tool_calls).toBeUndefined()
    expect(provider.requests.map(({ body }) => body?.user)).toEqual([undefined, 'again'])
  })
})

describe('the promise of create', () => {
  test('withResponse gives the judged data and the response it came in', async () => {
    provider.enqueue(TWO_CALLS, TWO_CALLS)
    const chatCall = governed(openai(), keep('call_a')).client.chat.completions.create(chat)
    const { data, response: raw, request_id } = await chatCall.withResponse()
    expect(data.choices[0]?.message.tool_calls).toHaveLength(1)
    expect([raw.status, request_id, Reflect.get(data, '_request_id')]).toEqual([200, 'req_loopback', 'req_loopback'])
    const messageCall = governed(anthropic(), keep()).client.messages.create({ ...message, stream: true })
    const streamed = await messageCall.withResponse()
    expect(streamed.response.headers.get('content-type')).toBe('text/event-stream')
    expect(JSON.stringify(await events(streamed.data))).not.toContain('tool_use')
  })

  test.each([false, true])('asResponse gives the body that was judged (stream: %s)', async (stream) => {
    provider.enqueue(TWO_CALLS)
    const raw = await governed(openai(), keep('call_a'))
      .client.chat.completions.create({ ...chat, stream })
      .asResponse()
    const body = await raw.text()
    expect(body).toContain('call_a')
    expect(body).not.toContain('call_b')
    expect(body.endsWith('data: [DONE]\n\n')).toBe(stream)
    expect(raw.headers.get('x-request-id')).toBe('req_loopback')
  })

  test('parse goes through the judgement too', async () => {
    provider.enqueue(TWO_CALLS, TWO_CALLS, { text: '{}' })
    const { client, recorded } = governed(openai(), keep('call_b'))
    const parsed = await client.chat.completions.parse(chat)
    expect(parsed.choices[0]?.message.tool_calls?.map((call) => call.id)).toEqual(['call_b'])
    const parsedResponse = await client.responses.parse(response)
    expect(responseView(parsedResponse as OpenAI.Responses.Response).calls).toEqual(['call_b'])
    await governed(anthropic(), release).client.messages.parse(message)
    expect(recorded.answers).toHaveLength(2)
  })

  test('an error of the provider comes through, and the turn is abandoned', async () => {
    provider.enqueue({ status: 400, error: { message: 'no such model' } })
    const { client, recorded } = governed(openai(), release)
    await expect(client.chat.completions.create(chat)).rejects.toThrow(OpenAI.BadRequestError)
    expect(recorded.abandoned).toMatchObject([{ why: 'failed', response: null }])
  })

  test.each([false, true])(
    'a turn that may not go on answers without asking the model (stream: %s)',
    async (stream) => {
      const said = { text: 'The budget is used up.', id: 'x', reason: 'killed' } as const
      const prepared = (asked: Asked): Asked => ({ ...asked, said })
      const viaChat = governed(openai(), release, { prepared }).client.chat.completions
      const viaResponses = governed(openai(), release, { prepared }).client.responses
      const viaMessages = governed(anthropic(), release, { prepared }).client.messages
      const read = stream
        ? [
            (await viaChat.stream(chat).finalChatCompletion()).choices[0]?.message.content,
            (await viaResponses.stream(response).finalResponse()).output_text,
            messageView(await viaMessages.stream(message).finalMessage()).text,
          ]
        : [
            (await viaChat.create(chat)).choices[0]?.message.content,
            (await viaResponses.create(response)).output_text,
            messageView(await viaMessages.create(message)).text,
          ]
      expect(read).toEqual(Array(3).fill('The budget is used up.'))
      expect(provider.requests).toHaveLength(0)
    },
  )
})

describe('the rest of the client', () => {
  test('methods that could reach a model another way are refused', () => {
    const { client } = governed(openai(), release)
    for (const call of [
      () => client.completions.create({ model: 'm', prompt: 'p' }),
      () => client.beta.threads.createAndRun({ assistant_id: 'a' }),
      () => client.post('/chat/completions', { body: chat }),
      () => client.responses.retrieve('resp_1'),
    ]) {
      expect(call).toThrow(/is not governed/)
    }
    expect(provider.requests).toHaveLength(0)
    expect(Reflect.get(client.chat.completions, '_client')).toBeUndefined()
  })

  test('methods that bring no calls pass, and derived clients are governed', async () => {
    provider.enqueue({ response: { data: [] } }, TWO_CALLS)
    const { client, recorded } = governed(openai(), keep())
    await client.embeddings.create({ model: 'm', input: 'text' })
    const derived = client.withOptions({ timeout: 1000 })
    const { choices } = await derived.chat.completions.create(chat)
    expect(choices[0]?.message.tool_calls).toBeUndefined()
    expect(recorded.answers).toHaveLength(1)
    expect(client).toBeInstanceOf(OpenAI)
  })
})

describe('options of a call', () => {
  test('a body that replaces the request is what is prepared, narrowed and sent', async () => {
    const requests: JsonObject[] = []
    const prepared = (asked: Asked): Asked => {
      requests.push(asked.request)
      const { tools: _, ...sent } = asked.request
      return { ...asked, sent }
    }
    const tools = [{ type: 'web_search' }]
    const bodies: JsonObject[] = [
      { ...chat, tools },
      { ...response, tools },
      { ...message, tools },
    ]
    provider.enqueue({ text: 'a' }, { text: 'b' }, { text: 'c' })
    const { client } = governed(openai(), release, { prepared })
    await client.chat.completions.create(chat, { body: bodies[0], timeout: 5_000 })
    await client.responses.create(response, { body: bodies[1] })
    await governed(anthropic(), release, { prepared }).client.messages.create(message, { body: bodies[2] })
    expect(requests).toEqual(bodies)
    expect(provider.requests.map(({ body }) => body?.tools)).toEqual([undefined, undefined, undefined])
    expect(provider.requests.map(({ body }) => body?.model)).toEqual(['gpt-test', 'gpt-test', 'claude-test'])
  })

  test.each(['path', 'method'])('the option %s, which would send it elsewhere, is refused', (option) => {
    const { client } = governed(openai(), release)
    expect(() => client.chat.completions.create(chat, { [option]: 'put' })).toThrow(`the option ${option}`)
    expect(provider.requests).toEqual([])
  })
})
