import Anthropic from '@anthropic-ai/sdk'
import type { Contract } from '@countersign/protocol'
import OpenAI from 'openai'
import { afterEach, describe, expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { tablesWith } from '../../support/runtime/tables-with.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways
const gateway = await gateways.start()
afterEach(() => {
  provider.requests.length = 0
})

const contracts: readonly Contract[] = [
  { tool: 'look', side_effect: 'read' },
  { tool: 'pay', side_effect: 'write', argument_value_invariants: [{ path: '$.amount', lte: 100 }] },
  { tool: 'wipe', side_effect: 'destructive', gate: 'allow', preconditions: [{ requires_prior_tool: 'look' }] },
]
const agent = await gateways.agentWith(contracts)

const NAMES = ['look', 'pay', 'wipe']
const go = { role: 'user' as const, content: 'go' }
const chat = {
  model: 'gpt-4o',
  messages: [go] as OpenAI.ChatCompletionMessageParam[],
  tools: NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } })),
}
const responses = {
  model: 'gpt-4o',
  input: 'go',
  tools: NAMES.map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false })),
}
const messages = {
  model: 'claude',
  max_tokens: 10,
  messages: [go] as Anthropic.MessageParam[],
  tools: NAMES.map((name) => ({ name, input_schema: { type: 'object' as const } })),
}

const clients = (url = gateway, maxRetries = 0) => ({
  openai: new OpenAI({ apiKey: 'sk-s3cret', baseURL: url.openai(agent), maxRetries }),
  anthropic: new Anthropic({ apiKey: 'sk-s3cret', baseURL: url.anthropic(agent), maxRetries }),
})
type Clients = ReturnType<typeof clients>
interface Seen {
  readonly calls: string[]
  readonly text: string
}

/** Every wire, plain and streamed, by its official client with only the base URL changed. */
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
    return { calls: output.flatMap((item) => (item.type === 'function_call' ? item.name : [])), text: output_text }
  },
  messages: async ({ anthropic }, stream) => {
    const { content } = stream
      ? await anthropic.messages.stream(messages).finalMessage()
      : await anthropic.messages.create(messages)
    return {
      calls: content.flatMap((part) => (part.type === 'tool_use' ? part.name : [])),
      text: content.flatMap((part) => (part.type === 'text' ? part.text : [])).join(''),
    }
  },
  'beta messages': async ({ anthropic }, stream) => {
    const { content } = stream
      ? await anthropic.beta.messages.stream(messages).finalMessage()
      : await anthropic.beta.messages.create(messages)
    return {
      calls: content.flatMap((part) => (part.type === 'tool_use' ? part.name : [])),
      text: content.flatMap((part) => (part.type === 'text' ? part.text : [])).join(''),
    }
  },
}

describe.each(Object.entries(WIRES))('%s', (_name, ask) => {
  describe.each([false, true])('stream: %s', (stream) => {
    proves(
      ['gateway.wires', 'gateway.told', 'gateway.keys-stay'],
      'an allowed call passes, a blocked one is taken out, and the answer says why, beside the calls that stay',
      async () => {
        provider.enqueue({ calls: [{ id: 'c1', name: 'pay', arguments: { amount: 5 } }] })
        expect(await ask(clients(), stream)).toEqual({ calls: ['pay'], text: '' })
        provider.enqueue({ calls: [{ id: 'c2', name: 'pay', arguments: { amount: 500 } }] })
        const blocked = await ask(clients(), stream)
        expect(blocked.calls).toEqual([])
        expect(blocked.text).toContain('"pay" was blocked (argument_value_mismatch)')
        provider.enqueue({
          calls: [
            { id: 'c3', name: 'wipe', arguments: {} },
            { id: 'c4', name: 'look', arguments: {} },
          ],
        })
        const kept = await ask(clients(), stream)
        expect(kept.calls).toEqual(['look'])
        expect(kept.text).toMatch(/^"wipe" was blocked \(precondition_not_met\)/)
        expect(provider.requests.map(({ headers }) => headers.authorization ?? headers['x-api-key'])).toEqual(
          Array(3).fill(expect.stringContaining('sk-s3cret')),
        )
      },
    )
  })
})

