import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { readSettings } from '../../../packages/gateway/src/index.js'
import { describeService, describeSettings } from '../../../packages/gateway/src/process/describe-start.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { stdioHost } from '../../support/gateway/stdio-host.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)

const settingsWith = (flags: Record<string, string> = {}, key = runtime.key) =>
  readSettings({ env: { COUNTERSIGN_API_KEY: key }, flags, readFile: () => '{}' })

proves('gateway.start', 'the gateway says at its start what calls meet, and where requests go', async () => {
  expect(
    describeSettings(settingsWith({ upstream: 'openai=http://127.0.0.1:9', mcp: 'db=http://127.0.0.1:8' })),
  ).toEqual([
    '  mode: enforce, environment: production',
    '  upstreams: openai http://127.0.0.1:9, anthropic https://api.anthropic.com',
    '  MCP servers: db',
  ])
  expect(describeSettings(settingsWith({ environment: 'development' }))[0]).toBe(
    '  mode: shadow, environment: development',
  )
  expect(describeSettings(settingsWith({ mode: 'observe' }))[0]).toBe('  mode: observe, environment: production')

  const service = '  service: http://127.0.0.1:4319'
  const through = throughRuntime(runtime)
  expect(await describeService(settingsWith(), through)).toBe(`${service} answers and takes the API key`)
  expect(await describeService(settingsWith({}, 'csk_wrong'), through)).toContain(
    `${service} DOES NOT TAKE THE API KEY`,
  )
  const away = async () => Promise.reject(new TypeError('fetch failed'))
  expect(await describeService(settingsWith(), away)).toBe(`${service} DOES NOT ANSWER: start it, or set --api-url`)
  const other = async () => new Response('not here', { status: 404 })
  expect(await describeService(settingsWith(), other)).toContain(`${service} ANSWERS 404`)
})

test('countersign mcp runs the tools itself, and asks for no wrapper', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))
  const write = (contract: { tool: string; [key: string]: unknown }) =>
    writeFileSync(join(folder, `${contract.tool}.json`), JSON.stringify(contract))
  write({ tool: 'look', side_effect: 'read' })
  write({
    tool: 'pay',
    side_effect: 'write',
    preconditions: [{ requires_prior_tool: 'look' }],
    execution_constraints: { arguments: [{ path: '$.amount', lte: 90 }] },
  })
  const tools = ['look', 'pay'].map((name) => ({ name, inputSchema: { type: 'object' } }))
  const host = stdioHost(runtime, runtime.key, { agent: 'teller', contracts: folder }, tools)
  expect(await host.call('look', {})).toBe('{"done":"look"}')
  expect(await host.call('pay', { amount: 50 })).toBe('{"done":"pay"}')
  expect(await host.call('pay', { amount: 91 })).toContain('execution_constraint_violated')
  expect(await host.close()).toBe(0)
  expect(host.said.filter((line) => line.startsWith('replay_'))).toEqual([])
})

test('a contract that wants an execution is told what the gateway can give', async () => {
  const agent = await gateways.agentWith([{ tool: 'pay', side_effect: 'write' }])
  const gateway = await gateways.start()
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), maxRetries: 0 })
  gateways.provider.answerWith((request) =>
    JSON.stringify(request.body).includes('tool_call_id')
      ? { text: 'Done.', calls: [] }
      : { text: '', calls: [{ id: 'p1', name: 'pay', arguments: {} }] },
  )
  const tools = [{ type: 'function' as const, function: { name: 'pay', parameters: {} } }]
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'go' }]
  const { choices } = await client.chat.completions.create({ model: 'm', messages, tools })
  messages.push(choices[0]!.message, { role: 'tool', tool_call_id: 'p1', content: 'paid' })
  await client.chat.completions.create({ model: 'm', messages, tools })
  const said = gateway.log.join('\n')
  expect(said).toContain('set commit_requirement: reported in its contract')
  expect(said).not.toContain('option tools')
})
