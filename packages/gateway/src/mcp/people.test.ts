import type { JsonObject } from '@countersign/protocol'
import { openSharedSession, readModelRequest, type Session } from '@countersign/sdk'
import { claudeHooks } from '@countersign/sdk/claude'
import OpenAI from 'openai'
import { afterEach, describe, expect } from 'vitest'
import { createAskingService } from '../../../../test/support/people/served-questions.js'
import { proves } from '../../../../test/support/proves.js'
import { createGovernedServer } from './governed-server.js'
import { createMemoryPins } from './pins/definition-pins.js'
import { createRequestStates } from './request-state.js'
import { createToolCalls } from './tool-calls.js'

const pay = {
  tool: 'bank__pay',
  side_effect: 'write' as const,
  commit_requirement: 'reported' as const,
  checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: {} },
}
const never = { ...pay, checkpoint: { ...pay.checkpoint, ask: { self: 'never' as const } } }

const open: Session[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close()))
})

type Service = ReturnType<typeof createAskingService>

const sessionOf = (at: Service, sessionId = 'ses_1'): Session => {
  const session = openSharedSession({
    ...{ agent: 'office', sessionId, apiKey: 'k', runtimeUrl: 'http://service.test', fetch: at.fetch },
    ...{ environment: 'production', diagnostics: () => {} },
  })
  open.push(session)
  return session
}

const URL_HOST = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
}
const FORM_HOST = { ...URL_HOST, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }

/** A gateway, as far as its MCP server goes. */
function gatewayOf(at: Service, { sessionId = 'ses_1', apiKey = 'k' } = {}) {
  const session = sessionOf(at, sessionId)
  const ran: JsonObject[] = []
  const calls = createToolCalls({ session: () => session })
  const states = createRequestStates(apiKey)
  const governed = createGovernedServer({
    ...{ session: () => session, server: 'bank', calls, pins: createMemoryPins(), states },
  })
  const link = {
    async send({ method, params }: { readonly method: string; readonly params: JsonObject }) {
      if (method === 'tools/call') ran.push(params)
      const done = { content: [{ type: 'text', text: 'paid' }] }
      const result = method === 'tools/list' ? { tools: [{ name: 'pay', inputSchema: {} }] } : done
      return { kind: 'response', id: 1, result, error: null } as const
    },
  }
  const call = async (amount: number, more: JsonObject = {}): Promise<JsonObject> => {
    const params = { name: 'pay', arguments: { amount }, ...more }
    const { response } = await governed.callTool({ kind: 'request', id: 1, method: 'tools/call', params }, link)
    return (response.result ?? response.error) as JsonObject
  }
  return { session, ran, call }
}

const textOf = (result: JsonObject): string => JSON.stringify(result.content)

