// What a user of the packages and guides would write: it is copied into an empty project, compiled there with
// strict types, and run against the packed service, on every version of Node that is promised.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { observe, prepareContracts, ReplayContractError, replay, validate } from '@countersign/sdk'
import OpenAI from 'openai'

const apiKey = process.env.COUNTERSIGN_API_KEY ?? ''
const runtimeUrl = process.env.COUNTERSIGN_API_URL ?? ''

/** The model: it calls `pay` with what the last message says in digits, in either API, whole or streamed. */
const model = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const { stream, messages } = JSON.parse(text)
  const amount = Number(/\d+/.exec(JSON.stringify(messages.at(-1).content))?.[0] ?? 0)
  const args = JSON.stringify({ amount })
  const events = request.url?.endsWith('/messages') ? claude(args) : gpt(args)
  if (stream) return send(response, events.parts)
  response.setHeader('content-type', 'application/json').end(JSON.stringify(events.whole))
})

function gpt(args: string) {
  const call = { id: 'call_1', type: 'function', function: { name: 'pay', arguments: args } }
  const base = { id: 'c1', created: 1, model: 'm', object: 'chat.completion' }
  const message = { role: 'assistant', content: null, refusal: null, tool_calls: [call] }
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })
  return {
    whole: { ...base, choices: [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }] },
    parts: [
      chunk({ role: 'assistant', content: 'One moment.' }, null),
      chunk({ tool_calls: [{ index: 0, ...call }] }, null),
      chunk({}, 'tool_calls'),
      '[DONE]',
    ],
  }
}

function claude(args: string) {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const base = { id: 'm1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null, usage }
  const tool = { type: 'tool_use', id: 'toolu_1', name: 'pay' }
  return {
    whole: { ...base, content: [{ ...tool, input: JSON.parse(args) }], stop_reason: 'tool_use' },
    parts: [
      { type: 'message_start', message: { ...base, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { ...tool, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: args } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
  }
}

function send(response: ServerResponse, parts: readonly (object | string)[]): void {
  response.setHeader('content-type', 'text/event-stream')
  for (const part of parts) {
    const type = typeof part === 'object' && 'type' in part ? `event: ${part.type}\n` : ''
    response.write(`${type}data: ${typeof part === 'string' ? part : JSON.stringify(part)}\n\n`)
  }
  response.end()
}

await once(model.listen(0, '127.0.0.1'), 'listening')
const modelUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}`
const openai = () => new OpenAI({ apiKey: 'none', baseURL: `${modelUrl}/v1`, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: 'none', baseURL: modelUrl, maxRetries: 0 })

const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  argument_value_invariants: [{ path: '$.amount', lte: 500 }],
}
const chat = (amount: number) => ({
  model: 'm',
  messages: [{ role: 'user' as const, content: `Pay ${amount}.` }],
  tools: [{ type: 'function' as const, function: { name: 'pay', parameters: { type: 'object' } } }],
})
const message = (amount: number) => ({
  model: 'm',
  max_tokens: 99,
  messages: [{ role: 'user' as const, content: `Pay ${amount}.` }],
  tools: [{ name: 'pay', input_schema: { type: 'object' as const } }],
})

// validate: one response, no client
const contracts = prepareContracts([pay])
const proposed = (amount: number) => ({ tool_calls: [{ id: 'c', name: 'pay', arguments: JSON.stringify({ amount }) }] })
assert.equal(validate(proposed(5), { contracts }).pass, true)
assert.equal(validate(proposed(501), { contracts }).failures[0]?.operator, 'lte')

// observe: the answers come through untouched, whole and streamed
const watched = openai()
const handle = observe(watched, { agent: 'packed', apiKey, endpoint: runtimeUrl })
await watched.chat.completions.create(chat(5))
for await (const _ of await watched.chat.completions.create({ ...chat(6), stream: true }));
await handle.flush()
const { totalSteps, totalErrors } = handle.getHealth()
assert.deepEqual({ totalSteps, totalErrors }, { totalSteps: 2, totalErrors: 0 })
await handle.restore()

// protect: the rules hold in this process
const local = replay(anthropic(), { contracts: pay })
const { content } = await local.client.messages.create(message(5))
assert.equal(content[0]?.type, 'tool_use')
await assert.rejects(local.client.messages.create(message(501)), (error) => {
  assert(error instanceof ReplayContractError)
  return error.decision.blocked[0]?.reason === 'argument_value_mismatch'
})
await local.restore()

// govern: the service decides, the tool runs for an allowed call, a person is asked
const asked: string[] = []
const session = replay(openai(), {
  apiKey,
  runtimeUrl,
  contracts: { ...pay, checkpoint: { when: [{ path: '$.amount', gt: 100 }], reason: 'large payment' } },
  tools: { pay: async ({ amount }: { amount: number }) => ({ paid: amount }) },
  onCheckpoint: (request) => {
    asked.push(request.reason)
    const { checkpoint_id } = request
    return { checkpoint_id, decision: 'approve', decided_by: 'ann', decided_at: new Date().toISOString() }
  },
})
const { choices } = await session.client.chat.completions.create(chat(200))
const [call] = choices[0]?.message.tool_calls ?? []
assert(call?.type === 'function')
const result = await session.tools.pay(JSON.parse(call.function.arguments), { callId: call.id })
assert.equal(result.paid, 200)
assert.deepEqual(asked, ['large payment'])
assert.equal(await session.tools[call.id]?.(), undefined)
await assert.rejects(session.tools.pay({ amount: 200 }), ReplayContractError)
assert.equal(session.getState().stateVersion, 1)
assert.equal(session.getHealth().durability, 'server')

// streams: what is said flows, and what is blocked never shows
const seen: string[] = []
const stream = await session.client.chat.completions.create({ ...chat(501), stream: true })
await assert.rejects(async () => {
  for await (const chunk of stream) seen.push(JSON.stringify(chunk.choices[0]?.delta))
}, ReplayContractError)
assert.deepEqual(seen, ['{"role":"assistant","content":"One moment."}'])
await session.restore()

const other = replay(anthropic(), { apiKey, runtimeUrl, contracts: pay, tools: { pay: () => 'paid' } })
const final = await other.client.messages.stream(message(7)).finalMessage()
const [use] = final.content
assert(use?.type === 'tool_use')
const paid: string = await other.tools.pay(use.input, { callId: use.id })
assert.equal(paid, 'paid')
assert.equal(other.getState().stateVersion, 1)
await other.restore()

model.close()
console.log(`the packed SDK works on Node ${process.versions.node}`)
