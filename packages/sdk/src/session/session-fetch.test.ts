import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { type LoopbackProvider, type Reply, startProvider } from '../../../../test/support/provider/provider.js'
import type { ReplayOptions } from '../options/replay-options.js'
import { openSession } from './open-session.js'
import type { Session } from './session.js'

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())
const open: Session[] = []
afterEach(async () => {
  provider.requests.length = 0
  await Promise.all(open.splice(0).map((session) => session.close()))
})

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  {
    tool: 'pay',
    side_effect: 'write' as const,
    argument_value_invariants: [{ path: '$.amount', lte: 500 }],
  },
  { tool: 'wipe', side_effect: 'destructive' as const, preconditions: [{ requires_prior_tool: 'look' }] },
]

function start(options: Omit<ReplayOptions, 'tools'> = {}) {
  const ran: string[] = []
  const run = (name: string) => () => ran.push(name)
  const tools = { look: run('look'), pay: run('pay'), wipe: run('wipe') }
  const session: Session = openSession({ contracts, tools, diagnostics: () => {}, ...options })
  open.push(session)
  return { session, ran, ...clientsOf(session) }
}

const clientsOf = ({ fetch }: Pick<Session, 'fetch'>, maxRetries = 0) => ({
  openai: new OpenAI({ apiKey: 'sk-test', baseURL: `${provider.url}/v1`, maxRetries, fetch }),
  anthropic: new Anthropic({ apiKey: 'sk-test', baseURL: provider.url, maxRetries, fetch }),
})

const names = ['look', 'pay', 'wipe']
const chat = {
  model: 'gpt-4o',
  messages: [{ role: 'user' as const, content: 'go' }],
  tools: names.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } })),
}
const responses = {
  model: 'gpt-4o',
  input: 'go',
  tools: names.map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false })),
}
const messages = {
  model: 'claude',
  max_tokens: 10,
  messages: [{ role: 'user' as const, content: 'go' }],
  tools: names.map((name) => ({ name, input_schema: { type: 'object' as const } })),
}

interface Clients {
  readonly openai: OpenAI
  readonly anthropic: Anthropic
}
type Seen = { calls: string[]; text: string }

const WIRES: Record<string, (clients: Clients, stream: boolean) => Promise<Seen>> = {
  'chat completions': async ({ openai }, stream) => {
    const { choices } = stream
      ? await openai.chat.completions.stream(chat).finalChatCompletion()
      : await openai.chat.completions.create(chat)
    const { tool_calls = [], content } = choices[0]!.message
    return { calls: tool_calls.map((call) => ('function' in call ? call.function.name : '')), text: content ?? '' }
  },
  responses: async ({ openai }, stream) => {
    const { output, output_text } = stream
      ? await openai.responses.stream(responses).finalResponse()
      : await openai.responses.create(responses)
    return { calls: output.flatMap((item) => (item.type === 'function_call' ? [item.name] : [])), text: output_text }
  },
  messages: async ({ anthropic }, stream) => {
    const { content } = stream
      ? await anthropic.messages.stream(messages).finalMessage()
      : await anthropic.messages.create(messages)
    return {
      calls: content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    }
  },
}

const calling = (...made: [name: string, args: object, id: string][]): Reply => ({
  calls: made.map(([name, args, id]) => ({ id, name, arguments: args })),
})