describe('MCP', () => {
  proves('ask.mcp', 'says that a call waits, and any gateway runs its repeat once', async () => {
    const at = createAskingService([pay])
    const one = gatewayOf(at)
    const answer = await one.call(900)
    const id = at.questions('ses_1')[0]?.question_id
    expect(answer).toMatchObject({
      isError: true,
      content: [
        {
          type: 'text',
          text: `bank__pay waits for a person, question ${id}. It has not run. Once a person has answered, call it again with the same arguments.`,
        },
      ],
    })
    expect(await one.call(900)).toMatchObject({ isError: true })
    expect(at.questions('ses_1')).toHaveLength(1)
    at.answer('ses_1', { decision: 'approve' })
    const other = gatewayOf(at)
    expect(textOf(await other.call(900))).toContain('paid')
    expect(textOf(await other.call(900))).toContain('waits for a person')
    expect({ one: one.ran.length, other: other.ran.length }).toEqual({ one: 0, other: 1 })
  })

  proves('ask.mcp', 'a byte more is another call', async () => {
    const at = createAskingService([pay])
    const { call, ran } = gatewayOf(at)
    await call(900)
    at.answer('ses_1', { decision: 'approve' })
    expect(textOf(await call(901))).toContain('waits for a person')
    expect(ran).toEqual([])
  })

  proves('ask.edited', 'runs a call as a person changed it, and says so beside the result', async () => {
    const at = createAskingService([pay])
    const { call, ran } = gatewayOf(at)
    await call(900)
    at.answer('ses_1', { decision: 'approve', arguments: { amount: 400 } })
    expect(await call(900)).toMatchObject({
      content: [
        { text: 'paid' },
        { text: 'A person changed amount from 900 to 400. This is the result of the changed call.' },
      ],
    })
    expect(ran).toMatchObject([{ arguments: { amount: 400 } }])
  })

  proves(
    'ask.mcp-confirm',
    'asks the user of a host that opens pages to confirm, and passes nothing of that on',
    async () => {
      const at = createAskingService([pay])
      const { call, ran } = gatewayOf(at)
      const asked = await call(900, { _meta: URL_HOST })
      const [question] = at.questions('ses_1')
      expect(asked).toMatchObject({
        resultType: 'input_required',
        inputRequests: {
          approval: {
            method: 'elicitation/create',
            params: { mode: 'url', url: question?.url, message: expect.stringContaining(question?.question_id ?? '?') },
          },
        },
      })
      const retry = {
        _meta: URL_HOST,
        requestState: asked.requestState as string,
        inputResponses: { approval: { action: 'accept' } },
      }
      // The host says that its user has accepted; no person has answered.
      expect(await call(900, retry)).toMatchObject({ resultType: 'complete', isError: true })
      expect(ran).toEqual([])
      at.answer('ses_1', { decision: 'approve' })
      expect(textOf(await call(900, retry))).toContain('paid')
      expect(ran).toEqual([{ _meta: URL_HOST, name: 'pay', arguments: { amount: 900 } }])
      // Used up.
      expect(await call(900, retry)).toMatchObject({ isError: true })
      expect(ran).toHaveLength(1)
    },
  )

  proves('ask.mcp-state', 'refuses a state that was forged, swapped, or is that of another call', async () => {
    const at = createAskingService([pay])
    const { call, ran } = gatewayOf(at)
    const state = String((await call(900, { _meta: URL_HOST })).requestState)
    const other = String((await call(901, { _meta: URL_HOST })).requestState)
    const foreign = gatewayOf(at, { sessionId: 'ses_2' })
    const ofSession = String((await foreign.call(900, { _meta: URL_HOST })).requestState)
    const ofTenant = createRequestStates('another').seal(
      { session: 'ses_1', question: 'Q-1', tool: 'bank__pay', arguments: { amount: 900 } },
      Date.now() + 60_000,
    )
    const old = createRequestStates('k').seal(
      { session: 'ses_1', question: 'Q-1', tool: 'bank__pay', arguments: { amount: 900 } },
      Date.now() - 1,
    )
    at.answer('ses_1', { decision: 'approve' }, 0)
    const flipped = `${state.slice(0, -2)}${state.endsWith('AA') ? 'BB' : 'AA'}`
    for (const requestState of [flipped, other, ofSession, ofTenant, old, 'countersign.1.', 'countersign.1.AAAA']) {
      expect(await call(900, { _meta: URL_HOST, requestState })).toMatchObject({ code: -32602 })
    }
    expect(ran).toEqual([])
    // That of the server behind the gateway is none of the gateway's.
    expect(textOf(await call(900, { _meta: URL_HOST, requestState: 'opaque' }))).toContain('paid')
    expect(ran).toMatchObject([{ requestState: 'opaque' }])
  })

  proves(
    'ask.mcp-confirm',
    'asks no user where the rule wants another person, or the host has forms alone',
    async () => {
      const strict = createAskingService([never])
      expect(await gatewayOf(strict).call(900, { _meta: URL_HOST })).toMatchObject({ isError: true })
      const lenient = createAskingService([pay])
      expect(await gatewayOf(lenient).call(900, { _meta: FORM_HOST })).toMatchObject({ isError: true })
    },
  )

  proves('ask.reads', 'says what a person refused', async () => {
    const at = createAskingService([pay])
    const { call } = gatewayOf(at)
    await call(900)
    at.answer('ses_1', { decision: 'deny', note: 'Too much' })
    for (let again = 0; again < 3; again++) {
      expect(textOf(await call(900))).toContain('A person refused this call of bank__pay: Too much.')
    }
    expect(at.questions('ses_1')).toHaveLength(1)
  })
})

