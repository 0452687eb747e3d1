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
const gateway = await gateways.start({ 'upstream-seconds': '1' })
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
  const hung = await client()
    .chat.completions.create(chat)
    .catch((error) => error)
  expect([hung.status, hung.message]).toEqual([502, expect.stringContaining('sent nothing for 1 s')])
  const chunk = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'look' } }] } }] }
  provider.enqueue({ events: [chunk, chunk], eventDelayMs: 60_000 })
  const seen: unknown[] = []
  const failed = await (async () => {
    const stream = await client().chat.completions.create({ ...chat, stream: true }, named('ses_hung'))
    for await (const event of stream) seen.push(event)
  })().catch((error) => error)
  expect([seen, failed]).toEqual([[], expect.any(Error)])
  expect(await linesOf('ses_hung')).toEqual([])
})

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

proves(
  ['gateway.faults', 'gateway.byte-equal'],
  'a large answer passes as it came; one of 10 MB, a broken and a moved one are refused by name',
  async () => {
    const large = (megabytes: number) => {
      const content = 'x'.repeat(megabytes * 1024 * 1024)
      return { id: 'r', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] }
    }
    provider.enqueue({ response: large(3) }, { response: large(10) })
    expect(await client().chat.completions.create(chat)).toEqual(large(3))
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

proves('gateway.wires', 'execution constraints are checked before the client gets the call', async () => {
  provider.enqueue({ calls: [{ id: 'call_c', name: 'pay', arguments: { amount: 11 } }] })
  const { choices } = await client().chat.completions.create(chat, named('ses_constraint'))
  expect(choices[0]?.message.tool_calls ?? []).toEqual([])
  expect(choices[0]?.message.content).toContain('execution_constraint_violated')
  expect(await linesOf('ses_constraint')).toEqual(['proposed call_c pay allow', 'receipt call_c not_executed reported'])
})
