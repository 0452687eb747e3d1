import { createHash } from 'node:crypto'
import OpenAI from 'openai'
import { beforeEach, expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { plainHost, plainMcpServer } from '../../support/gateway/mcp-server.js'
import { stdioHost } from '../../support/gateway/stdio-host.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways
const shop = plainMcpServer(['look', 'pay', 'wipe'])
const through = throughRuntime(runtime)
const send: typeof fetch = (input, init) =>
  String(input).startsWith(shop.url) ? shop.fetch(input, init) : through(input, init)
const agent = await gateways.agentWith([
  { tool: 'shop__look', side_effect: 'read' },
  {
    tool: 'shop__pay',
    side_effect: 'write',
    commit_requirement: 'executed',
    argument_value_invariants: [{ path: '$.amount', lte: 100 }],
  },
  { tool: 'shop__wipe', side_effect: 'destructive', preconditions: [{ requires_prior_tool: 'shop__pay' }] },
  { tool: 'mcp__shop__look', side_effect: 'read' },
  { tool: 'note', side_effect: 'write' },
])
const flags = { mcp: `shop=${shop.url}` }
const open = await gateways.start(flags, { fetch: send })
const strict = await gateways.start({ ...flags, 'require-proposal': 'true' }, { fetch: send })
const by = { agent, key: runtime.key }
beforeEach(() => {
  shop.ran.length = 0
})

const NAMES = ['shop__look', 'shop__pay', 'shop__wipe', 'mcp__shop__look', 'note']
const tools = NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }))
type Chat = OpenAI.ChatCompletionMessageParam

/** The model answers with these calls, in a session. */
async function propose(
  gateway: typeof open,
  sessionId: string,
  calls: readonly { id: string; name: string; arguments: object }[],
  history: Chat[] = [{ role: 'user', content: 'go' }],
) {
  provider.enqueue({ calls: [...calls] })
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), maxRetries: 0 })
  const headers = { 'x-countersign-session': sessionId }
  const { choices } = await client.chat.completions.create({ model: 'm', messages: history, tools }, { headers })
  return choices[0]!.message
}
const linesOf = async (sessionId: string) =>
  ledgerLines((await exportOf(api, sessionId)).events).map((line) => line.replace(/mcp_[0-9a-f-]{36}/, 'own'))

proves(
  'gateway.matched',
  'other arguments, the same call again, and a blocked call are not what was allowed',
  async () => {
    const id = 'ses_matched'
    const call = plainHost(strict, by)
    await propose(strict, id, [
      { id: 'c1', name: 'shop__pay', arguments: { amount: 5, to: 'ann' } },
      { id: 'c2', name: 'shop__pay', arguments: { amount: 500 } },
    ])
    expect(await call('pay', { amount: 6, to: 'ann' }, id)).toContain('have no outcome yet')
    // The blocked call: what was decided about it holds, and nothing is judged again.
    expect(await call('pay', { amount: 500 }, id)).toContain('argument_value_mismatch')
    // Canonical arguments: the order of the keys says nothing.
    expect(await call('pay', { to: 'ann', amount: 5 }, id)).toBe('{"done":"pay"}')
    expect(await call('pay', { amount: 5, to: 'ann' }, id)).toContain('no model has proposed this call')
    expect(shop.ran).toEqual(['pay {"amount":5,"to":"ann"}'])
    expect(await linesOf(id)).toEqual([
      'proposed c1 shop__pay allow',
      'proposed c2 shop__pay block argument_value_mismatch',
      'receipt c1 succeeded executed',
      'proposed own shop__pay allow',
      'receipt own not_executed reported',
    ])
    const { events } = await exportOf(api, id)
    expect(JSON.stringify(events.at(-1)?.body)).toContain('execution_constraint_violated')
  },
)

proves('gateway.require-proposal', 'without a proposal a call is judged by itself, or not run at all', async () => {
  expect(await plainHost(open, by)('look', {}, 'ses_alone')).toBe('{"done":"look"}')
  expect(await linesOf('ses_alone')).toEqual(['proposed own shop__look allow', 'receipt own succeeded executed'])
  expect(await plainHost(strict, by)('look', {}, 'ses_strict')).toContain('no model has proposed this call')
  expect(await plainHost(strict, by)('mcp__shop__look', {}, 'ses_strict')).toContain('no model has proposed this call')
  expect(shop.ran).toEqual(['look {}'])
  const watching = await gateways.start({ ...flags, 'require-proposal': 'true', mode: 'observe' }, { fetch: send })
  expect(await plainHost(watching, by)('look', {}, 'ses_watched')).toBe('{"done":"look"}')
})

