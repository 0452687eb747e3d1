import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { type LoopbackProvider, startProvider } from '../../../../test/support/provider/provider.js'
import { ReplayContractError } from '../base/errors.js'
import { replay } from '../session/replay.js'

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())
afterEach(() => {
  provider.requests.length = 0
})

const contracts = [{ tool: 'pay', argument_value_invariants: [{ path: '$.amount', lte: 500 }] }]
const diagnostics = () => {}
const pays = (amount: number, id: string) => ({ calls: [{ id, name: 'pay', arguments: { amount } }] })
const user = { role: 'user' as const, content: 'pay' }

describe('runners that run tools themselves', () => {
  proves('session.client.runners', 'runTools of openai is governed: a blocked call does not run', async () => {
    const ran: unknown[] = []
    const client = new OpenAI({ apiKey: 'x', baseURL: `${provider.url}/v1`, maxRetries: 0 })
    const session = replay(client, { contracts, diagnostics })
    const run = () =>
      session.client.chat.completions
        .runTools({
          model: 'm',
          messages: [user],
          tools: [
            {
              type: 'function',
              function: {
                name: 'pay',
                description: 'pays',
                parameters: { type: 'object' },
                parse: JSON.parse,
                function: (args: unknown) => {
                  ran.push(args)
                  return 'paid'
                },
              },
            },
          ],
        })
        .finalContent()
    provider.enqueue(pays(5, 'c1'), { text: 'Done.' })
    expect(await run()).toBe('Done.')
    provider.enqueue(pays(501, 'c2'))
    await expect(run()).rejects.toThrow('argument_value_mismatch')
    expect(ran).toEqual([{ amount: 5 }])
    await session.restore()
  })

  proves('session.client.runners', 'toolRunner of Anthropic is governed: a blocked call does not run', async () => {
    await runByToolRunner((runner) => runner)
  })

  proves('session.client.runners', 'toolRunner of Anthropic is governed where it streams', async () => {
    await runByToolRunner(async (runner) => {
      // Each stream is read as a program shows it, then the runner goes on to the tools.
      for await (const stream of runner as unknown as AsyncIterable<AsyncIterable<unknown>>)
        for await (const _ of stream);
      return runner
    }, true)
  })

  async function runByToolRunner(finish: (runner: PromiseLike<unknown>) => unknown, stream?: true): Promise<void> {
    const ran: unknown[] = []
    const client = new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0 })
    const session = replay(client, { contracts, diagnostics })
    const run = async () =>
      finish(
        session.client.beta.messages.toolRunner({
          ...(stream && { stream }),
          model: 'm',
          max_tokens: 9,
          messages: [user],
          tools: [
            {
              type: 'custom',
              name: 'pay',
              description: 'pays',
              input_schema: { type: 'object' },
              parse: (value: unknown) => value,
              run: (args: unknown) => {
                ran.push(args)
                return 'paid'
              },
            },
          ],
        }),
      )
    provider.enqueue(pays(5, 'c1'), { text: 'Done.' })
    expect(await run()).toMatchObject({ content: [{ text: 'Done.' }] })
    provider.enqueue(pays(501, 'c2'))
    await expect(run()).rejects.toThrow('argument_value_mismatch')
    expect(ran).toEqual([{ amount: 5 }])
    await session.restore()
  }
})

proves('session.client.no-sockets', 'Responses over WebSocket is refused by name', async () => {
  // What both sockets do with their client, without the package that opens them.
  const { ResponsesWSBase } = await import('openai/resources/responses/ws-base')
  const { OpenAIRealtimeWebSocket } = await import('openai/realtime/websocket')
  const connect = Reflect.get(ResponsesWSBase.prototype, '_authHeaders') as (this: object) => unknown
  const original = new OpenAI({ apiKey: 'x', baseURL: 'http://127.0.0.1:9/v1' })
  const session = replay(original, { contracts, diagnostics })
  const named = 'Responses and Realtime over WebSocket are not governed'
  expect(() => connect.call({ _client: session.client })).toThrow(named)
  expect(() => new OpenAIRealtimeWebSocket({ model: 'm' }, session.client)).toThrow(named)
  expect(original.apiKey).toBe('x')
  session.client.apiKey = 'y'
  expect(original.apiKey).toBe('y')
  await session.restore()
})

describe('beta.messages', () => {
  proves('session.client.beta-messages', 'create, parse and stream are governed', async () => {
    const client = new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0 })
    const session = replay(client, { contracts, diagnostics })
    const { messages } = session.client.beta
    const request = {
      model: 'm',
      max_tokens: 9,
      messages: [user],
      tools: [
        { name: 'pay', input_schema: { type: 'object' as const } },
        { name: 'sudo', input_schema: { type: 'object' as const } },
      ],
    }
    provider.enqueue(pays(5, 'c1'), pays(5, 'c2'))
    expect((await messages.create(request)).content).toMatchObject([{ type: 'tool_use', id: 'c1' }])
    expect((await messages.stream(request).finalMessage()).content).toMatchObject([{ id: 'c2' }])
    expect(JSON.stringify(provider.requests[0]?.body?.tools)).not.toContain('sudo')
    provider.enqueue(pays(501, 'c3'), pays(501, 'c4'), pays(501, 'c5'))
    await expect(messages.create(request)).rejects.toThrow(ReplayContractError)
    await expect(messages.parse(request)).rejects.toThrow(ReplayContractError)
    await expect(messages.stream(request).finalMessage()).rejects.toThrow('argument_value_mismatch')
    await session.restore()
  })

  test('a conversation that stays at the provider cannot be seen, and is refused', async () => {
    const client = new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0 })
    const session = replay(client, { contracts, diagnostics })
    const request = { model: 'm', max_tokens: 9, messages: [user], thread: { id: 't1' } }
    const asked = session.client.beta.messages.create(request as never)
    await expect(asked).rejects.toThrow('a stored `thread` holds messages that cannot be seen')
    expect(() => session.client.beta.messages.thread({ model: 'm', max_tokens: 9 })).toThrow('is not governed')
    expect(provider.requests).toEqual([])
    await session.restore()
  })
})