const askedBy = (session: Session) =>
  session.fetch(`${provider.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(chat) })

proves('fetch.blocked-header', 'programs read from a header which calls were blocked, and why', async () => {
  const { session } = start()
  provider.enqueue(calling(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1'], ['sü do,', {}, 's1']))
  const mixed = await askedBy(session)
  expect(mixed.headers.get('x-countersign-blocked')).toBe(
    'pay;argument_value_mismatch, s%C3%BC%20do%2C;unmatched_tool_blocked',
  )
  await session.run('l1')
  provider.enqueue(calling(['look', {}, 'l2']))
  expect((await askedBy(session)).headers.get('x-countersign-blocked')).toBeNull()
  const strict = start({ gate: 'reject_all' })
  provider.enqueue(calling(['pay', { amount: 501 }, 'p2']))
  const refused = await askedBy(strict.session)
  expect([refused.status, refused.headers.get('x-countersign-blocked')]).toEqual([403, 'pay;argument_value_mismatch'])
})

describe.each(Object.entries(WIRES))('%s through session.fetch', (_, ask) => {
  for (const stream of [false, true]) {
    const way = stream ? 'streamed' : 'whole'

    proves(['fetch.narrows', 'fetch.judges'], `narrows, judges and answers blocked calls (${way})`, async () => {
      const { session, ran, ...clients } = start()
      provider.enqueue({
        text: 'Well.',
        ...calling(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1'], ['wipe', {}, 'w1'], ['sudo', {}, 's1']),
      })
      expect(await ask(clients, stream)).toMatchObject({
        calls: ['look', 'pay', 'wipe'],
        text: expect.stringMatching(/^Well\.\s*"sudo" was blocked \(unmatched_tool_blocked\)/),
      })
      expect(JSON.stringify(provider.requests[0]?.body?.tools)).not.toContain('wipe')
      expect(await session.run('p1')).toContain('argument_value_mismatch')
      expect(await session.run('w1')).toContain('was blocked')
      expect(await session.run('s1')).toContain('was blocked')
      await session.run('l1')
      expect(ran).toEqual(['look'])
    })

    proves('fetch.refusal-is-an-answer', `a refusal is no error of the network (${way})`, async () => {
      const { session, ran, ...strict } = start({ gate: 'reject_all' })
      provider.enqueue(calling(['pay', { amount: 501 }, 'p1']))
      const clients = clientsOf(session, 2)
      const error = await ask({ ...strict, ...clients }, stream).catch((thrown: unknown) => thrown)
      expect(String(error)).toContain('argument_value_mismatch')
      expect(String(error)).not.toContain('Connection error')
      expect(provider.requests).toHaveLength(1)
      session.kill()
      await expect(ask(clients, stream)).rejects.toMatchObject({ status: 403 })
      expect(provider.requests).toHaveLength(1)
      expect(ran).toEqual([])
    })

    test(`an error of the provider comes as it is (${way})`, async () => {
      const clients = start()
      provider.enqueue({ status: 418, error: { message: 'a teapot', type: 'odd' } })
      await expect(ask(clients, stream)).rejects.toMatchObject({ status: 418 })
      provider.enqueue({ text: 'Hello' })
      expect(await ask(clients, stream)).toEqual({ calls: [], text: 'Hello' })
    })

    proves('fetch.retry-is-one-turn', `a retry of the client is the same turn (${way})`, async () => {
      const { session } = start()
      provider.enqueue({ status: 503, error: { message: 'busy' } }, calling(['pay', { amount: 5 }, 'p1']))
      expect(await ask(clientsOf(session, 1), stream)).toMatchObject({ calls: ['pay'] })
      expect(provider.requests).toHaveLength(2)
      await session.run('p1')
      expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { pay: 1 } })
    })
  }
})

proves('fetch.retry-is-one-turn', 'a client that gave up waiting gets the answer that was judged', async () => {
  const { session } = start()
  const send = async (count: string, content: string) => {
    const response = await session.fetch(`${provider.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-stainless-retry-count': count },
      body: JSON.stringify({ ...chat, messages: [{ role: 'user', content }] }),
    })
    return ((await response.json()) as OpenAI.ChatCompletion).choices[0]?.message.content
  }
  let asked = 0
  provider.answerWith(() => ({ text: `answer ${++asked}` }))
  const long = 'go '.repeat(5_000)
  for (const [short, other] of [
    ['go', 'stay'],
    [long, `${long}.`],
  ] as const) {
    asked = 0
    expect(await send('0', short)).toBe('answer 1')
    expect(await send('1', short)).toBe('answer 1')
    // Neither another request nor the same one asked anew is a retry.
    expect(await send('1', other)).toBe('answer 2')
    expect(await send('0', short)).toBe('answer 3')
    expect(await send('1', short)).toBe('answer 3')
  }
})

