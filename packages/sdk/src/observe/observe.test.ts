import Anthropic from '@anthropic-ai/sdk'
import { type CaptureItem, captureItemSchema } from '@countersign/protocol'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { type LoopbackProvider, startProvider } from '../../../../test/support/provider/provider.js'
import type { Diagnostic } from '../base/diagnostics.js'
import { forgetWarnings } from '../base/warn-on-console.js'
import type { ObserveOptions } from '../options/observe-options.js'
import { type ObserveHandle, observe } from './observe.js'

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())

/** The capture endpoint: what arrived, and how it answers. */
interface Service {
  fetch: typeof fetch
  requests: { url: string; authorization: string | null; captures: CaptureItem[] }[]
  captures(): CaptureItem[]
  answer: () => Response | Promise<Response>
}

function startService(): Service {
  const accepted = (count: number) => Response.json({ accepted: count, duplicates: 0, rejected: [] })
  const service: Service = {
    requests: [],
    captures: () => service.requests.flatMap(({ captures }) => captures),
    answer: () => accepted(service.requests.at(-1)?.captures.length ?? 0),
    fetch: async (input, init) => {
      const { captures } = JSON.parse(String(init?.body))
      service.requests.push({
        url: String(input),
        authorization: new Headers(init?.headers).get('authorization'),
        captures,
      })
      return service.answer()
    },
  }
  return service
}

const KEY = `csk_${'a'.repeat(32)}`
const openai = () => new OpenAI({ apiKey: 'unused', baseURL: `${provider.url}/v1`, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: 'unused', baseURL: provider.url, maxRetries: 0 })
const user = { role: 'user' as const, content: 'refund order 17, please' }
const chat = {
  model: 'gpt-test',
  messages: [user],
  tools: [{ type: 'function' as const, function: { name: 'refund', parameters: { type: 'object' } } }],
}
const message = { model: 'claude-test', max_tokens: 100, messages: [user] }
const CALL = { text: 'One moment.', calls: [{ id: 'call_1', name: 'refund', arguments: { order: 17 } }] }

