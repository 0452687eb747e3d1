import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { ReplayConfigError, ReplayContractError, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type StoredResponses, storeResponses } from '../../support/provider/stored-responses.js'
import { calls, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** OpenAI keeps responses: what was blocked in one is still there when the next request goes on from it. */
const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
]
const tools = ['look', 'pay'].map((name) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: {} },
  strict: false,
}))

let stored: StoredResponses
const { agent, runtime } = await withAgentAndRuntime()
beforeAll(async () => {
  stored = storeResponses(agent.provider)
})

type Ask = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'tools'>

function start(options: ReplayOptions = {}) {
  const { session } = agent.start({ contracts, ...options })
  const ask = (request: Ask) => session.client.responses.create({ model: 'gpt-4o', tools, ...request })
  return { session, ask }
}

const output = (callId: string, text = 'ok') => ({
  type: 'function_call_output' as const,
  call_id: callId,
  output: text,
})
const outputsIn = (items: readonly { [key: string]: unknown }[]) =>
  items.filter(({ type }) => type === 'function_call_output').map(({ call_id, output }) => [call_id, output])

for (const level of ['protect', 'govern']) {
  proves(
    ['option.gate.strip-partial', 'option.gate.strip-blocked'],
    `after a stripped response, previous_response_id goes on, and the model learns why (${level})`,
    async () => {
      const server = level === 'govern' ? { apiKey: runtime.key, fetch: runtime.fetch, tools: { look: () => 1 } } : {}
      const { ask } = start({ gate: 'strip_blocked', ...server })
      stored.enqueue(
        calls(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1']),
        calls(['pay', { amount: 502 }, 'p2']),
        says('done'),
      )
      const first = await ask({ input: 'pay 501' })
      expect(first.output.map((item) => item.type === 'function_call' && item.call_id)).toEqual(['l1'])
      const second = await ask({ previous_response_id: first.id, input: [output('l1')] })
      expect(second.output_text).toContain('argument_value_mismatch')
      const third = await ask({ previous_response_id: second.id, input: 'go on' })
      expect(third.output_text).toBe('done')
      expect(outputsIn(stored.thread(third.id))).toEqual([
        ['p1', expect.stringContaining('argument_value_mismatch')],
        ['l1', 'ok'],
        ['p2', expect.stringContaining('argument_value_mismatch')],
      ])
      // Another request may go on from the same response again.
      stored.enqueue(says('again'))
      expect((await ask({ previous_response_id: second.id, input: 'once more' })).output_text).toBe('again')
    },
  )
}

proves('option.gate.reject-all', 'a conversation goes on after an answer that was refused whole', async () => {
  const { ask } = start()
  stored.enqueue(calls(['look', {}, 'l1'], ['pay', { amount: 501 }, 'p1']), says('one'), says('two'))
  await expect(ask({ conversation: 'conv_1', input: 'pay 501' })).rejects.toThrow(ReplayContractError)
  expect((await ask({ conversation: 'conv_1', input: 'well' })).output_text).toBe('one')
  expect((await ask({ conversation: { id: 'conv_1' }, input: 'and' })).output_text).toBe('two')
  expect(outputsIn(stored.conversation('conv_1'))).toEqual([
    ['l1', expect.stringContaining('another call')],
    ['p1', expect.stringContaining('argument_value_mismatch')],
  ])
})

proves('option.max-retries.retries', 'a retry in a conversation brings the remedy, and the input once', async () => {
  const { ask } = start({ maxRetries: 2 })
  stored.enqueue(calls(['pay', { amount: 501 }, 'p1']), calls(['pay', { amount: 502 }, 'p2']), says('no more then'))
  expect((await ask({ conversation: 'conv_2', input: 'pay 501' })).output_text).toBe('no more then')
  const items = stored.conversation('conv_2')
  expect(items.filter(({ role }) => role === 'user')).toHaveLength(1)
  expect(outputsIn(items).map(([id]) => id)).toEqual(['p1', 'p2'])
})

describe('a stream', () => {
  test('that was stripped, or broke off in an error, can be gone on from', async () => {
    for (const gate of ['strip_blocked', 'reject_all'] as const) {
      const { session, ask } = start({ gate })
      stored.enqueue({ text: 'Well.', ...calls(['pay', { amount: 501 }, `p-${gate}`]) }, says('done'))
      const stream = await session.client.responses.create({ model: 'gpt-4o', tools, input: 'pay', stream: true })
      let id = ''
      const read = async () => {
        for await (const event of stream) if ('response' in event) id = event.response.id
      }
      if (gate === 'reject_all') await expect(read()).rejects.toThrow(ReplayContractError)
      else await read()
      expect((await ask({ previous_response_id: id, input: 'go on' })).output_text).toBe('done')
    }
  })
})

test('an answer that was given without asking the model can be gone on from', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-stored-'))
  const sessionYamlPath = join(folder, 'session.yaml')
  writeFileSync(sessionYamlPath, 'session_limits: { max_tool_calls: 1 }\n')
  const { session, ask } = start({ gate: 'strip_blocked', sessionYamlPath })
  rmSync(folder, { recursive: true })
  stored.enqueue(calls(['look', {}, 'l1']), says('bye'))
  const first = await ask({ input: 'look' })
  const used = await ask({ previous_response_id: first.id, input: [output('l1')] })
  expect(used.output_text).toContain('tool calls')
  const still = await ask({ previous_response_id: used.id, input: 'please' })
  expect(still.id).not.toBe(used.id)
  const last = await session.client.responses.create({
    model: 'gpt-4o',
    previous_response_id: still.id,
    input: 'a word to end with',
  })
  expect(last.output_text).toBe('bye')
  expect(stored.thread(last.id).map(({ role, type }) => role ?? type)).toEqual([
    'user',
    'function_call',
    'function_call_output',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
  ])
})

test('a blocked call that only the program could answer is reported before anything is sent', async () => {
  const { ask } = start({ gate: 'strip_blocked', unmatchedPolicy: 'block' })
  const click = { type: 'computer_call', id: 'cu', call_id: 'cu1', status: 'completed', action: { type: 'click' } }
  stored.enqueue({ output: [click] })
  const first = await ask({ input: 'click' })
  const asked = agent.provider.requests.length
  const refusal = await ask({ previous_response_id: first.id, input: 'go on' }).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(ReplayConfigError)
  expect(String(refusal)).toContain(first.id)
  expect(String(refusal)).toContain('computer')
  expect(agent.provider.requests.length).toBe(asked)
})

test('nothing is changed in a request that goes on from what was released whole', async () => {
  const { ask } = start({ gate: 'strip_blocked' })
  stored.enqueue(calls(['look', {}, 'l1']), says('done'))
  const first = await ask({ input: 'look' })
  await ask({ previous_response_id: first.id, input: [output('l1')] })
  expect(agent.provider.requests.at(-1)?.body).toMatchObject({
    previous_response_id: first.id,
    input: [output('l1')],
  })
})