proves(
  'checkpoint.words',
  'through the gateway a call that needs a person has not been approved, and nobody refused it',
  async () => {
    const asking = await gateways.agentWith([
      { tool: 'pay', side_effect: 'financial', checkpoint: { reason: 'every payment' } },
    ])
    const own = await gateways.start()
    provider.enqueue({ calls: [{ id: 'p1', name: 'pay', arguments: { amount: 5 } }] })
    const client = new OpenAI({ apiKey: 'sk-s3cret', baseURL: own.openai(asking), maxRetries: 0 })
    const { choices } = await client.chat.completions.create(chat)
    expect(choices[0]?.message.tool_calls).toBeUndefined()
    expect(choices[0]?.message.content).toBe(
      '"pay" was blocked (checkpoint_denied). This call of "pay" needs the approval of a person, and is not approved ' +
        'yet. Do not repeat it; say that a person has to approve it.',
    )
    const detail = 'a call of pay needs the approval of a person, and there is no way to ask one: it was denied'
    expect(own.log.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        diagnostic: expect.objectContaining({ type: 'checkpoint_not_asked', tool_name: 'pay', detail }),
      }),
    )
    expect(own.log.join()).not.toContain('onCheckpoint')
  },
)

proves(
  ['gateway.session.found', 'gateway.reported'],
  'a conversation is one session, and its results are receipts',
  async () => {
    const { openai } = clients()
    provider.enqueue({ calls: [{ id: 'call_a', name: 'look', arguments: {} }] }, { text: 'done' })
    const first = await openai.chat.completions.create(chat).withResponse()
    const sessionId = first.response.headers.get('x-countersign-session') ?? ''
    expect(sessionId).toMatch(/^ses_/)
    const next = [
      ...chat.messages,
      first.data.choices[0]!.message,
      { role: 'tool' as const, tool_call_id: 'call_a', content: '{"found":1}' },
    ]
    const second = await openai.chat.completions.create({ ...chat, messages: next }).withResponse()
    expect(second.response.headers.get('x-countersign-session')).toBe(sessionId)
    provider.enqueue({ text: 'hi' })
    const headers = { 'x-countersign-session': `${sessionId}.named` }
    expect(sessionOf(await openai.chat.completions.create(chat, { headers }).withResponse())).toBe(`${sessionId}.named`)
    expect(ledgerLines((await exportOf(api, sessionId)).events)).toEqual([
      'proposed call_a look allow',
      'receipt call_a succeeded reported',
    ])
    expect((await api.loadSession({ params: { session_id: sessionId } })).body.session.agent).toBe(agent)
  },
)

const toolMessage = (id: string, content: string) => ({ role: 'tool' as const, tool_call_id: id, content })
const sessionOf = ({ response }: { response: Response }) => response.headers.get('x-countersign-session') ?? ''
const linesOf = async (sessionId: string) => ledgerLines((await exportOf(api, sessionId)).events)

proves(
  ['gateway.session.shared', 'gateway.session.found'],
  'the same conversation through two gateways in turn is one session, and each goes on from the other',
  async () => {
    const other = await gateways.start()
    const through = [clients().openai, clients(other).openai]
    const history = [...chat.messages]
    const sessions = new Set<string>()
    for (let turn = 0; turn < 5; turn++) {
      const id = `call_shared_${turn}`
      provider.enqueue({ calls: [{ id, name: 'look', arguments: { turn } }] })
      const answer = await through[turn % 2]!.chat.completions.create({ ...chat, messages: history }).withResponse()
      sessions.add(sessionOf(answer))
      history.push(answer.data.choices[0]!.message, toolMessage(id, '{}'))
    }
    expect(sessions.size).toBe(1)
    const [sessionId = ''] = sessions
    expect(await linesOf(sessionId)).toEqual(
      [0, 1, 2, 3]
        .flatMap((turn) => [
          `proposed call_shared_${turn} look allow`,
          `receipt call_shared_${turn} succeeded reported`,
        ])
        .concat('proposed call_shared_4 look allow'),
    )
    const { body } = await api.loadSession({ params: { session_id: sessionId } })
    expect(body.session).toMatchObject({ fence: 1, status: 'ACTIVE' })
  },
)

