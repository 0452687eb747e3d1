import { randomUUID } from 'node:crypto'
import type { Contract } from '@countersign/protocol'
import {
  createMcpHandler,
  type McpServer,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from '@modelcontextprotocol/server'
import { afterAll, expect, test, vi } from 'vitest'
import { readSettings, startGateway } from '../../../packages/gateway/src/index.js'
import { runExample } from '../../support/process/example.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { httpHostsOf } from './hosts.js'
import { createShop } from './shop.mjs'

const { runtime, owner, api } = await withOwnedRuntime()
const { body: made } = await owner.call('createKey', { body: { name: 'gateway' } })
const apiKey = made.api_key
const contractsOf = (server: string): Contract[] => [
  ...['look', 'fail', 'slow', 'ask', 'link'].map(
    (tool): Contract => ({ tool: `${server}__${tool}`, side_effect: 'read' }),
  ),
  {
    tool: `${server}__pay`,
    side_effect: 'write',
    commit_requirement: 'executed',
    argument_value_invariants: [{ path: '$.amount', lte: 100 }],
  },
  { tool: `${server}__wipe`, side_effect: 'destructive', preconditions: [{ requires_prior_tool: `${server}__pay` }] },
]
await approve('shopper', [...contractsOf('shop'), ...contractsOf('till')])

const ran: string[] = []
const changes: (() => void)[] = []
const shop = (): McpServer =>
  createShop(
    (line: string) => void ran.push(line),
    (change: () => void) => void changes.push(change),
  )

/** Both eras without sessions, as the official handler serves them, and 2025 with sessions. */
const handler = createMcpHandler(shop)
const transports = new Map<string, SessionTransport>()
const seen: Headers[] = []

async function withSessions(request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id')
  const known = id === null ? undefined : transports.get(id)
  if (known !== undefined) return known.handleRequest(request)
  if (id !== null)
    return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'gone' } }, { status: 404 })
  const transport = new SessionTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (made) => void transports.set(made, transport),
  })
  await shop().connect(transport)
  return transport.handleRequest(request)
}

const upstream: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  if (request.url.includes('/api/v1/')) return runtime.fetch(request)
  if (request.method === 'POST') seen.push(request.headers)
  return request.url.endsWith('/sessions') ? withSessions(request) : handler.fetch(request)
}

const log: string[] = []
const settings = readSettings({
  env: { COUNTERSIGN_API_KEY: apiKey },
  flags: { port: '0', config: 'gateway.json' },
  readFile: () =>
    JSON.stringify({
      mcpServers: {
        shop: { url: 'http://shop.test/mcp', headers: { authorization: 'Bearer of-the-shop' } },
        till: 'http://shop.test/sessions',
      },
    }),
})
const gateway = await startGateway(settings, { log: (line) => log.push(line), fetch: upstream })
afterAll(async () => {
  await gateway.close()
  await handler.close()
})

/** Zero configuration: the gateway looks up the plan that was approved for the agent. */
async function approve(agent: string, contracts: Contract[]): Promise<void> {
  const files = contracts.map((contract) => ({
    file: `contracts/${contract.tool}.yaml`,
    text: JSON.stringify(contract),
  }))
  const { body } = await api.submitPlan({ body: { agent, environment: 'production', files } })
  const params = { plan_id: body.plan.plan_id }
  const approved = await owner.call('approvePlan', { params, body: { why: 'as it should be' } })
  expect(approved.body.plan.state).toBe('approved')
}

const addressOf = (server: string) => new URL(`${gateway.url}/shopper/mcp/${server}`)
const withKey = (more: Record<string, string> = {}) => ({ authorization: `Bearer ${apiKey}`, ...more })
const hosts = await httpHostsOf(addressOf, withKey)
afterAll(async () => {
  await Promise.all(hosts.map(({ client }) => client.close()))
})

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, { interval: 20, timeout: 30_000 })

