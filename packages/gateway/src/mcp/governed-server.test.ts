import { fileURLToPath } from 'node:url'
import type { JsonObject } from '@countersign/protocol'
import { openSession } from '@countersign/sdk'
import { afterEach, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createGovernedServer } from './governed-server.js'
import { createMemoryPins } from './pins/definition-pins.js'
import { createToolCalls } from './tool-calls.js'

const POLICIES = fileURLToPath(new URL('../../../../examples/mcp-policies', import.meta.url))

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

/** Several servers in one session, each with one tool. */
function connect() {
  const session = openSession({ contractsDir: POLICIES, agent: 'office', tools: {}, diagnostics: () => {} })
  closing.push(() => session.close())
  const calls = createToolCalls({ session: () => session })
  const ran: string[] = []
  const governorOf = (server: string, tool: string, result: JsonObject) => {
    const governed = createGovernedServer({ session: () => session, server, calls, pins: createMemoryPins() })
    const link = {
      async send({ method, params }: { readonly method: string; readonly params: JsonObject }) {
        if (method === 'tools/call')
          ran.push(`${server} ${params.name} ${Object.values(params.arguments as object)[0]}`)
        const found = method === 'tools/list' ? { tools: [{ name: tool, inputSchema: {} }] } : result
        return { kind: 'response', id: 1, result: found, error: null } as const
      },
    }
    return async (args: JsonObject): Promise<string> => {
      const params = { name: tool, arguments: args }
      const request = { kind: 'request', id: 1, method: 'tools/call', params } as const
      return JSON.stringify((await governed.callTool(request, link)).response.result)
    }
  }
  return {
    ran,
    read: governorOf('files', 'read', { content: [{ type: 'text', text: 'secret' }] }),
    post: governorOf('web', 'post', { content: [] }),
    find: governorOf('crm', 'find', { content: [], structuredContent: { email: 'ann@example.com' } }),
    findAsText: governorOf('crm', 'find', { content: [{ type: 'text', text: '{"email":"ann@example.com"}' }] }),
    send: governorOf('mail', 'send', { content: [] }),
  }
}

proves('mcp.policies', 'combination: what one server gave is not sent out by another', async () => {
  const { read, post, ran } = connect()
  await post({ url: 'https://intranet.example/a' })
  await read({ path: '/salaries' })
  expect(await post({ url: 'https://intranet.example/a' })).toContain('forbidden_tool')
  expect(ran).toEqual(['web post https://intranet.example/a', 'files read /salaries'])
})

proves('mcp.policies', 'arguments: a tool is allowed for some values alone', async () => {
  const { post, ran } = connect()
  expect(await post({ url: 'https://evil.example/a' })).toContain('argument_value_mismatch')
  expect(ran).toEqual([])
})

proves('mcp.policies', 'return path: what a server returned decides about a call of another', async () => {
  for (const says of ['find', 'findAsText'] as const) {
    const { [says]: find, send, ran } = connect()
    expect(await send({ to: 'mallory@evil.example' })).toContain('binding_not_found')
    await find({ name: 'Ann' })
    expect(await send({ to: 'mallory@evil.example' })).toContain('ref_mismatch')
    expect(await send({ to: 'ann@example.com' })).not.toContain('isError')
    expect(ran).toEqual(['crm find Ann', 'mail send ann@example.com'])
  }
})

proves('checkpoint.words', 'over MCP a call that needs a person has not been approved', async () => {
  const contracts = [{ tool: 'bank__pay', side_effect: 'financial' as const, checkpoint: { reason: 'every payment' } }]
  const session = openSession({ contracts, agent: 'office', diagnostics: () => {} })
  closing.push(() => session.close())
  const calls = createToolCalls({ session: () => session })
  const call = {
    name: 'bank__pay',
    arguments: {},
    offered: ['bank__pay'],
    stopped: null,
    signal: new AbortController().signal,
  }
  const run = () => Promise.reject(new Error('this must not run'))
  expect(await calls.call({ ...call, run })).toEqual({
    ran: false,
    text: '"bank__pay" was blocked (checkpoint_denied). The call needs the approval of a person, and is not approved yet.',
  })
})

test('calls of two servers side by side are one turn', async () => {
  const { read, post, ran } = connect()
  const [, posted] = await Promise.all([read({ path: '/salaries' }), post({ url: 'https://intranet.example/a' })])
  expect(posted).toContain('forbidden_tool')
  expect(ran).toEqual(['files read /salaries'])
})
