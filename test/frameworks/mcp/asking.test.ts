import type { Contract } from '@countersign/protocol'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { afterAll, expect } from 'vitest'
import { readSettings, startGateway } from '../../../packages/gateway/src/index.js'
import { answerAs } from '../../support/people/answering.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { createShop } from './shop.mjs'

/** The official client in both versions of the protocol, two gateways, the service and a person. */
const { runtime, owner, key, api } = await withOwnedRuntime()

const pay: Contract = {
  tool: 'shop__pay',
  side_effect: 'write',
  commit_requirement: 'executed',
  checkpoint: { when: [{ path: '$.amount', gt: 100 }], reason: 'large payment', ask: {} },
}
const { body } = await api.submitPlan({
  body: {
    ...{ agent: 'shopper', environment: 'production' },
    files: [{ file: 'contracts/pay.yaml', text: JSON.stringify(pay) }],
  },
})
await owner.call('approvePlan', { params: { plan_id: body.plan.plan_id }, body: { why: 'as it should be' } })

const ran: string[] = []
const handler = createMcpHandler(() => createShop((line: string) => void ran.push(line)))
const upstream: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  return request.url.includes('/api/v1/') ? runtime.fetch(request) : handler.fetch(request)
}
const gateways = await Promise.all(
  ['one', 'two'].map(() =>
    startGateway(
      readSettings({
        env: { COUNTERSIGN_API_KEY: key },
        flags: { port: '0', config: 'gateway.json' },
        readFile: () => JSON.stringify({ mcpServers: { shop: 'http://shop.test/mcp' } }),
      }),
      { log: () => {}, fetch: upstream },
    ),
  ),
)
const clients: Client[] = []
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await Promise.all(gateways.map((gateway) => gateway.close()))
  await handler.close()
})

const opened: string[] = []

/** A host in front of a gateway. One that opens pages answers `accept` by itself. */
async function host(gateway: number, session: string, { isModern = true, opensPages = true } = {}) {
  const elicitation: Record<string, Record<string, never>> = opensPages ? { url: {} } : {}
  const capabilities = { elicitation }
  const mode = isModern ? ({ pin: '2026-07-28' } as const) : ('legacy' as const)
  const client = new Client({ name: 'host', version: '1' }, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    opened.push((params as { url?: string }).url ?? 'a form')
    return { action: 'accept' }
  })
  const headers = { authorization: `Bearer ${key}`, 'x-countersign-session': session }
  const url = new URL(`${gateways[gateway]?.url}/shopper/mcp/shop`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  clients.push(client)
  return async (amount: number) => JSON.stringify(await client.callTool({ name: 'pay', arguments: { amount } }))
}

const questionIn = (text: string): string => /Q-[0-9A-Z]{12}/.exec(text)?.[0] ?? 'none'

for (const isModern of [true, false]) {
  const era = isModern ? '2026-07-28' : '2025'
  proves('ask.mcp', `${era}: a host reads that its call waits, and another gateway runs the repeat once`, async () => {
    ran.length = 0
    const session = `ses-asking-${era}`
    const one = await host(0, session, { isModern, opensPages: false })
    const waits = await one(900)
    expect(waits).toContain('waits for a person, question Q-')
    expect(await one(900)).toContain(questionIn(waits))
    expect(await answerAs(owner, questionIn(waits), { decision: 'approve' })).toBe(200)
    const two = await host(1, session, { isModern, opensPages: false })
    expect(await two(900)).toContain('"paid":900')
    expect(await two(900)).toContain('waits for a person')
    expect(ran).toEqual(['pay 900'])
  })
}

proves(
  'ask.mcp-confirm',
  'a host that opens pages shows the page of the question; its own accept decides nothing',
  async () => {
    ran.length = 0
    opened.length = 0
    const call = await host(0, 'ses-confirming')
    const waits = await call(900)
    expect(waits).toContain('waits for a person')
    expect(opened).toEqual([expect.stringContaining(`/questions/${questionIn(waits)}`)])
    expect(ran).toEqual([])
    await answerAs(owner, questionIn(waits), { decision: 'approve' })
    expect(await call(900)).toContain('"paid":900')
    expect(ran).toEqual(['pay 900'])
  },
)
