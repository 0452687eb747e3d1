import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, describe, expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { plainHost, plainMcpServer } from '../../support/gateway/mcp-server.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways
const agent = await gateways.agentWith([
  { tool: 'look', side_effect: 'read' },
  { tool: 'shop__look', side_effect: 'read' },
])
const through = throughRuntime(runtime)
const shop = plainMcpServer(['look'])

/** Answers in place of the service; null while it runs. */
let instead: (() => Promise<Response>) | null = null
const gateway = await gateways.start(
  { mcp: `shop=${shop.url}` },
  {
    fetch: (input, init) => {
      if (String(input).startsWith(shop.url)) return shop.fetch(input, init)
      return instead !== null && String(input).includes('/api/v1/') ? instead() : through(input, init)
    },
  },
)
afterEach(() => {
  instead = null
  provider.requests.length = 0
})

const nobodyThere = (): Promise<Response> =>
  Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:4319') }))
const problem = (status: number, code: string, headers: Record<string, string> = {}) => {
  const type = 'application/problem+json'
  return (): Promise<Response> =>
    Promise.resolve(
      Response.json(
        { type: 'about:blank', title: code, status, code },
        { status, headers: { ...headers, 'content-type': type } },
      ),
    )
}

function awayFor(ms: number, answer: () => Promise<Response>): void {
  instead = answer
  setTimeout(() => {
    instead = null
  }, ms)
}

const go = { role: 'user' as const, content: 'go' }
const chat = { model: 'gpt-4o', messages: [go], tools: [{ type: 'function' as const, function: { name: 'look' } }] }
const messages = {
  model: 'claude',
  max_tokens: 10,
  messages: [go],
  tools: [{ name: 'look', input_schema: { type: 'object' as const } }],
}
/** With the retries that the clients make by default. */
const openai = (options = {}) => new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), ...options })
const anthropic = (options = {}) => new Anthropic({ apiKey: 'sk', baseURL: gateway.anthropic(agent), ...options })
const named = (id: string) => ({ headers: { 'x-countersign-session': id } })

const CLIENTS: Record<string, (sessionId: string) => Promise<string | undefined>> = {
  openai: async (id) => {
    const { choices } = await openai().chat.completions.create(chat, named(id))
    return choices[0]?.message.tool_calls?.[0]?.id
  },
  'openai, streamed': async (id) => {
    const { choices } = await openai().chat.completions.stream(chat, named(id)).finalChatCompletion()
    return choices[0]?.message.tool_calls?.[0]?.id
  },
  anthropic: async (id) => {
    const { content } = await anthropic().messages.create(messages, named(id))
    return content.flatMap((part) => (part.type === 'tool_use' ? part.id : []))[0]
  },
  'anthropic, streamed': async (id) => {
    const { content } = await anthropic().messages.stream(messages, named(id)).finalMessage()
    return content.flatMap((part) => (part.type === 'tool_use' ? part.id : []))[0]
  },
}
const AWAY: Record<string, () => Promise<Response>> = {
  'is not there': nobodyThere,
  'is restarted behind a proxy': () => Promise.resolve(new Response('<html>', { status: 502 })),
}

const CALL = { calls: [{ id: 'call_1', name: 'look', arguments: {} }] }

describe.each(Object.entries(AWAY))('a service that %s for two seconds', (how, answer) => {
  const asking = (when: string) => {
    const ids = Object.keys(CLIENTS).map((client) => `ses_${`${client}_${how}_${when}`.replaceAll(/\W+/g, '_')}`)
    const calls = Object.values(CLIENTS).map((ask, at) => ask(ids[at] ?? ''))
    return { ids, calls: Promise.all(calls) }
  }
  const ALL = Object.keys(CLIENTS).map(() => 'call_1')

  proves('gateway.outage-retried', 'before the models are asked: the calls go through', async () => {
    provider.answerWith(() => CALL)
    awayFor(2_000, answer)
    expect(await asking('before').calls).toEqual(ALL)
    expect(provider.requests).toHaveLength(ALL.length)
  })

  proves('gateway.outage-retried', 'while they answer: each is asked once, and its call decided once', async () => {
    let allAsked = (): void => {}
    const away = new Promise<void>((resolve) => {
      allAsked = resolve
    })
    provider.answerWith(async () => {
      if (provider.requests.length === ALL.length) {
        awayFor(2_000, answer)
        allAsked()
      }
      await away
      return CALL
    })
    const { ids, calls } = asking('after')
    expect(await calls).toEqual(ALL)
    expect(provider.requests).toHaveLength(ALL.length)
    for (const id of ids) {
      expect(ledgerLines((await exportOf(api, id)).events)).toEqual(['proposed call_1 look allow'])
    }
  })
})

proves(
  ['gateway.outage-retried', 'gateway.fails-closed'],
  'an outage is a 503 that says when to come back, and is told to the end',
  async () => {
    instead = nobodyThere
    const failed = await openai({ maxRetries: 0 })
      .chat.completions.create(chat)
      .catch((error) => error)
    expect(failed).toBeInstanceOf(OpenAI.InternalServerError)
    expect(failed.message).toMatch(/cannot be reached.*nothing was let through: try again in a few seconds/)
    const { status, type, headers } = failed
    expect([status, type, headers.get('x-should-retry'), headers.get('retry-after')]).toEqual([
      503,
      'api_error',
      'true',
      '2',
    ])
    instead = problem(503, 'UNAVAILABLE')
    expect(
      (
        await openai({ maxRetries: 0 })
          .chat.completions.create(chat)
          .catch((error) => error)
      ).status,
    ).toBe(503)
    instead = problem(429, 'RATE_LIMITED', { 'retry-after': '60' })
    const busy = await anthropic({ maxRetries: 0 })
      .messages.create(messages)
      .catch((error) => error)
    expect(busy).toBeInstanceOf(Anthropic.RateLimitError)
    expect(busy.headers.get('x-should-retry')).toBe('true')
    expect(provider.requests).toEqual([])
  },
)

proves('gateway.outage-retried', 'an answer of the service is final: a wrong key is not asked again', async () => {
  instead = problem(401, 'UNAUTHENTICATED')
  const refused = await openai()
    .chat.completions.create(chat)
    .catch((error) => error)
  expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([403, 'false'])
  expect(provider.requests).toEqual([])
})

proves('gateway.outage-retried', 'a model that calls a tool of MCP is told that it may call it again', async () => {
  const call = plainHost(gateway, { agent, key: runtime.key })
  expect(await call('look', {}, 'ses_told')).toBe('{"done":"look"}')
  instead = nobodyThere
  const told = await call('look', {}, 'ses_told')
  expect(told).toBe(
    'shop__look did not run: the call could not be judged; nothing was let through: try again in a few seconds',
  )
  instead = null
  expect(await call('look', {}, 'ses_told')).toBe('{"done":"look"}')
  expect(shop.ran).toHaveLength(2)
})