proves(
  'fetch.ungovernable-refused',
  'what cannot be governed is refused by name; what calls no model passes',
  async () => {
    const { session } = start()
    const status = async (method: string, path: string, body?: unknown) => {
      const response = await session.fetch(`${provider.url}${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      return [response.status, response.headers.get('x-should-retry'), await response.text()]
    }
    for (const [method, path] of [
      ['POST', '/v1/completions'],
      ['POST', '/v1/batches'],
      ['POST', '/v1/messages/batches'],
      ['POST', '/v1/realtime/sessions'],
      ['POST', '/v1/threads/t/runs'],
      ['POST', '/v1/responses/compact'],
      ['GET', '/v1/responses/r1'],
      ['GET', '/v1/responses'],
      ['POST', '/v9/whatever'],
    ] as const) {
      expect(await status(method, path, method === 'POST' ? {} : undefined)).toEqual([
        400,
        'false',
        expect.stringContaining(`${method} ${path} is not governed`),
      ])
    }
    expect(await status('POST', '/v1/chat/completions', 'no object')).toEqual([
      400,
      'false',
      expect.stringContaining('JSON object'),
    ])
    expect(provider.requests).toEqual([])
    provider.answerWith(() => ({ response: { ok: true } }))
    for (const [method, path] of [
      ['GET', '/v1/models'],
      ['POST', '/v1/messages/count_tokens'],
      ['POST', '/v1/embeddings'],
      ['DELETE', '/v1/responses/r1'],
    ] as const) {
      expect(await status(method, path, method === 'POST' ? {} : undefined)).toEqual([200, null, '{"ok":true}'])
    }
    const watching = openSession({ contracts, mode: 'shadow', diagnostics: () => {} })
    open.push(watching)
    expect((await watching.fetch(`${provider.url}/v1/completions`, { method: 'POST', body: '{}' })).status).toBe(200)
  },
)

proves(
  'guarantee.one-reading',
  'an answer with a duplicate member is refused for good, and only where verdicts bind',
  async () => {
    const twin =
      '{"id":"r","choices":[],"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    const ask = async (options: Omit<ReplayOptions, 'tools'>) => {
      provider.enqueue({ response: twin })
      return start(options).session.fetch(`${provider.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(chat),
      })
    }
    const refused = await ask({})
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([403, 'false'])
    expect(await refused.text()).toContain('the duplicate member')
    for (const mode of ['shadow', 'log-only'] as const) {
      const answer = await ask({ mode })
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hi')])
    }
  },
)

test('a socket is no way past it', async () => {
  const { session } = start()
  const response = await session.fetch('wss://127.0.0.1:9/v1/responses')
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('is not governed')])
})

test('headers, ids and the bytes of other answers pass, and the provider hears that a program left', async () => {
  const { openai, session } = start()
  provider.enqueue({ text: 'Hello' })
  const { request_id } = await openai.chat.completions.create(chat).withResponse()
  expect(request_id).toBe('req_loopback')
  expect(provider.requests[0]?.headers.authorization).toBe('Bearer sk-test')
  provider.enqueue({
    eventDelayMs: 20,
    events: Array.from({ length: 200 }, () => ({
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }],
    })),
  })
  for await (const _ of await openai.chat.completions.create({ ...chat, stream: true })) break
  await expect.poll(() => provider.requests.at(-1)?.aborted).toBe(true)
  expect(session.getHealth().totalErrors).toBe(0)
})

test('a Request is read like an address with its options', async () => {
  const { session } = start()
  provider.enqueue({ text: 'Hello' })
  const body = JSON.stringify({ ...chat, tools: chat.tools.slice(2) })
  const headers = { 'content-type': 'application/json' }
  const request = new Request(`${provider.url}/v1/chat/completions`, { method: 'POST', headers, body })
  expect(await (await session.fetch(request)).text()).toContain('Hello')
  expect(provider.requests[0]?.body).not.toHaveProperty('tools')
})