proves(
  ['gateway.matched', 'gateway.one-session'],
  'a host prefix is taken off, equal calls are two, and the wire goes on where MCP has been',
  async () => {
    const id = 'ses_both'
    const call = plainHost(strict, by)
    const history: Chat[] = [{ role: 'user', content: 'go' }]
    const first = await propose(strict, id, [
      { id: 'c1', name: 'shop__pay', arguments: { amount: 5 } },
      { id: 'c2', name: 'shop__pay', arguments: { amount: 5 } },
      { id: 'c3', name: 'mcp__shop__look', arguments: {} },
      { id: 'c4', name: 'note', arguments: {} },
    ])
    const results = await Promise.all([
      call('pay', { amount: 5 }, id),
      call('pay', { amount: 5 }, id),
      call('look', {}, id),
    ])
    expect(results).toEqual(['{"done":"pay"}', '{"done":"pay"}', '{"done":"look"}'])
    history.push(first)
    for (const one of ['c1', 'c2', 'c3', 'c4']) history.push({ role: 'tool', tool_call_id: one, content: '{}' })
    await propose(strict, id, [{ id: 'c5', name: 'shop__wipe', arguments: {} }], history)
    expect(await call('wipe', {}, id)).toBe('{"done":"wipe"}')
    expect((await linesOf(id)).sort()).toEqual([
      'proposed c1 shop__pay allow',
      'proposed c2 shop__pay allow',
      'proposed c3 mcp__shop__look allow',
      'proposed c4 note allow',
      'proposed c5 shop__wipe allow',
      'receipt c1 succeeded executed',
      'receipt c2 succeeded executed',
      'receipt c3 succeeded executed',
      // What the program ran itself stands in the next request.
      'receipt c4 succeeded reported',
      'receipt c5 succeeded executed',
    ])
  },
)

proves(
  ['gateway.claimed', 'gateway.one-session'],
  'a call that a model proposed through one gateway runs through another, once, and no other call does',
  async () => {
    const id = 'ses_apart'
    const [here, there] = [plainHost(open, by), plainHost(strict, by)]
    const history: Chat[] = [{ role: 'user', content: 'go' }]
    history.push(
      await propose(open, id, [
        { id: 'c1', name: 'mcp__shop__look', arguments: {} },
        { id: 'c2', name: 'shop__pay', arguments: { amount: 5, to: 'ann' } },
        { id: 'c3', name: 'shop__pay', arguments: { amount: 500 } },
      ]),
    )
    // Other arguments, and a call that was blocked.
    expect(await there('pay', { amount: 6, to: 'ann' }, id)).toContain('have no outcome yet')
    expect(await there('pay', { amount: 500 }, id)).toContain('have no outcome yet')
    expect(shop.ran).toEqual([])
    expect(await there('pay', { to: 'ann', amount: 5 }, id)).toBe('{"done":"pay"}')
    expect(await there('look', {}, id)).toBe('{"done":"look"}')
    // The gateway that judged it hears that it has run.
    expect(await here('pay', { amount: 5, to: 'ann' }, id)).toContain('it has an outcome already')
    expect(await there('pay', { amount: 5, to: 'ann' }, id)).toContain('no model has proposed this call')
    // There is nothing to wait for any more, although this gateway knew of a call that had not run here.
    expect(await here('wipe', {}, id)).toBe('{"done":"wipe"}')
    for (const one of ['c1', 'c2', 'c3']) history.push({ role: 'tool', tool_call_id: one, content: '{}' })
    await propose(open, id, [{ id: 'c4', name: 'note', arguments: {} }], history)
    expect(shop.ran).toEqual(['pay {"to":"ann","amount":5}', 'look {}', 'wipe {}'])
    expect(await linesOf(id)).toEqual([
      'proposed c1 mcp__shop__look allow',
      'proposed c2 shop__pay allow',
      'proposed c3 shop__pay block argument_value_mismatch',
      'receipt c2 succeeded executed',
      'receipt c1 succeeded executed',
      'proposed own shop__pay allow',
      'receipt own not_executed reported',
      'proposed own shop__wipe allow',
      'receipt own succeeded executed',
      'proposed c4 note allow',
    ])
  },
)

