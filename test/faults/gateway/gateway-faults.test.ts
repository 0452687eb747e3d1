import OpenAI from 'openai'
import { expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways
const agent = await gateways.agentWith([
  { tool: 'look', side_effect: 'read' },
  { tool: 'pay', side_effect: 'write', execution_constraints: { arguments: [{ path: '$.amount', lte: 10 }] } },
])
const gateway = await gateways.start()
/** Only for what hangs: a busy machine is slow, too. */
const impatient = await gateways.start({ 'upstream-seconds': '1' })
const chat = {
  model: 'm',
  messages: [{ role: 'user' as const, content: 'go' }],
  tools: ['look', 'pay'].map((name) => ({ type: 'function' as const, function: { name, parameters: {} } })),
}
const client = (at = gateway) => new OpenAI({ apiKey: 'sk', baseURL: at.openai(agent), maxRetries: 0 })
const linesOf = async (sessionId: string) => ledgerLines((await exportOf(api, sessionId)).events)
const named = (id: string) => ({ headers: { 'x-countersign-session': id } })

proves(
  'gateway.faults',
  'killed between decision and answer: the call is in doubt, and the next gateway goes on',
  async () => {
    let decided = (): void => {}
    const isDecided = new Promise<void>((resolve) => {
      decided = resolve
    })
    // The server has decided, and the gateway hears and says nothing any more.
    const dying = await gateways.start(
      {},
      {
        fetch: async (input, init) => {
          if (!String(input).includes('/api/v1/')) return fetch(input, init)
          const reply = await runtime.fetch(input, init)
          if (!String(input).endsWith('/proposals')) return reply
          decided()
          return new Promise(() => {})
        },
      },
    )
    const leaving = new AbortController()
    provider.enqueue({ calls: [{ id: 'call_1', name: 'look', arguments: {} }] })
    const lost = client(dying)
      .chat.completions.create(chat, { ...named('ses_killed'), signal: leaving.signal })
      .catch((error) => error)
    await isDecided
    leaving.abort()
    expect(await lost).toBeInstanceOf(OpenAI.APIUserAbortError)
    provider.enqueue({ calls: [{ id: 'call_2', name: 'look', arguments: {} }] })
    const { choices } = await client().chat.completions.create(chat, named('ses_killed'))
    expect(choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(['call_2'])
    expect(await linesOf('ses_killed')).toEqual([
      'proposed call_1 look allow',
      'receipt call_1 unknown reported',
      'proposed call_2 look allow',
    ])
  },
)

proves('gateway.faults', 'an upstream that hangs, before its answer or in its middle, is given up', async () => {
  provider.enqueue({ text: 'late', after: new Promise(() => {}) })
  const hung = await client(impatient)
    .chat.completions.create(chat)
    .catch((error) => error)
  expect([hung.status, hung.message]).toEqual([502, expect.stringContaining('sent nothing for 1 s')])
  const chunk = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'look' } }] } }] }
  provider.enqueue({ events: [chunk, chunk], eventDelayMs: 60_000 })
  const seen: unknown[] = []
  const failed = await (async () => {
    const stream = await client(impatient).chat.completions.create({ ...chat, stream: true }, named('ses_hung'))
    for await (const event of stream) seen.push(event)
  })().catch((error) => error)
  expect([seen, failed]).toEqual([[], expect.any(Error)])
  expect(await linesOf('ses_hung')).toEqual([])
})

proves(
  'gateway.faults',
  'a stream that is one line without an end is given up before it fills the memory',
  async () => {
    let sent = 0
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (++sent > 256) controller.close()
          else controller.enqueue(new TextEncoder().encode('data: '.padEnd(64 * 1024, 'x')))
        },
      })
    const small = await gateways.start(
      { 'max-body-mb': '1' },
      {
        fetch: async (input, init) =>
          String(input).includes('/api/v1/')
            ? runtime.fetch(input, init)
            : new Response(endless(), { headers: { 'content-type': 'text/event-stream' } }),
      },
    )
    const reply = await fetch(`${small.openai(agent)}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, stream: true }),
    })
    expect(await reply.text().catch(() => 'broken off')).not.toContain('xxx')
    expect(sent).toBeLessThan(32)
  },
)

proves('gateway.faults', 'a stream that breaks off in a call releases nothing of it', async () => {
  const chunk = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'look' } }] } }] }
  provider.enqueue({ events: [chunk, chunk, chunk], hangUpAfter: 2 })
  const reply = await fetch(`${gateway.openai(agent)}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...named('ses_broken').headers },
    body: JSON.stringify({ ...chat, stream: true }),
  })
  const text = await reply.text().catch(() => 'broken off')
  expect(text).not.toContain('look')
  expect((await linesOf('ses_broken')).filter((line) => line.includes('allow'))).toEqual([])
})