for (const host of hosts) {
  proves('mcp.http', `${host.name}: calls are judged and run, and everything else passes`, async () => {
    const { client, isModern, hasSession } = host
    const call = (name: string, args = {}) => client.callTool({ name, arguments: args })
    const shown = async () => (await client.listTools()).tools.map(({ name }) => name)
    ran.length = 0
    const all = ['look', 'pay', 'fail', 'slow', 'ask', 'link', 'wipe']
    if (hasSession) expect(await shown()).toEqual(all.slice(0, -1))
    expect(await call('pay', { amount: 500 })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('argument_value_mismatch') }],
    })
    if (hasSession) expect(JSON.stringify(await call('wipe'))).toContain('precondition_not_met')
    expect(JSON.stringify(await call('unheard_of'))).toContain('unmatched_tool_blocked')
    expect(await call('mcp__shop__pay', { amount: 5 })).toMatchObject({ structuredContent: { paid: 5 } })
    if (hasSession) await soon(() => expect(host.changes()).toBe(1))
    expect(await shown()).toEqual(all)
    expect(await call('fail')).toMatchObject({ isError: true, content: [{ text: 'out of paper' }] })
    if (isModern || hasSession) expect(await call('ask')).toMatchObject({ content: [{ text: 'size xl' }] })
    // A server without sessions cannot be told which call is meant.
    if (isModern || hasSession) await expect(host.leave('slow')).rejects.toThrow(/abort/i)
    expect(await call('look')).toMatchObject({ content: [{ text: '{"order":7}' }] })
    if (isModern || hasSession) await soon(() => expect(ran).toContain('slow cancelled'))
    expect(ran.filter((line) => !/ask|slow/.test(line))).toEqual(['pay 5', 'fail', 'look'])
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'shop://orders' }])
    expect(await client.getPrompt({ name: 'greet', arguments: { who: 'ann' } })).toMatchObject({
      messages: [{ content: { text: 'Greet ann' } }],
    })
    expect(await host.request('acme/unheard-of')).toMatchObject({ unknown: 'acme/unheard-of' })
  })
}

proves('mcp.http-bad-input', 'what is not in order is refused, and nothing reaches the server', async () => {
  const before = seen.length
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wipe', arguments: {} } }
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const send = async (body: string, headers: Record<string, string>, path = '/shopper/mcp/shop', method = 'POST') => {
    const response = await fetch(`${gateway.url}${path}`, { method, body: method === 'GET' ? null : body, headers })
    return [response.status, await response.text()] as const
  }
  const text = JSON.stringify(message)
  for (const [given, status] of [
    [send(text, json), 401],
    [send(text, { ...json, authorization: 'Bearer of-the-shop' }), 401],
    [send(text, { ...json, authorization: `Basic ${apiKey}` }), 401],
    [send(text, { ...json, 'x-api-key': apiKey }), 401],
    [send(text, withKey({ 'content-type': 'text/plain' })), 415],
    [send('{', withKey(json)), 400],
    [send(`[${text}]`, withKey(json)), 400],
    [send(text, withKey({ ...json, 'mcp-method': 'ping' })), 400],
    [send(text, withKey({ ...json, 'x-countersign-session': '../other' })), 400],
    [send(text.replace('tools/call', 'TOOLS/call'), withKey(json)), 400],
    [send(text, withKey({ ...json, origin: 'https://evil.example' })), 403],
    [send(text, withKey(json), '/shopper/mcp/other'), 404],
    [send(text, withKey(json), '/shopper/mcp'), 404],
    [send(text, withKey(json), '/shopper/mcp/shop/extra'), 404],
    [send(text, withKey(json), '/shopper/mcp/shop', 'PUT'), 405],
  ] as const) {
    const [is, body] = await given
    expect([is, body]).toEqual([status, expect.stringMatching(/message/)])
    expect(body).not.toContain(apiKey)
  }
  expect(seen.length).toBe(before)
  expect(ran).not.toContain('wipe')
})

proves('mcp.http', 'the server sees its own credential, and nothing of the host', async () => {
  expect(seen.length).toBeGreaterThan(0)
  for (const headers of seen) {
    expect([null, 'Bearer of-the-shop']).toContain(headers.get('authorization'))
    expect([...headers.keys()].filter((name) => name.startsWith('x-countersign'))).toEqual([])
  }
  expect(log.join('\n')).not.toContain(apiKey)
  expect(log.join('\n')).not.toContain('of-the-shop')
})

test('a tool whose definition changes is hidden and blocked', async () => {
  const [host] = hosts.filter(({ hasSession }) => hasSession)
  if (host === undefined) throw new Error('there is no host with a session')
  for (const change of changes) change()
  await soon(async () => expect((await host.client.listTools()).tools.map(({ name }) => name)).not.toContain('pay'))
  expect(JSON.stringify(await host.client.callTool({ name: 'pay', arguments: { amount: 1 } }))).toContain(
    'definition_changed',
  )
})

proves(
  ['gateway.matched', 'gateway.one-session'],
  'example frameworks/gateway: a model and MCP tools through one gateway, with no SDK in the agent',
  async () => {
    const { email, password } = owner
    const apiUrl = await runtime.instances[0].listen()
    const said = await runExample('frameworks/gateway/main.ts', { apiUrl, apiKey, email, password })
    expect(said.split('\n')).toEqual([
      'proposed shop__find_order: allow ',
      'receipt: succeeded, executed',
      'proposed shop__issue_refund: block envelope_violation',
      'proposed shop__issue_refund: allow ',
      'receipt: succeeded, executed',
      'refunded: 40',
      '',
    ])
  },
)
