import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import OpenAI from 'openai'
import { afterAll, expect, vi } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { root } from '../../support/files/tracked-files.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { plainHost, plainMcpServer } from '../../support/gateway/mcp-server.js'
import { buildOnce } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

buildOnce()
const { runtime, api } = await withRuntime()
const apiUrl = await runtime.instances[0].listen()
const gateways = await withGateways(runtime)
const { provider } = gateways
const agent = await gateways.agentWith([
  { tool: 'shop__pay', side_effect: 'write' },
  { tool: 'shop__hang', side_effect: 'write' },
])
const shop = plainMcpServer(['pay'])
const through = throughRuntime(runtime)
const flags = { mcp: `shop=${shop.url}` }
/** A gateway whose claims go another way. */
const gatewayWith = (claims: typeof fetch) =>
  gateways.start(flags, {
    fetch: (input, init) => {
      if (String(input).startsWith(shop.url)) return shop.fetch(input, init)
      return String(input).endsWith('/claims') ? claims(input, init) : through(input, init)
    },
  })
const gateway = await gatewayWith(through)
const call = (at: typeof gateway) => plainHost(at, { agent, key: runtime.key })

const folder = mkdtempSync(join(tmpdir(), 'countersign-claims-'))
const hosts: ChildProcess[] = []
afterAll(() => {
  for (const host of hosts) host.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

const tools = ['pay', 'hang'].map((name) => ({
  type: 'function' as const,
  function: { name: `shop__${name}`, parameters: {} },
}))
// The request says what the model answers: no test depends on what another left of a script.
provider.answerWith(({ body }) => {
  const [said] = (body?.messages ?? []) as { content: string }[]
  return { calls: JSON.parse(said?.content ?? '[]') }
})
async function propose(sessionId: string, calls: { id: string; name: string; arguments: object }[]) {
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: JSON.stringify(calls) }]
  const headers = { 'x-countersign-session': sessionId }
  await client.chat.completions.create({ model: 'm', messages, tools }, { headers })
}
/** Which calls with these amounts the shop has run. */
const ranWith = (...amounts: number[]) =>
  shop.ran.filter((ran) => amounts.some((amount) => ran === `pay {"amount":${amount}}`))
const linesOf = async (sessionId: string) => ledgerLines((await exportOf(api, sessionId)).events)

/** Writes down each call before it answers; `hang` is never answered. */
const SERVER = `
  const { appendFileSync } = require('fs')
  const tools = ['pay', 'hang'].map((name) => ({ name, description: 'does ' + name, inputSchema: { type: 'object' } }))
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'tools/call') appendFileSync(process.env.RAN, params.name + ' ' + JSON.stringify(params.arguments) + '\\n')
    const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'done' }] }
    if (id !== undefined && params?.name !== 'hang') console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`

