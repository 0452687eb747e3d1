import Anthropic from '@anthropic-ai/sdk'
import type { Contract, JsonObject } from '@countersign/protocol'
import OpenAI from 'openai'
import { describe, expect } from 'vitest'
import {
  openSession,
  ReplayContractError,
  type ReplayOptions,
  replay,
  type Session,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** What was judged is what runs: every way to be given a call, and every way to change it afterwards. */
const { agent, runtime, api } = await withAgentAndRuntime()

const JUDGED = { amount: 10, to: { iban: 'DE01' }, tags: ['a'] }
type Args = typeof JUDGED & JsonObject

const pay: Contract = {
  tool: 'pay',
  side_effect: 'write',
  gate: 'allow',
  argument_value_invariants: [{ path: '$.amount', lte: 40 }],
}
const asked: Contract = { ...pay, checkpoint: { reason: 'money' } }

/** A call as the program got it: `args` is the object that it holds, and may change. */
interface Given {
  readonly session: Pick<Session<unknown>, 'sessionId' | 'close' | 'flush'>
  readonly args: Args
  /** Runs the tool as this program would, by default with the object that it holds. */
  run(args?: unknown): Promise<unknown>
  /** The same without the id of the call, where the face can. */
  readonly runWithoutId?: (args: unknown) => Promise<unknown>
}

/** A way to be given a call of `pay` that was allowed. */
type Face = (options: ReplayOptions) => Promise<Given>

const openAi = () => new OpenAI({ apiKey: 'sk-test', baseURL: `${agent.provider.url}/v1`, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: 'sk-test', baseURL: agent.provider.url, maxRetries: 0 })
const parameters = { type: 'object' as const }
const ask = 'go on'
const messages = [{ role: 'user' as const, content: ask }]

interface Tools {
  readonly tools?: Readonly<Record<string, WrappedTool | undefined>> | undefined
}
type WrappedTool = (args: unknown, by?: { callId: string }) => Promise<unknown>

function given(session: Given['session'] & Tools, id: string | undefined, args: unknown): Given {
  if (id === undefined) throw new Error('the answer has no call')
  const held = (typeof args === 'string' ? JSON.parse(args) : args) as Args
  return {
    session,
    args: held,
    run: async (passed = held) => session.tools?.pay?.(passed, { callId: id }),
    runWithoutId: async (passed) => session.tools?.pay?.(passed),
  }
}

const chat = {
  model: 'gpt-4o',
  messages,
  tools: [{ type: 'function' as const, function: { name: 'pay', parameters } }],
}
const responses = {
  model: 'gpt-4o',
  input: ask,
  tools: [{ type: 'function' as const, name: 'pay', parameters, strict: false }],
}
const message = { model: 'claude', max_tokens: 99, messages, tools: [{ name: 'pay', input_schema: parameters }] }

type Block = Anthropic.ContentBlock | Anthropic.Beta.BetaContentBlock

function blockOf(session: Given['session'] & Tools, content: readonly Block[]): Given {
  const block = content.find(({ type }) => type === 'tool_use') as Anthropic.ToolUseBlock | undefined
  return given(session, block?.id, block?.input)
}

function itemOf(session: Given['session'] & Tools, output: OpenAI.Responses.Response['output']): Given {
  const item = output.find(({ type }) => type === 'function_call') as OpenAI.Responses.ResponseFunctionToolCall
  return given(session, item?.call_id, item?.arguments)
}

function choiceOf(session: Given['session'] & Tools, completion: OpenAI.ChatCompletion | undefined): Given {
  const call = completion?.choices[0]?.message.tool_calls?.[0]
  return given(session, call?.id, call?.type === 'function' ? call.function.arguments : undefined)
}

/** By `openSession`, where the program brings the model's answer itself. */
async function proposed(options: ReplayOptions) {
  const session = openSession(options)
  const turn = await session.prepare({ model: 'own', tools: ['pay'] })
  const args = structuredClone(JUDGED) as Args
  const [verdict] = await turn.propose({ calls: [{ id: 'c1', name: 'pay', arguments: args }] })
  return { session, verdict, args }
}

const runs =
  (session: Session<unknown>, held: Args) =>
  async (passed: unknown = held) => {
    const run = await session.invoke({ callId: 'c1', args: passed })
    if (!run.ran) throw run.error
  }

const FACES: Readonly<Record<string, Face>> = {
  'chat.completions.create': async (options) => {
    const session = replay(openAi(), options)
    return choiceOf(session, await session.client.chat.completions.create(chat))
  },
  'chat.completions.create().withResponse()': async (options) => {
    const session = replay(openAi(), options)
    return choiceOf(session, (await session.client.chat.completions.create(chat).withResponse()).data)
  },
  'chat.completions.stream()': async (options) => {
    const session = replay(openAi(), options)
    return choiceOf(session, await session.client.chat.completions.stream(chat).finalChatCompletion())
  },
  'responses.create': async (options) => {
    const session = replay(openAi(), options)
    return itemOf(session, (await session.client.responses.create(responses)).output)
  },
  'responses.stream()': async (options) => {
    const session = replay(openAi(), options)
    return itemOf(session, (await session.client.responses.stream(responses).finalResponse()).output)
  },
  'messages.create': async (options) => {
    const session = replay(anthropic(), options)
    return blockOf(session, (await session.client.messages.create(message)).content)
  },
  'messages.create().withResponse()': async (options) => {
    const session = replay(anthropic(), options)
    return blockOf(session, (await session.client.messages.create(message).withResponse()).data.content)
  },
  'messages.stream()': async (options) => {
    const session = replay(anthropic(), options)
    return blockOf(session, (await session.client.messages.stream(message).finalMessage()).content)
  },
  'beta.messages.create': async (options) => {
    const session = replay(anthropic(), options)
    return blockOf(session, (await session.client.beta.messages.create(message)).content)
  },
  'beta.messages.stream()': async (options) => {
    const session = replay(anthropic(), options)
    return blockOf(session, (await session.client.beta.messages.stream(message).finalMessage()).content)
  },
  'openSession: the proposed object': async (options) => {
    const { session, args } = await proposed(options)
    return { session, args, run: runs(session, args) }
  },
  'openSession: verdict.arguments': async (options) => {
    const { session, verdict } = await proposed(options)
    const args = verdict?.arguments as Args
    return { session, args, run: runs(session, args) }
  },
  'session.fetch': async (options) => {
    const session = openSession(options)
    const client = new Anthropic({
      apiKey: 'sk-test',
      baseURL: agent.provider.url,
      maxRetries: 0,
      fetch: session.fetch,
    })
    return blockOf(session, (await client.messages.create(message)).content)
  },
}

/** What the program does between the verdict and the run, and which run that must come to. */
interface Change {
  readonly ran: 'judged' | 'nothing'
  /** The argument that the error names. */
  readonly names?: string
  make(call: Given): Promise<unknown>
}

const CHANGES: Readonly<Record<string, Change>> = {
  nothing: { ran: 'judged', make: (call) => call.run(call.args) },
  'a value in place': {
    ran: 'nothing',
    names: 'amount',
    make: (call) => {
      call.args.amount = 900
      return call.run(call.args)
    },
  },
  'a nested value in place': {
    ran: 'nothing',
    names: 'to.iban',
    make: (call) => {
      call.args.to.iban = 'EVIL'
      return call.run(call.args)
    },
  },
  'a list in place': {
    ran: 'nothing',
    names: 'tags',
    make: (call) => {
      call.args.tags.push('b')
      return call.run(call.args)
    },
  },
  'another object': { ran: 'nothing', names: 'amount', make: (call) => call.run({ ...call.args, amount: 900 }) },
  'another object, without an id': {
    ran: 'nothing',
    names: 'amount',
    make: (call) => (call.runWithoutId ?? call.run)({ ...call.args, amount: 900 }),
  },
  'a key more': {
    ran: 'judged',
    make: (call) => {
      Object.assign(call.args, { admin: true })
      return call.run(call.args)
    },
  },
  'while it starts': {
    ran: 'judged',
    make: (call) => {
      const running = call.run(call.args)
      if (!Object.isFrozen(call.args)) call.args.amount = 900
      return running
    },
  },
}

const inGovern = { apiKey: runtime.key, fetch: runtime.fetch }

async function tell(face: keyof typeof FACES, change: Change, options: ReplayOptions): Promise<void> {
  const ran: unknown[] = []
  agent.provider.enqueue({ calls: [{ name: 'pay', arguments: JUDGED }] })
  const call = await FACES[face]!({
    gate: 'reject_all',
    contracts: pay,
    diagnostics: () => {},
    tools: { pay: (args) => ran.push(args) },
    ...options,
  })
  // What belongs to the program stays its own to change; what the session hands out does not.
  const isFrozen = Object.isFrozen(call.args)
  expect(isFrozen).toBe(face === 'openSession: verdict.arguments')
  const error = await attempt(() => change.make(call))
  // What cannot be changed is run as it was judged.
  if (isFrozen && error instanceof TypeError) await call.run()
  const isHeld = isFrozen && error instanceof TypeError
  expect(ran).toEqual(change.ran === 'judged' || isHeld ? [JUDGED] : [])
  if (change.ran === 'nothing' && !isHeld) {
    expect(error).toBeInstanceOf(ReplayContractError)
    expect(String(error)).toContain(`changed: ${change.names}`)
    // It was settled by that: the call does not run any more, whatever it is given.
    expect(await attempt(() => call.run(structuredClone(JUDGED)))).toBeInstanceOf(ReplayContractError)
    expect(ran).toEqual([])
  }
  const { sessionId } = call.session
  await call.session.close()
  if (options.apiKey === undefined) return
  const { body } = await api.exportEvents({ params: { session_id: sessionId } })
  const receipts = body.events.flatMap((event) => (event.type === 'receipts' ? [event.body] : []))
  const outcome = ran.length > 0 ? 'succeeded' : 'not_executed'
  expect(receipts).toMatchObject([{ receipts: [{ outcome }] }])
}

async function attempt(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
    return null
  } catch (error) {
    return error
  }
}