proves('gateway.byte-equal', 'what an upstream writes in a way of its own comes as it was written', async () => {
  const answer = String.raw`{ "id": "r",  "choices": [ { "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "\u00e9t\u00e9" } } ] }`
  const stream = String.raw`data: { "id": "r", "choices": [ { "index": 0, "delta": { "content": "\u00e9t\u00e9" } } ] }

data: { "id": "r", "choices": [ { "index": 0, "delta": {}, "finish_reason": "stop" } ] }

data: [DONE]

`
  let next = answer
  const relaying = await gateways.start(
    {},
    {
      fetch: async (input, init) => {
        if (String(input).includes('/api/v1/')) return runtime.fetch(input, init)
        const type = next === stream ? 'text/event-stream' : 'application/json'
        return new Response(next, { headers: { 'content-type': type } })
      },
    },
  )
  for (const text of [answer, stream]) {
    next = text
    const reply = await fetch(`${relaying.openai(agent)}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, stream: text === stream }),
    })
    expect(await reply.text()).toBe(text)
  }
})

proves(
  ['gateway.faults', 'gateway.byte-equal'],
  'a large answer passes as it came; one of 10 MB, a broken and a moved one are refused by name',
  async () => {
    const large = (megabytes: number) => {
      const content = 'x'.repeat(megabytes * 1_048_576)
      return { id: 'r', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] }
    }
    provider.enqueue({ response: large(0.5) }, { response: large(10) })
    expect(await client().chat.completions.create(chat)).toEqual(large(0.5))
    const tooLarge = await client()
      .chat.completions.create(chat)
      .catch((error) => error)
    expect([tooLarge.status, tooLarge.message]).toEqual([403, expect.stringContaining('BODY_TOO_LARGE')])
    const moved = await gateways.start(
      {},
      {
        fetch: async (input, init) =>
          String(input).includes('/api/v1/')
            ? runtime.fetch(input, init)
            : new Response('{"choices": [', { headers: { 'content-type': 'application/json' } }),
      },
    )
    const broken = await client(moved)
      .chat.completions.create(chat)
      .catch((error) => error)
    expect([broken.status, broken.message]).toEqual([502, expect.stringContaining('not JSON')])
    provider.enqueue({ status: 307, error: {}, headers: { location: 'http://127.0.0.1:9/' } })
    const redirected = await client()
      .chat.completions.create(chat)
      .catch((error) => error)
    expect([redirected.status, redirected.message]).toEqual([502, expect.stringContaining('redirect')])
  },
)

proves('gateway.faults', 'a call in an error, and a session that the upstream names, reach no client', async () => {
  const calls = [{ id: 'c', type: 'function', function: { name: 'pay', arguments: '{"amount":500}' } }]
  const answer = {
    choices: [{ index: 0, message: { role: 'assistant', tool_calls: calls }, finish_reason: 'tool_calls' }],
  }
  const hostile: Record<string, () => Response> = {
    'a plain error': () => Response.json(answer, { status: 429, headers: { 'retry-after': '7' } }),
    'a streamed error': () =>
      new Response(`data: ${JSON.stringify(answer)}\n\n`, {
        status: 429,
        headers: { 'content-type': 'text/event-stream' },
      }),
    'an error of another wire': () =>
      Response.json({ content: [{ type: 'tool_use', id: 'c', name: 'pay', input: { amount: 500 } }] }, { status: 429 }),
  }
  let current = hostile['a plain error']
  const upstream: typeof fetch = async (input, init) =>
    String(input).includes('/api/v1/') ? runtime.fetch(input, init) : (current?.() ?? Response.error())
  const at = await gateways.start({}, { fetch: upstream })
  const body = JSON.stringify(chat)
  const post = (headers = {}) =>
    fetch(`${at.openai(agent)}/chat/completions`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
  for (const [what, respond] of Object.entries(hostile)) {
    current = respond
    const reply = await post()
    const text = await reply.text()
    expect([what, reply.status, text]).toEqual([what, 429, expect.stringContaining('countersign_upstream_invalid')])
    expect(text).not.toContain('amount')
  }
  const forging = { headers: { 'x-countersign-session': 'ses_forged' } }
  current = () => Response.json({ object: 'list', data: [] }, forging)
  const models = await fetch(`${at.openai(agent)}/models`)
  expect([models.status, models.headers.get('x-countersign-session')]).toEqual([200, null])
  current = () => Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] }, forging)
  expect((await post(named('ses_own').headers)).headers.get('x-countersign-session')).toBe('ses_own')
})

proves('gateway.faults', 'the upstream is told nothing that could stand for another path or method', async () => {
  provider.requests.length = 0
  provider.enqueue({ response: { data: [] } })
  const claims = ['x-http-method-override', 'x-http-method', 'x-method-override', 'x-original-url', 'x-rewrite-url']
  const headers = Object.fromEntries([...claims, 'x-kept'].map((name) => [name, '/v1/chat/completions']))
  expect((await fetch(`${gateway.openai(agent)}/models`, { headers })).status).toBe(200)
  const [seen] = provider.requests
  expect(Object.keys(seen?.headers ?? {}).filter((name) => [...claims, 'x-kept'].includes(name))).toEqual(['x-kept'])
})

proves('gateway.wires', 'execution constraints are checked before the client gets the call', async () => {
  provider.enqueue({ calls: [{ id: 'call_c', name: 'pay', arguments: { amount: 11 } }] })
  const { choices } = await client().chat.completions.create(chat, named('ses_constraint'))
  expect(choices[0]?.message.tool_calls ?? []).toEqual([])
  expect(choices[0]?.message.content).toContain('execution_constraint_violated')
  expect(await linesOf('ses_constraint')).toEqual(['proposed call_c pay allow', 'receipt call_c not_executed reported'])
})
