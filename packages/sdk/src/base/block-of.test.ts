import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { type LoopbackProvider, startProvider } from '../../../../test/support/provider/provider.js'
import { openSession } from '../session/open-session.js'
import { replay } from '../session/replay.js'
import { blockOf } from './block-of.js'
import { ReplayContractError, ReplayKillError } from './errors.js'

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
  provider.answerWith(() => ({ text: 'Well.', calls: [{ id: 'p1', name: 'pay', arguments: { amount: 501 } }] }))
})
afterAll(() => provider.close())

const options = {
  contracts: [{ tool: 'pay', argument_value_invariants: [{ path: '$.amount', lte: 500 }] }],
  diagnostics: () => {},
}
type Fetch = typeof globalThis.fetch
const openai = (fetch?: Fetch) =>
  new OpenAI({ apiKey: 'x', baseURL: `${provider.url}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
const anthropic = (fetch?: Fetch) =>
  new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0, ...(fetch && { fetch }) })

const messages = [{ role: 'user' as const, content: 'go' }]
const chat = {
  model: 'm',
  messages,
  tools: [{ type: 'function' as const, function: { name: 'pay', parameters: {} } }],
}
const responses = {
  model: 'm',
  input: 'go',
  tools: [{ type: 'function' as const, name: 'pay', parameters: {}, strict: false }],
}
const claude = {
  model: 'm',
  max_tokens: 9,
  messages,
  tools: [{ name: 'pay', input_schema: { type: 'object' as const } }],
}

const OPENAI: Record<string, (client: OpenAI) => Promise<unknown>> = {
  'chat.completions.create': (client) => client.chat.completions.create(chat),
  'chat.completions.stream': (client) => client.chat.completions.stream(chat).finalChatCompletion(),
  'responses.create': (client) => client.responses.create(responses),
  'responses.stream': (client) => client.responses.stream(responses).finalResponse(),
}
const ANTHROPIC: Record<string, (client: Anthropic) => Promise<unknown>> = {
  'messages.create': (client) => client.messages.create(claude),
  'messages.stream': (client) => client.messages.stream(claude).finalMessage(),
}

describe.each(['replay', 'fetch'] as const)('blockOf, through %s', (face) => {
  async function thrownBy<Client extends object>(make: (fetch?: Fetch) => Client, ask: (client: Client) => unknown) {
    const session =
      face === 'replay'
        ? replay(make(), options)
        : openSession({ ...options, tools: { pay: () => 'paid' }, gate: 'reject_all' })
    const client = 'client' in session ? (session.client as Client) : make(session.fetch)
    const error = await Promise.resolve(ask(client)).catch((thrown: unknown) => thrown)
    await session.close()
    return error
  }

  const check = (error: unknown): void => {
    const block = blockOf(error)
    expect(block).toBeInstanceOf(ReplayContractError)
    expect(block?.decision).toMatchObject({ outcome: 'blocked', blocked: [{ call_id: 'p1', tool_name: 'pay' }] })
    expect(block?.failures).toMatchObject([{ operator: 'lte', expected: 500, found: 501 }])
    expect(block?.message).toContain('argument_value_mismatch')
  }

  for (const [method, ask] of Object.entries(OPENAI)) {
    proves('error.block-of', `finds the block in the error of ${method}`, async () =>
      check(await thrownBy(openai, ask)),
    )
  }
  for (const [method, ask] of Object.entries(ANTHROPIC)) {
    proves('error.block-of', `finds the block in the error of ${method}`, async () =>
      check(await thrownBy(anthropic, ask)),
    )
  }
})

proves('error.block-of', 'finds the refusal of the server, with its code, inside a stream', async () => {
  const refusing = async (): Promise<Response> =>
    Response.json({ type: 'about:blank', code: 'UNAUTHENTICATED', title: 'no', status: 401 }, { status: 401 })
  const session = replay(openai(), { ...options, tools: { pay: () => 'paid' }, apiKey: 'wrong', fetch: refusing })
  const error = await OPENAI['chat.completions.stream']?.(session.client as OpenAI).catch((thrown: unknown) => thrown)
  expect(blockOf(error)?.code).toBe('UNAUTHENTICATED')
})

describe('blockOf', () => {
  const block = new ReplayContractError('blocked', { outcome: 'blocked', decisions: [], blocked: [] })

  test.each([
    ['the block itself', block],
    ['a cause', new Error('x', { cause: new Error('y', { cause: block }) })],
    ['one of several errors', new AggregateError([new Error('x'), block])],
    ['the last error of a retry', Object.assign(new Error('x'), { lastError: block })],
  ])('finds %s', (_, error) => {
    expect(blockOf(error)).toBe(block)
  })

  test('reads the body that a framework keeps as text', () => {
    const countersign = { outcome: 'blocked', decisions: [], blocked: [] }
    const responseBody = JSON.stringify({
      error: { code: 'countersign_ReplayContractError', message: 'no', countersign },
    })
    expect(blockOf(Object.assign(new Error('403'), { responseBody }))?.message).toBe('no')
  })

  test('finds nothing where nothing was blocked, and comes back from a circle', () => {
    const circle = new Error('x')
    circle.cause = circle
    for (const error of [circle, new ReplayKillError(), null, 'x', { error: { countersign: {} } }]) {
      expect(blockOf(error)).toBeNull()
    }
  })
})