describe('the wire', () => {
  /** A program without an SDK of ours: a client whose base URL is a gateway's. */
  function program(at: Service, calls: (readonly [string, object])[][]) {
    const requests: { messages: { role: string; content: string }[] }[] = []
    const session = sessionOf(at)
    const client = new OpenAI({
      apiKey: 'k',
      maxRetries: 0,
      fetch: session.fetchThrough(async (_, init) => {
        requests.push(JSON.parse(String(init?.body)))
        const made = calls[requests.length - 1] ?? []
        const tool_calls = made.map(([id, args]) => {
          return { id, type: 'function', function: { name: 'bank__pay', arguments: JSON.stringify(args) } }
        })
        const message = { role: 'assistant', content: made.length === 0 ? 'done' : null, tool_calls }
        const finish_reason = made.length === 0 ? 'stop' : 'tool_calls'
        return Response.json({ id: 'c', object: 'chat.completion', choices: [{ index: 0, finish_reason, message }] })
      }),
    })
    const ask = async (more: { role: 'tool'; tool_call_id: string; content: string }[] = []) => {
      const { choices } = await client.chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content: 'go' }, ...(more as [])],
        tools: [{ type: 'function', function: { name: 'bank__pay' } }],
      })
      return choices[0]?.message
    }
    return { ask, requests }
  }

  proves(
    'ask.wire',
    'answers that a call waits, tells the next request what was decided, and lets the repeat through',
    async () => {
      const at = createAskingService([pay])
      const one = program(at, [[['c1', { amount: 900 }]], [], []])
      const id = () => at.questions('ses_1')[0]?.question_id
      expect((await one.ask())?.content).toBe(`bank__pay waits for a person, question ${id()}. It has not run.`)
      at.answer('ses_1', { decision: 'approve' })
      await one.ask()
      await one.ask()
      const said = one.requests.map(({ messages }) =>
        messages.filter(({ role }) => role === 'system').map((m) => m.content),
      )
      expect(said).toEqual([
        [],
        [`A person approved bank__pay, question ${id()}. To run it, call it again with the same arguments.`],
        [],
      ])
      const other = program(at, [[['c2', { amount: 900 }]]])
      expect((await other.ask())?.tool_calls).toHaveLength(1)
      expect(other.requests[0]?.messages[0]).toMatchObject({ role: 'system' })
      expect(at.questions('ses_1')).toMatchObject([{ state: 'used' }])
      expect(at.requests.filter(({ name }) => name === 'propose').map(({ body }) => body.runs)).not.toContain('judged')
    },
  )

  proves('ask.wire', 'finds the session of a conversation whose only calls wait by what was said of them', async () => {
    const at = createAskingService([pay])
    const learned: string[] = []
    const session = openSharedSession(
      {
        ...{ agent: 'office', sessionId: 'ses_1', apiKey: 'k', runtimeUrl: 'http://service.test', fetch: at.fetch },
        ...{ environment: 'production', diagnostics: () => {} },
      },
      (ids) => learned.push(...ids),
    )
    open.push(session)
    const turn = await session.prepare({ model: 'm', tools: ['bank__pay'] })
    await turn.propose({ calls: [{ id: 'c1', name: 'bank__pay', arguments: { amount: 900 } }] })
    const id = at.questions('ses_1')[0]?.question_id ?? ''
    expect(learned).toContain(id)
    const said = `bank__pay waits for a person, question Q-CGR7YY5AJ1ND. It has not run.`
    const request = (role: string) =>
      readModelRequest('POST', 'https://m.test/v1/chat/completions', {
        messages: [
          { role: 'user', content: 'go' },
          { role, content: said },
        ],
      })
    expect(request('assistant')).toEqual({ as: 'governed', ids: ['Q-CGR7YY5AJ1ND'] })
    // Anything can be written into a message of a user.
    expect(request('user')).toEqual({ as: 'governed', ids: [] })
  })

  proves(
    'ask.wire',
    'does not let a call through that a person changed: the program runs its own arguments',
    async () => {
      const at = createAskingService([pay])
      const one = program(at, [[['c1', { amount: 900 }]], [['c2', { amount: 900 }]]])
      await one.ask()
      // No service accepts this answer; the gateway does not rely on it.
      at.answer('ses_1', { decision: 'approve', arguments: { amount: 400 } })
      expect((await one.ask())?.tool_calls ?? []).toEqual([])
      expect(at.state('ses_1').open).toBeNull()
    },
  )
})

describe('hooks of a coding agent', () => {
  const hookOf = (session: Session, waitSeconds: number) => {
    const [hook] = claudeHooks(session, { waitSeconds, toolName: () => 'bank__pay' }).PreToolUse[0]?.hooks ?? []
    const { PostToolUse } = claudeHooks(session, { waitSeconds, toolName: () => 'bank__pay' })
    void PostToolUse
    return (id: string, amount: number) =>
      hook?.({ hook_event_name: 'PreToolUse', tool_name: 'x', tool_use_id: id, tool_input: { amount } }, id) ??
      Promise.reject(new Error('no hook'))
  }

  proves('ask.hooks', 'deny with the waiting text; the repeat passes once', async () => {
    const at = createAskingService([pay])
    const hook = hookOf(sessionOf(at), 0)
    const denied = await hook('t1', 900)
    const id = at.questions('ses_1')[0]?.question_id
    expect(denied).toMatchObject({
      hookSpecificOutput: {
        permissionDecision: 'deny',
        permissionDecisionReason: `bank__pay waits for a person, question ${id}. It has not run. Once a person has answered, make the same call again.`,
      },
    })
    at.answer('ses_1', { decision: 'approve' })
    expect(await hook('t2', 900)).toEqual({})
    expect(at.questions('ses_1')).toMatchObject([{ state: 'used' }])
  })

  proves('ask.hooks', 'wait a little for the answer', async () => {
    const at = createAskingService([pay])
    const hook = hookOf(sessionOf(at), 30)
    const passing = hook('t1', 900)
    await expect.poll(() => at.questions('ses_1').length).toBe(1)
    at.answer('ses_1', { decision: 'approve' })
    expect(await passing).toEqual({})
  })
})