proves(
  ['mcp.require-proposal', 'gateway.claimed'],
  'countersign mcp runs what a model proposed through a gateway, in the named session and in no other',
  async () => {
    const id = 'ses_stdio'
    const flags = { agent, server: 'shop', 'require-proposal': true }
    const host = stdioHost(runtime, runtime.key, { ...flags, session: id }, shop.tools)
    const other = stdioHost(runtime, runtime.key, { ...flags, session: 'ses_stdio_other' }, shop.tools)
    expect(await host.call('look', {})).toContain('no model has proposed this call')
    await propose(open, id, [{ id: 'c1', name: 'shop__pay', arguments: { amount: 5 } }])
    expect(await other.call('pay', { amount: 5 })).toContain('no model has proposed this call')
    expect(await host.call('pay', { amount: 6 })).toContain('have no outcome yet')
    expect(await host.call('pay', { amount: 5 })).toBe('{"done":"pay"}')
    expect(await host.call('pay', { amount: 5 })).toContain('no model has proposed this call')
    expect([await host.close(), await other.close()]).toEqual([0, 0])
    expect((await linesOf(id)).filter((line) => line.includes('c1'))).toEqual([
      'proposed c1 shop__pay allow',
      'receipt c1 succeeded executed',
    ])
    // Others go on with it.
    expect(await activityOf(id)).toBe('running')

    const without = (given: object) => stdioHost(runtime, runtime.key, { ...flags, ...given }, shop.tools)
    const refused = [without({}), without({ session: id, contracts: 'contracts' })]
    refused.push(stdioHost(runtime, '', { ...flags, session: id }, shop.tools))
    for (const { close } of refused) await expect(close()).rejects.toThrow('--require-proposal')
  },
)

proves('gateway.claimed', "another tenant's, an ended and a killed session give nothing to claim", async () => {
  const stranger = await runtime.createTenant()
  const theirs = await gateways.start(flags, { fetch: send, key: stranger.key })
  await propose(open, 'ses_ours', [{ id: 'c1', name: 'shop__look', arguments: {} }])
  const foreign = plainHost(theirs, { agent, key: stranger.key })
  expect(await foreign('look', {}, 'ses_ours')).not.toContain('done')
  for (const stop of ['ended', 'killed'] as const) {
    const id = `ses_${stop}`
    await propose(open, id, [{ id: 'c1', name: 'shop__look', arguments: {} }])
    const params = { session_id: id }
    if (stop === 'ended') await api.endSession({ params, body: { fence: 1 } })
    else await api.killSession({ params, body: {} })
    for (const gateway of [strict, open]) {
      expect(await plainHost(gateway, by)('look', {}, id)).toMatch(stop === 'ended' ? /not open|ended/ : /killed/)
    }
  }
  expect(shop.ran).toEqual([])
})

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

/** A host that has only its MCP session to be known by. */
const mcpHost = (gateway: typeof open, mcpSession: string) => {
  const headers = { authorization: `Bearer ${runtime.key}`, 'mcp-session-id': mcpSession }
  const url = `${gateway.url}/${agent}/mcp/shop`
  return {
    id: `ses_mcp_${createHash('sha256').update([agent, 'shop', mcpSession].join('\n')).digest('hex').slice(0, 32)}`,
    call: plainHost(gateway, { ...by, headers }),
    list: () => fetch(url, { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: LIST }),
    end: async (more = {}) => (await fetch(url, { method: 'DELETE', headers: { ...headers, ...more } })).status,
  }
}
const activityOf = async (sessionId: string) =>
  (await api.loadSession({ params: { session_id: sessionId } })).body.session.activity