proves('gateway.session.shared', 'two gateways at once cannot together pass a limit', async () => {
  const limited = await gateways.agentWith([
    { tool: 'pay', side_effect: 'write', aggregates: [{ name: 'paid', path: '$.amount', function: 'sum', lte: 5 }] },
  ])
  const both = [gateway, await gateways.start()]
  const ask = (at: number) =>
    new OpenAI({ apiKey: 'sk', baseURL: both[at]!.openai(limited), maxRetries: 0 }).chat.completions
      .create(chat, {
        headers: { 'x-countersign-session': `ses_limit_${limited}` },
      })
      .then(
        ({ choices }) => choices[0]!.message.tool_calls?.length ?? 0,
        (error) => String(error.code ?? error),
      )
  provider.answerWith(() => ({ calls: [{ id: `call_${Math.random()}`, name: 'pay', arguments: { amount: 5 } }] }))
  const released = await Promise.all([0, 1, 0, 1, 0, 1].map(ask))
  expect(released.filter((count) => count === 1)).toHaveLength(1)
  const allowed = (await linesOf(`ses_limit_${limited}`)).filter(
    (line) => line.startsWith('proposed') && line.includes(' allow'),
  )
  expect(allowed).toHaveLength(1)
})

proves(
  'gateway.reported',
  'a result opens what contracts read of it, a failed one does not, and an id used again is told apart',
  async () => {
    const ordering = await gateways.agentWith([
      { tool: 'find', side_effect: 'read', binds: [{ name: 'iban', from: 'output', path: '$.iban' }] },
      { tool: 'send', side_effect: 'write', refs: [{ ref: 'iban', path: '$.iban' }] },
    ])
    const tools = ['find', 'send'].map((name) => ({ name, input_schema: { type: 'object' as const } }))
    const ask = async (history: Anthropic.MessageParam[], at = gateway) =>
      new Anthropic({ apiKey: 'sk', baseURL: at.anthropic(ordering), maxRetries: 0 }).messages
        .create({ ...messages, tools, messages: history })
        .withResponse()
    const history: Anthropic.MessageParam[] = [go]
    const take = async (call: { id: string; name: string; arguments: object }, at = gateway) => {
      provider.enqueue({ calls: [call] })
      const answer = await ask(history, at)
      history.push({ role: 'assistant', content: answer.data.content })
      return answer
    }
    const result = (tool_use_id: string, content: string, is_error = false) =>
      history.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id, content, is_error }] })
    const sessionId = sessionOf(await take({ id: 'toolu_1', name: 'find', arguments: { order: 1 } }))
    result('toolu_1', 'broken', true)
    await take({ id: 'toolu_1', name: 'find', arguments: { order: 2 } })
    result('toolu_1', '{"iban":"DE1"}')
    // Another process reads the same from the conversation.
    const other = await gateways.start()
    const sent = await take({ id: 'toolu_2', name: 'send', arguments: { iban: 'DE1' } }, other)
    expect(sent.data.content.map(({ type }) => type)).toEqual(['tool_use'])
    expect(await linesOf(sessionId)).toEqual([
      'proposed toolu_1 find allow',
      'receipt toolu_1 failed reported',
      'proposed toolu_1 find allow',
      'receipt toolu_1 succeeded reported',
      'proposed toolu_2 send allow',
    ])
  },
)