/** A process of its own, as a host starts it. */
function startHost(sessionId: string) {
  const child = spawn(
    process.execPath,
    [
      ...[join(root, 'packages/cli/bin/countersign.js'), 'mcp', '--agent', agent, '--server', 'shop'],
      ...['--session', sessionId, '--require-proposal', '--', process.execPath, '-e', SERVER],
    ],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: process.env.PATH ?? '',
        COUNTERSIGN_API_KEY: runtime.key,
        COUNTERSIGN_API_URL: apiUrl,
        RAN: join(folder, sessionId),
      },
    },
  )
  hosts.push(child)
  const waiting = new Map<number, (text: string) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line)
    waiting.get(id)?.(result?.content?.[0]?.text ?? error?.message ?? '')
  })
  let next = 0
  return {
    kill: () => child.kill('SIGKILL'),
    call: (name: string, args: object) =>
      new Promise<string>((resolve) => {
        waiting.set(++next, resolve)
        const params = { name, arguments: args }
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: next, method: 'tools/call', params })}\n`)
      }),
  }
}
const ranIn = (sessionId: string) => readFileSync(join(folder, sessionId), 'utf8').trim().split('\n').sort()

proves(
  'gateway.claimed',
  'two processes race for the calls of one answer: each runs in one of them, also the one that dies with its process',
  async () => {
    const id = 'ses_race'
    const amounts = Array.from({ length: 6 }, (_, at) => ({ amount: at }))
    await propose(id, [
      ...amounts.map((args, at) => ({ id: `c${at}`, name: 'shop__pay', arguments: args })),
      { id: 'last', name: 'shop__hang', arguments: {} },
    ])
    const [first, second] = [startHost(id), startHost(id)]
    const results = await Promise.all(
      amounts.map((args) => Promise.all([first.call('pay', args), second.call('pay', args)])),
    )
    for (const texts of results) expect(texts.filter((text) => text === 'done')).toHaveLength(1)
    void first.call('hang', {})
    const ran = ['hang {}', ...amounts.map((args) => `pay ${JSON.stringify(args)}`)].sort()
    await vi.waitFor(() => expect(ranIn(id)).toEqual(ran), { interval: 20, timeout: 60_000 })
    first.kill()
    expect(await second.call('hang', {})).toContain('have no outcome yet')
    expect(await second.call('pay', { amount: 3 })).toContain('have no outcome yet')
    // The conversation goes on without a result of the call that is in doubt.
    await propose(id, [])
    expect(ranIn(id)).toEqual(ran)
    expect((await linesOf(id)).filter((line) => line.startsWith('receipt')).sort()).toEqual(
      [...amounts.map((_, at) => `receipt c${at} succeeded executed`), 'receipt last unknown reported'].sort(),
    )
  },
)

proves('gateway.claimed', 'killed between claim and run: nobody runs the call', async () => {
  const id = 'ses_claimed_only'
  let wake = (): void => {}
  const sleeping = vi.fn(() => new Promise<void>((resolve) => (wake = resolve)))
  const dying = await gatewayWith(async (input, init) => {
    const reply = await through(input, init)
    if (sleeping.mock.calls.length === 0) await sleeping()
    return reply
  })
  await propose(id, [{ id: 'c1', name: 'shop__pay', arguments: { amount: 21 } }])
  const late = call(dying)('pay', { amount: 21 }, id)
  await vi.waitFor(() => expect(sleeping).toHaveBeenCalled(), { interval: 5, timeout: 60_000 })
  // The gateway that judged it, and one that never heard of it.
  expect(await call(gateway)('pay', { amount: 21 }, id)).toContain('is not open')
  expect(await call(await gatewayWith(through))('pay', { amount: 21 }, id)).toContain('have no outcome yet')
  await propose(id, [])
  expect(ranWith(21)).toEqual([])
  expect(await linesOf(id)).toEqual(['proposed c1 shop__pay allow', 'receipt c1 unknown reported'])
  // It was only paused: the call counts as one that may have run, and now it has, once.
  wake()
  expect(await late).toBe('{"done":"pay"}')
  expect(ranWith(21)).toHaveLength(1)
})

proves(
  'guarantee.processes.fresh-word',
  'killed while the answer to a claim was on its way: it does not run',
  async () => {
    const id = 'ses_stale_claim'
    let clockMs = 0
    const slow = await gatewayWith(async (input, init) => {
      const reply = await through(input, init)
      await api.killSession({ params: { session_id: id }, body: {} })
      clockMs = 5_001
      return reply
    })
    await propose(id, [{ id: 'c1', name: 'shop__pay', arguments: { amount: 31 } }])
    const real = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + clockMs)
    try {
      expect(await call(slow)('pay', { amount: 31 }, id)).toContain('killed')
    } finally {
      clock.mockRestore()
    }
    expect(ranWith(31)).toEqual([])
    expect(await linesOf(id)).toEqual(['proposed c1 shop__pay allow', 'killed', 'receipt c1 not_executed reported'])
  },
)

proves('gateway.claimed', 'a lost answer to a claim costs nothing, and without the service nothing runs', async () => {
  const id = 'ses_lost_claim'
  let fault: 'lost' | 'away' | null = 'lost'
  const flaky = await gatewayWith(async (input, init) => {
    const reply = fault === 'away' ? null : await through(input, init)
    if (fault === 'lost') fault = null
    else if (reply !== null) return reply
    throw new TypeError('fetch failed')
  })
  await propose(id, [
    { id: 'c1', name: 'shop__pay', arguments: { amount: 41 } },
    { id: 'c2', name: 'shop__pay', arguments: { amount: 42 } },
  ])
  expect(await call(flaky)('pay', { amount: 41 }, id)).toBe('{"done":"pay"}')
  fault = 'away'
  expect(await call(flaky)('pay', { amount: 42 }, id)).toContain('shop__pay did not run: ')
  expect(ranWith(41, 42)).toEqual(['pay {"amount":41}'])
  fault = null
  expect(await call(flaky)('pay', { amount: 42 }, id)).toBe('{"done":"pay"}')
  expect(ranWith(41, 42)).toEqual(['pay {"amount":41}', 'pay {"amount":42}'])
})