proves('gateway.session.ends', 'what a host opened ends with it, and what others use goes on', async () => {
  const host = mcpHost(open, 'one')
  expect(await host.call('look', {}, null)).toBe('{"done":"look"}')
  shop.deleted = 405
  expect(await host.end()).toBe(405)
  expect(await host.call('look', {}, null)).toBe('{"done":"look"}')
  expect(await activityOf(host.id)).toBe('running')
  shop.deleted = 200
  expect(await host.end()).toBe(200)
  await expect.poll(() => activityOf(host.id)).toBe('ended')

  // A model is asked in this one, and another host has named that one.
  const [asked, shared] = [mcpHost(open, 'two'), mcpHost(open, 'three')]
  await asked.call('look', {}, null)
  await propose(open, asked.id, [])
  await shared.call('look', {}, null)
  await plainHost(open, by)('look', {}, shared.id)
  await plainHost(open, by)('look', {}, 'ses_alone_too')
  expect([await asked.end(), await shared.end(), await host.end({ 'x-countersign-session': 'ses_alone_too' })]).toEqual(
    [200, 200, 200],
  )
  await shared.call('look', {}, null)
  const all = [asked.id, shared.id, 'ses_alone_too']
  expect(await Promise.all(all.map(activityOf))).toEqual(['running', 'running', 'running'])
})

proves('gateway.session.ends', 'a call that is still running does not open the ended session again', async () => {
  const asked: string[] = []
  const counting = await gateways.start(flags, {
    fetch: (input, init) => {
      if (String(input).includes('/api/v1/')) asked.push(`${new URL(String(input)).pathname} ${init?.body ?? ''}`)
      return send(input, init)
    },
  })
  const host = mcpHost(counting, 'four')
  // The host is to be told what its list becomes, once the call is done.
  await host.list()
  let finish = (): void => {}
  shop.answer = () =>
    new Promise((done) => {
      finish = () => done(null)
    })
  const [paying, waiting] = [host.call('pay', { amount: 1 }, null), host.call('wipe', {}, null)]
  await expect.poll(() => shop.ran).toEqual(['pay {"amount":1}'])
  expect(await host.end()).toBe(200)
  finish()
  expect(await paying).toBe('{"done":"pay"}')
  expect(await waiting).not.toContain('done')
  await expect.poll(() => activityOf(host.id)).toBe('ended')
  shop.answer = null
  expect(shop.ran).toEqual(['pay {"amount":1}'])
  expect(asked.filter((request) => request.startsWith('/api/v1/replay/sessions {'))).toHaveLength(1)
})

proves('gateway.session.unknown', 'two gateways on one MCP session', async () => {
  const other = await gateways.start(flags, { fetch: send })
  const [first, second] = [mcpHost(open, 'both'), mcpHost(other, 'both')]
  let finish = (): void => {}
  shop.answer = (name) =>
    name === 'look'
      ? null
      : new Promise((done) => {
          finish = () => done(null)
        })
  const paying = first.call('pay', { amount: 1 }, null)
  await expect.poll(() => shop.ran).toEqual(['pay {"amount":1}'])
  expect(await second.call('look', {}, null)).toBe('{"done":"look"}')
  finish()
  expect(await paying).toBe('{"done":"pay"}')
  shop.answer = null
  // It may have run, so that nothing opens that needs it to have succeeded.
  expect(await second.call('wipe', {}, null)).toContain('precondition_not_met')
  expect(await first.call('wipe', {}, null)).toContain('precondition_not_met')
  expect((await linesOf(first.id)).slice(0, 4)).toEqual([
    'proposed own shop__pay allow',
    'receipt own unknown reported',
    'proposed own shop__look allow',
    'receipt own succeeded executed',
  ])
})

proves('gateway.matched', 'a call that was judged under the name of a client is not one of the tool', async () => {
  const permissive = await gateways.agentWith([
    { tool: 'shop__pay', side_effect: 'write', argument_value_invariants: [{ path: '$.amount', lte: 100 }] },
  ])
  const allowing = { ...flags, 'require-proposal': 'true', 'unmatched-policy': 'allow' }
  const gateway = await gateways.start(allowing, { fetch: send })
  const id = 'ses_prefixed'
  provider.enqueue({ calls: [{ id: 'c1', name: 'mcp__shop__pay', arguments: { amount: 900 } }] })
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(permissive), maxRetries: 0 })
  const offered = [{ type: 'function' as const, function: { name: 'mcp__shop__pay', parameters: {} } }]
  await client.chat.completions.create(
    { model: 'm', messages: [{ role: 'user', content: 'go' }], tools: offered },
    { headers: { 'x-countersign-session': id } },
  )
  expect(await plainHost(gateway, { agent: permissive, key: runtime.key })('pay', { amount: 900 }, id)).not.toContain(
    'done',
  )
  expect(shop.ran).toEqual([])
})