for (const [mode, options] of Object.entries({ govern: inGovern, protect: {} })) {
  describe(mode, () => {
    for (const face of Object.keys(FACES)) {
      for (const [name, change] of Object.entries(CHANGES)) {
        proves('guarantee.judged-runs', `${face}, ${mode}: ${name}`, () => tell(face, change, options))
      }
    }
  })
}

describe('a person who approved', () => {
  const approve = async ({ checkpoint_id }: { checkpoint_id: string }) => ({
    checkpoint_id,
    decision: 'approve' as const,
    decided_by: 'ann',
    decided_at: new Date().toISOString(),
  })
  for (const [mode, options] of Object.entries({ govern: inGovern, protect: {} })) {
    for (const face of Object.keys(FACES)) {
      proves('guarantee.judged-runs', `${face}, ${mode}: an approval of 10 covers no 900`, () =>
        tell(face, CHANGES['a value in place']!, { ...options, contracts: asked, onCheckpoint: approve }),
      )
      proves('guarantee.judged-runs', `${face}, ${mode}: a callback that changes its request changes nothing`, () =>
        tell(face, CHANGES.nothing!, {
          ...options,
          contracts: asked,
          onCheckpoint: (request) => {
            Object.assign(request.arguments, { amount: 900 })
            return approve(request)
          },
        }),
      )
    }
  }
})