proves(
  'gateway.session.apart',
  'a session of another agent, tenant or environment is neither found nor entered',
  async () => {
    provider.enqueue({ calls: [{ id: 'call_apart', name: 'look', arguments: {} }] })
    const first = await clients().openai.chat.completions.create(chat).withResponse()
    const sessionId = sessionOf(first)
    const next = {
      ...chat,
      messages: [...chat.messages, first.data.choices[0]!.message, toolMessage('call_apart', '{}')],
    }
    const other = await gateways.agentWith(contracts)
    const asOther = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(other), maxRetries: 0 })
    provider.enqueue({ text: 'a new one' })
    expect(sessionOf(await asOther.chat.completions.create(next).withResponse())).not.toBe(sessionId)
    const forged = await asOther.chat.completions
      .create(next, { headers: { 'x-countersign-session': sessionId } })
      .catch((error) => error)
    expect([forged.status, forged.message]).toEqual([403, expect.stringContaining('another agent')])
    const staging = await gateways.start({ environment: 'staging' })
    provider.enqueue({ text: 'a new one' })
    const staged = new OpenAI({ apiKey: 'sk', baseURL: staging.openai(agent), maxRetries: 0 })
    expect(sessionOf(await staged.chat.completions.create(next).withResponse())).not.toBe(sessionId)
    // A tenant may use any id: it is its own session, and says nothing of the other's.
    const tenant = await runtime.createTenant()
    const { body } = await runtime.api(tenant.key).findSession({
      body: { agent, environment: 'production', ids: ['call_apart'] },
    })
    expect(body).toEqual({ session_id: null })
    expect((await api.findSession({ body: { agent, environment: 'production', ids: ['call_apart'] } })).body).toEqual({
      session_id: sessionId,
    })
  },
)