let service: Service
let events: Diagnostic[]
let handles: ObserveHandle[]
beforeEach(() => {
  service = startService()
  events = []
  handles = []
  vi.stubEnv('COUNTERSIGN_API_KEY', '')
  vi.stubEnv('COUNTERSIGN_API_URL', '')
  vi.stubEnv('COUNTERSIGN_DISABLE', '')
})
afterEach(async () => {
  await Promise.all(handles.map((handle) => handle.restore()))
  provider.requests.length = 0
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

function watch(client: object, options: ObserveOptions = {}): ObserveHandle {
  const handle = observe(client, {
    apiKey: KEY,
    fetch: service.fetch,
    diagnostics: (event) => events.push(event),
    ...options,
  })
  handles.push(handle)
  return handle
}

async function read(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const event of stream) seen.push(event)
  return seen
}

describe('what is captured', () => {
  test('a call is sent before the program exits, however soon after it that is', async () => {
    const client = openai()
    watch(client)
    provider.enqueue(CALL)
    await client.chat.completions.create(chat)
    process.emit('beforeExit', 0)
    await expect.poll(() => service.captures().length).toBe(1)
  })

  test('many calls at once do not overflow a small buffer', async () => {
    const client = openai()
    const handle = watch(client, { maxBuffer: 4 })
    for (let call = 0; call < 12; call += 1) {
      provider.enqueue(CALL)
      await client.chat.completions.create(chat)
    }
    await handle.flush()
    expect(service.captures()).toHaveLength(12)
    expect(events).toEqual([])
  })

  test('tools that the program changes in place are captured as they were at each call', async () => {
    const client = openai()
    const handle = watch(client)
    const first = {
      type: 'function' as const,
      function: { name: 'refund', parameters: { type: 'object', title: 'v1' } },
    }
    const tools = [first]
    provider.enqueue(CALL, CALL, CALL)
    await client.chat.completions.create({ ...chat, tools })
    tools.push({ ...first, function: { ...first.function, name: 'send_mail' } })
    await client.chat.completions.create({ ...chat, tools })
    await handle.flush()
    first.function.parameters.title = 'v2'
    await client.chat.completions.create({ ...chat, tools: tools.splice(0, 1) })
    await handle.flush()
    const offered = service
      .captures()
      .map(({ request }) => request.tools.map(({ name, schema }) => [name, (schema as { title: string }).title]))
    const [refund, mail] = [
      ['refund', 'v1'],
      ['send_mail', 'v1'],
    ]
    expect(offered).toEqual([[refund], [refund, mail], [['refund', 'v2']]])
  })

  proves(
    'observe.patches-openai',
    'clients derived from an observed one are observed with it, until it is restored',
    async () => {
      const client = openai()
      const handle = watch(client)
      const derived = client.withOptions({ timeout: 5_000 })
      provider.enqueue(CALL, CALL, CALL)
      await derived.chat.completions.create(chat)
      await derived.withOptions({ timeout: 6_000 }).chat.completions.create(chat)
      await handle.flush()
      expect(service.captures()).toHaveLength(2)
      watch(derived)
      expect(events).toMatchObject([{ type: 'double_wrap' }])
      await handle.restore()
      await derived.chat.completions.create(chat)
      expect(service.captures()).toHaveLength(2)
      for (const one of [client, derived]) expect(Object.hasOwn(one, 'withOptions')).toBe(false)
    },
  )

  proves(['observe.patches-openai', 'observe.api-key', 'observe.agent.default'], async () => {
    const client = openai()
    const handle = watch(client)
    provider.enqueue(CALL, CALL)
    await client.chat.completions.create(chat)
    await client.responses.create({ model: 'gpt-test', input: 'hello' })
    await handle.flush()
    expect(service.captures()).toMatchObject([
      {
        agent: 'default',
        provider: 'openai',
        model_id: 'gpt-test',
        primary_tool_name: 'refund',
        tool_names: ['refund'],
        request: { tools: [{ name: 'refund', kind: 'function', schema: { type: 'object' } }] },
        response: { tool_calls: [{ id: 'call_1', name: 'refund', arguments: '{"order":17}' }] },
        usage: { input_tokens: 10, output_tokens: 5 },
      },
      { provider: 'openai', tool_names: ['refund'] },
    ])
    for (const capture of service.captures()) captureItemSchema.parse(capture)
    expect(service.requests[0]).toMatchObject({
      url: 'http://127.0.0.1:4319/api/v1/captures',
      authorization: `Bearer ${KEY}`,
    })
  })

  const asked = { model: 'model-test', messages: [{ role: 'user' as const, content: 'hello' }] }
  const completion = { model: 'model-test', choices: [{ message: { role: 'assistant', content: 'hi' } }] }
  const answer = { type: 'message', model: 'model-test', role: 'assistant', content: [{ type: 'text', text: 'hi' }] }
  class Gateway {
    readonly chat = { completions: { create: async (_request: unknown) => completion } }
  }
  /** Of another vendor, with the one method that counts, on its prototype. */
  class Messages {
    create(_request: unknown): Promise<unknown> {
      return Promise.resolve(answer)
    }
  }
  class OpenAIInName {
    readonly messages = new Messages()
  }
  class Subclass extends OpenAI {}
  const SHAPES: Record<string, [provider: string, make: () => object]> = {
    'a plain object of the shape of OpenAI': ['openai', () => ({ chat: new Gateway().chat })],
    'a class of the shape of OpenAI': ['openai', () => new Gateway()],
    'a class whose name says another provider': ['anthropic', () => new OpenAIInName()],
    'a plain object of the shape of Anthropic': ['anthropic', () => ({ messages: { create: async () => answer } })],
    'an object without a prototype': ['anthropic', () => Object.assign(Object.create(null), new OpenAIInName())],
    'a subclass of a real client': ['openai', () => new Subclass({ apiKey: 'sk-test', baseURL: `${provider.url}/v1` })],
    'a proxy around a real client': ['openai', () => new Proxy(openai(), {})],
    'a proxy around a look-alike': ['anthropic', () => new Proxy(new OpenAIInName(), {})],
  }
  for (const [what, [name, make]] of Object.entries(SHAPES)) {
    proves('observe.detects-provider', `${what} is recognised as ${name}`, async () => {
      const client = make()
      const handle = watch(client)
      expect(events).toEqual([])
      if (client instanceof OpenAI) provider.enqueue({ text: 'hi' })
      if (name === 'openai') await (client as OpenAI).chat.completions.create(asked)
      else await (client as Anthropic).messages.create({ ...asked, max_tokens: 5 })
      await handle.flush()
      expect(service.captures()).toMatchObject([{ provider: name }])
      expect(handle.getHealth().status).toBe('healthy')
    })
  }

  proves('observe.detects-provider', 'what only looks like a client is none', () => {
    const none = [
      { chat: { completions: { create: 'no function' } } },
      { chat: { completions: null } },
      { messages: {} },
      { messages: [] },
      { create: async () => answer },
      new (class OpenAI {})(),
      new (class Anthropic {})(),
    ]
    for (const client of none) expect(watch(client).getHealth().status).toBe('inactive')
    expect(events.map(({ type }) => type)).toEqual(none.map(() => 'unsupported_client'))
  })

  proves(['observe.patches-anthropic', 'observe.endpoint'], async () => {
    const client = anthropic()
    const handle = watch(client, { endpoint: 'https://captures.example/', agent: 'support' })
    provider.enqueue(CALL)
    await client.messages.create(message)
    await handle.flush()
    expect(service.requests[0]?.url).toBe('https://captures.example/api/v1/captures')
    expect(service.captures()).toMatchObject([
      { agent: 'support', provider: 'anthropic', response: { finish_reason: 'tool_calls' } },
    ])
  })

  const LEVELS = {
    metadata: { arguments: null, schema: undefined, messages: undefined, content: null },
    redacted: { arguments: '{"order":17}', schema: { type: 'object' }, messages: undefined, content: null },
    full: { arguments: '{"order":17}', schema: { type: 'object' }, messages: [user], content: 'One moment.' },
  }
  async function capturedAt(captureLevel?: keyof typeof LEVELS) {
    const client = openai()
    const handle = watch(client, captureLevel === undefined ? {} : { captureLevel })
    provider.enqueue(CALL)
    await client.chat.completions.create(chat)
    await handle.flush()
    const [capture] = service.captures()
    return {
      level: capture?.capture_level,
      names: capture?.tool_names,
      content: {
        arguments: capture?.response.tool_calls[0]?.arguments,
        schema: capture?.request.tools[0]?.schema,
        messages: capture?.request.messages,
        content: capture?.response.content,
      },
    }
  }

  for (const [level, content] of Object.entries(LEVELS)) {
    proves(
      [
        'capture.metadata.tool-names',
        'capture.metadata.nothing-else',
        'capture.redacted.names-and-arguments',
        'capture.redacted.nothing-else',
        'capture.full.everything',
      ],
      `level ${level} lets out no more than it names`,
      async () => {
        expect(await capturedAt(level as keyof typeof LEVELS)).toEqual({ level, names: ['refund'], content })
      },
    )
  }

  proves('observe.capture-level.default', async () => {
    expect(await capturedAt()).toMatchObject({ level: 'redacted', content: LEVELS.redacted })
  })

  proves('observe.stream-after-end', async () => {
    const client = anthropic()
    const handle = watch(client)
    provider.enqueue(CALL, CALL)
    const stream = await client.messages.create({ ...message, stream: true })
    await handle.flush()
    expect(service.captures()).toHaveLength(0)
    await read(stream)
    await client.messages.stream(message).finalMessage()
    await handle.flush()
    expect(service.captures()).toMatchObject(
      Array(2).fill({ response: { tool_calls: [{ id: 'call_1', name: 'refund', arguments: '{"order":17}' }] } }),
    )
  })

  test('a stream that is left before its end is not captured', async () => {
    const client = openai()
    const handle = watch(client)
    provider.enqueue({ text: 'a long answer, that is not read to its end' })
    for await (const _chunk of await client.chat.completions.create({ ...chat, stream: true })) break
    await handle.flush()
    expect(service.captures()).toHaveLength(0)
  })

  test('a conversation keeps its id while requests extend it', async () => {
    const client = openai()
    const handle = watch(client)
    const ask = async (messages: OpenAI.ChatCompletionMessageParam[], reply: object) => {
      provider.enqueue(reply)
      const { choices } = await client.chat.completions.create({ ...chat, messages })
      return choices[0]?.message as OpenAI.ChatCompletionMessageParam
    }
    const system = (said: string) => ({ role: 'system' as const, content: said })
    const first = await ask([system('monday'), user], CALL)
    const other = await ask([system('monday'), user], { text: 'Which one?' })
    const result = { role: 'tool' as const, tool_call_id: 'call_1', content: '{"refund_id":"r-99"}' }
    await ask([system('tuesday'), user, first, result], {
      calls: [{ id: 'call_2', name: 'mail', arguments: { text: 'r-99' } }],
    })
    await ask([system('tuesday'), user, other, user], { text: 'Done.' })
    await handle.flush()
    const ids = service.captures().map((capture) => capture.conversation_id)
    expect(ids[2]).toBe(ids[0])
    expect(ids[3]).toBe(ids[1])
    expect(ids[0]).not.toBe(ids[1])
    const leaf = service.captures()[2]?.flows?.calls[0]?.leaves[0]
    expect(leaf).toMatchObject({ path: '$.text', sources: [{ seen: 'cell', tool: 'refund', path: '$.refund_id' }] })
  })

  test('previous_response_id continues a conversation of Responses', async () => {
    const client = openai()
    const handle = watch(client)
    provider.enqueue(CALL, CALL)
    const { id } = await client.responses.create({ model: 'gpt-test', input: 'hello' })
    await client.responses.create({ model: 'gpt-test', input: 'and?', previous_response_id: id })
    await handle.flush()
    const [first, second] = service.captures()
    expect(second?.conversation_id).toBe(first?.conversation_id)
  })
})

describe('what the program notices', () => {
  proves('observe.response-untouched', async () => {
    const bare = openai()
    const client = openai()
    provider.answerWith(() => ({ ...CALL, headers: { 'x-request-id': 'req_7' } }))
    const own = client.chat.completions.create
    const handle = watch(client)
    const promise = client.chat.completions.create(chat)
    expect(promise.constructor).toBe(bare.chat.completions.create(chat).constructor)
    const first = await promise
    const { data, request_id } = await promise.withResponse()
    expect(data).toBe(first)
    expect(request_id).toBe('req_7')
    const raw = await client.chat.completions.create(chat).asResponse()
    expect(raw.bodyUsed).toBe(false)
    expect(await raw.json()).toMatchObject({ choices: [{ message: { content: 'One moment.' } }] })
    const parsed = await client.chat.completions.parse({ model: 'gpt-test', messages: [user] })
    expect(parsed.choices[0]?.message.content).toBe('One moment.')
    await handle.restore()
    expect(client.chat.completions.create).toBe(own)
  })

  test('streams keep their class, their events and their ways of being read', async () => {
    const recorded = { text: 'Hello.', calls: CALL.calls }
    const bare = openai()
    const client = openai()
    watch(client)
    provider.enqueue({ events: [{ id: 'c', choices: [] }] }, { events: [{ id: 'c', choices: [] }] })
    const plain = await bare.chat.completions.create({ ...chat, stream: true })
    const watched = await client.chat.completions.create({ ...chat, stream: true })
    expect(watched.constructor).toBe(plain.constructor)
    expect(await read(watched)).toEqual(await read(plain))
    await expect(read(watched)).rejects.toThrow('Cannot iterate over a consumed stream')
    provider.enqueue(recorded, recorded)
    const [left, right] = (await client.chat.completions.create({ ...chat, stream: true })).tee()
    expect(await read(left)).toEqual(await read(right))
    const lines = (await client.chat.completions.create({ ...chat, stream: true })).toReadableStream()
    expect(await new Response(lines as ReadableStream).text()).toContain('call_1')
  })

  test('a program that leaves a stream still aborts its request', async () => {
    const client = anthropic()
    watch(client)
    provider.enqueue({ events: Array(1_000).fill({ type: 'note' }), eventDelayMs: 20 })
    for await (const _event of await client.messages.create({ ...message, stream: true })) break
    await expect.poll(() => provider.requests[0]?.aborted).toBe(true)
  })

  test('errors of the provider come through', async () => {
    const client = openai()
    const handle = watch(client)
    provider.enqueue({ status: 400, error: { message: 'no such model' } })
    await expect(client.chat.completions.create(chat)).rejects.toThrow(OpenAI.BadRequestError)
    await handle.flush()
    expect(service.captures()).toHaveLength(0)
  })

  proves(['observe.asynchronous', 'observe.batched'], async () => {
    const client = openai()
    const handle = watch(client)
    const answer = service.answer
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    service.answer = () => held.then(answer)
    provider.enqueue(CALL, CALL, CALL)
    await client.chat.completions.create(chat)
    const flushed = handle.flush()
    await client.chat.completions.create(chat)
    await client.chat.completions.create(chat)
    void handle.flush()
    expect(service.requests).toHaveLength(1)
    letGo()
    await flushed
    await handle.flush()
    expect(service.requests.map(({ captures }) => captures.length)).toEqual([1, 2])
  })
})

describe('when it does nothing', () => {
  proves(['observe.no-key.warns-once', 'observe.no-key.no-op'], async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    forgetWarnings()
    const client = openai()
    const own = client.chat.completions.create
    const { apiKey: _none, ...options } = { apiKey: undefined, fetch: service.fetch }
    const idle = [observe(client, options), observe(openai(), options)]
    expect(warn).toHaveBeenCalledTimes(1)
    expect(client.chat.completions.create).toBe(own)
    expect(idle[0]?.getHealth()).toMatchObject({ status: 'inactive', protectionLevel: 'monitor' })
  })

  proves('observe.no-key.warns-once', 'a diagnostics callback gets the warning in place of the console', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    forgetWarnings()
    const events: unknown[] = []
    observe(openai(), { diagnostics: (event) => events.push(event) })
    const detail = 'observe does nothing without an API key: pass apiKey or set COUNTERSIGN_API_KEY'
    expect(events).toEqual([{ type: 'capture_error', detail }])
    expect(warn).not.toHaveBeenCalled()
  })

  proves('observe.api-key.environment', async () => {
    vi.stubEnv('COUNTERSIGN_API_KEY', `csk_${'e'.repeat(32)}`)
    const client = openai()
    const handle = observe(client, { fetch: service.fetch })
    handles.push(handle)
    provider.enqueue(CALL)
    await client.chat.completions.create(chat)
    await handle.flush()
    expect(service.requests[0]?.authorization).toBe(`Bearer csk_${'e'.repeat(32)}`)
  })

  proves(['observe.disabled', 'observe.disabled.default'], async () => {
    const client = openai()
    const own = client.chat.completions.create
    watch(client, { disabled: true })
    expect(client.chat.completions.create).toBe(own)
    watch(client)
    expect(client.chat.completions.create).not.toBe(own)
  })

  proves('environment.disable', () => {
    for (const value of ['true', '1', 'yes', 'on', 'TRUE', 'On']) {
      vi.stubEnv('COUNTERSIGN_DISABLE', value)
      const client = openai()
      const own = client.chat.completions.create
      watch(client)
      expect(client.chat.completions.create).toBe(own)
    }
    vi.stubEnv('COUNTERSIGN_DISABLE', 'off')
    const client = openai()
    const own = client.chat.completions.create
    watch(client)
    expect(client.chat.completions.create).not.toBe(own)
  })

  proves(['observe.no-op-on-unknown-client', 'event.unsupported-client'], async () => {
    const handle = watch({ generate: () => 'text' })
    expect(events).toEqual([{ type: 'unsupported_client', detail: expect.stringContaining('messages.create') }])
    await handle.flush()
    await handle.restore()
    expect(handle.getHealth().status).toBe('inactive')
  })

  proves(['event.double-wrap', 'observe.diagnostics', 'event.local-callback'], async () => {
    const client = openai()
    watch(client)
    const second = watch(client)
    expect(events).toMatchObject([{ type: 'double_wrap' }])
    await second.restore()
    provider.enqueue(CALL)
    await client.chat.completions.create(chat)
    await handles[0]?.flush()
    expect(service.captures()).toHaveLength(1)
  })

  test('a callback that throws is not felt', () => {
    const client = openai()
    watch(client)
    expect(() =>
      watch(client, {
        diagnostics: () => {
          throw new Error('from the callback')
        },
      }),
    ).not.toThrow()
  })
})