proves(
  'guarantee.judged-runs',
  'what the server judged by another reading than this process does not run',
  async () => {
    const ran: unknown[] = []
    agent.provider.enqueue({ calls: [{ name: 'pay', arguments: JUDGED }] })
    const call = await FACES['messages.create']!({
      contracts: pay,
      diagnostics: () => {},
      tools: { pay: (args) => ran.push(args) },
      apiKey: runtime.key,
      fetch: (input, init) => {
        const isProposal = String(input).endsWith('/proposals')
        const body = isProposal ? String(init?.body).replace('"amount":10', '"amount":20') : init?.body
        return runtime.fetch(input, { ...init, ...(body !== undefined && { body }) })
      },
    })
    await expect(call.run()).rejects.toThrow('judged other arguments')
    expect(ran).toEqual([])
    await call.session.close()
  },
)

const TOOLS = { look: { tool: 'look', side_effect: 'read' as const }, pay }

/** The model calls `look`, which any arguments may. */
async function looking(options: ReplayOptions, args: JsonObject) {
  const ran: unknown[] = []
  const tools = {
    look: (given: unknown) => ran.push(['look', given]),
    pay: (given: unknown) => ran.push(['pay', given]),
  }
  const session = openSession({ contracts: Object.values(TOOLS), diagnostics: () => {}, tools, ...options })
  const turn = await session.prepare({ model: 'own', tools: ['look', 'pay'] })
  await turn.propose({ calls: [{ id: 'c1', name: 'look', arguments: args }] })
  return { session, ran }
}

for (const [mode, options] of Object.entries({ govern: inGovern, protect: {} })) {
  proves('guarantee.judged-runs', `${mode}: another tool does not run under the id of an allowed call`, async () => {
    const { session, ran } = await looking(options, { amount: 900 })
    const other = await session.invoke({ callId: 'c1', tool: 'pay', args: { amount: 900 } })
    expect(other).toMatchObject({ ran: false, result: expect.stringContaining('(the tool)') })
    expect(await session.invoke({ callId: 'c1', args: { amount: 900 } })).toMatchObject({ ran: false })
    expect(ran).toEqual([])
    await session.close()
  })

  proves('guarantee.judged-runs', `${mode}: a text does not stand for the arguments of a function`, async () => {
    for (const text of ['x', '["x"]', '']) {
      const { session, ran } = await looking(options, { input: text, amount: 10 })
      expect(await session.invoke({ callId: 'c1', args: text })).toMatchObject({ ran: false })
      expect(ran).toEqual([])
      await session.close()
    }
  })
}