proves('gateway.retry', 'a retry of the client is the same turn of the same session', async () => {
  const { openai } = clients(gateway, 2)
  provider.enqueue(
    { status: 503, error: { message: 'overloaded' }, headers: { 'retry-after-ms': '1' } },
    { calls: [{ id: 'call_retry', name: 'look', arguments: {} }] },
  )
  const answer = await openai.chat.completions.create(chat).withResponse()
  expect(await linesOf(sessionOf(answer))).toEqual(['proposed call_retry look allow'])
  expect(provider.requests.map(({ headers }) => headers['x-stainless-retry-count'])).toEqual(['0', '1'])
  // The answer was lost on its way: the same is given again, and the model is not asked.
  const again = await fetch(`${gateway.openai(agent)}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-stainless-retry-count': '1', authorization: 'Bearer sk' },
    body: JSON.stringify(chat),
  })
  expect((await again.json()).choices[0].message.tool_calls[0].id).toBe('call_retry')
  expect(provider.requests).toHaveLength(2)
})

proves('gateway.passes', 'models, token counts, request ids and typed errors pass', async () => {
  const { openai, anthropic } = clients()
  provider.enqueue({ response: { object: 'list', data: [{ id: 'm' }] } }, { response: { input_tokens: 3 } })
  expect((await openai.models.list()).data).toEqual([{ id: 'm' }])
  expect(await anthropic.messages.countTokens({ model: 'm', messages: [go] })).toMatchObject({ input_tokens: 3 })
  provider.enqueue(
    { text: 'hi', headers: { 'x-request-id': 'req_1' } },
    { text: 'hi', headers: { 'request-id': 'req_2' } },
  )
  expect((await openai.chat.completions.create(chat))._request_id).toBe('req_1')
  expect((await anthropic.messages.create(messages))._request_id).toBe('req_2')
  const limited = {
    status: 429,
    error: { type: 'rate_limit_error', message: 'slow down' },
    headers: { 'retry-after': '1' },
  }
  provider.enqueue(limited, limited)
  await expect(openai.chat.completions.create(chat)).rejects.toBeInstanceOf(OpenAI.RateLimitError)
  await expect(anthropic.messages.create(messages)).rejects.toBeInstanceOf(Anthropic.RateLimitError)
})

proves('gateway.passes', 'a client that leaves ends the request to the upstream', async () => {
  const { openai } = clients()
  provider.enqueue({ events: Array(50).fill({ choices: [{ index: 0, delta: { content: 'x' } }] }), eventDelayMs: 100 })
  const stream = await openai.chat.completions.create({ ...chat, stream: true })
  for await (const _ of stream) break
  await expect.poll(() => provider.requests.at(-1)?.aborted).toBe(true)
})

const REFUSED: readonly [string, string][] = [
  ['GET', '/v1/responses/resp_1'],
  ['POST', '/v1/responses/resp_1/cancel'],
  ['POST', '/v1/responses/compact'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/realtime/sessions'],
  ['POST', '/v1/messages/batches'],
  ['POST', '/v1/batches'],
  ['PUT', '/v1/chat/completions'],
]
proves('gateway.refuses-by-name', 'what cannot be governed never reaches the upstream', async () => {
  for (const [method, path] of REFUSED) {
    for (const wire of ['openai', 'anthropic']) {
      const reply = await fetch(`${gateway.url}/${agent}/${wire}${path}`, { method })
      expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([403, 'false'])
      expect((await reply.json()).error.message).toContain(`${method} ${path} is not governed`)
    }
  }
  expect(provider.requests).toEqual([])
})

proves(
  'gateway.modes',
  'shadow blocks nothing, observe needs no plan, and enforce without one blocks all',
  async () => {
    const shadow = await gateways.start({ mode: 'shadow' })
    provider.enqueue({ calls: [{ id: 'c1', name: 'pay', arguments: { amount: 500 } }] })
    expect((await WIRES.messages!(clients(shadow), false)).calls).toEqual(['pay'])
    const observing = await gateways.start({ mode: 'observe' })
    const unplanned = (at: typeof gateway) => new OpenAI({ apiKey: 'sk', baseURL: at.openai('nobody'), maxRetries: 0 })
    provider.enqueue({ calls: [{ id: 'c1', name: 'anything', arguments: {} }] })
    const { choices } = await unplanned(observing).chat.completions.create(chat)
    expect(choices[0]!.message.tool_calls).toHaveLength(1)
    provider.requests.length = 0
    const refused = await unplanned(gateway)
      .chat.completions.create(chat)
      .catch((error) => error)
    expect([refused.status, refused.message]).toEqual([403, expect.stringContaining('no approved plan in production')])
    expect(provider.requests).toEqual([])
    await observing.close()
    const { rows } = { rows: await runtime.sql`select agent from captures where agent = 'nobody'` }
    expect(rows).toHaveLength(1)
  },
)

proves('gateway.fails-closed', 'nothing is let through while the service is away', async () => {
  let isAway = true
  const send: typeof fetch = (input, init) => {
    const isServer = String(input).includes('/api/v1/')
    if (isServer && isAway) throw new TypeError('fetch failed')
    return isServer ? runtime.fetch(input, init) : fetch(input, init)
  }
  const cut = await gateways.start({}, { fetch: send })
  const { openai } = clients(cut)
  const refused = await openai.chat.completions.create(chat).catch((error) => error)
  expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(/calls are blocked/)])
  const continued = { ...chat, messages: [go, toolMessage('call_unknown', 'x')] }
  const lost = await openai.chat.completions.create(continued).catch((error) => error)
  expect([lost.status, lost.message]).toEqual([503, expect.stringContaining('Countersign server could not be asked')])
  expect(provider.requests).toEqual([])
  isAway = false
  provider.enqueue({ calls: [{ id: 'c9', name: 'look', arguments: {} }] })
  expect((await WIRES['chat completions']!(clients(cut), false)).calls).toEqual(['look'])
})

proves('gateway.keys-stay', 'the key of the provider stands in no log line and no table', async () => {
  expect(gateway.log.join('\n')).not.toContain('s3cret')
  expect(runtime.logLines.join('\n')).not.toContain('s3cret')
  expect(await tablesWith(runtime, 's3cret')).toEqual([])
})

proves('gateway.overtaken', async () => {
  const headers = { 'x-countersign-session': 'ses_overtaken' }
  const other = clients(await gateways.start())
  const overtaken = async (maxRetries: number) => {
    let asked = 0
    provider.answerWith(async () => {
      const turn = ++asked
      // Meanwhile the other gateway takes a whole turn.
      if (turn === 1) await other.openai.chat.completions.create(chat, { headers })
      return { text: 'Well.', calls: turn === 2 ? [] : [{ id: `l${turn}`, name: 'look', arguments: {} }] }
    })
    return clients(gateway, maxRetries).openai.chat.completions.create(chat, { headers })
  }
  const error = await overtaken(0).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 409, message: expect.stringContaining('ask again') })
  const { choices } = await overtaken(1)
  expect(choices[0]?.message.tool_calls).toHaveLength(1)
})
