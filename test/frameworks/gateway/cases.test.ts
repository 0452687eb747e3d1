import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { VERSION } from 'openai/version'
import { expect } from 'vitest'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { CASES } from '../cases.js'
import { conditionCases } from '../condition-cases.js'
import { type Case, ledgerLines, passedOn } from '../story.js'
import { startWireModel } from '../wire-model.js'
import { connectHost, openShop, type ShopHost } from './mcp-shop.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)

/** Why a case cannot be had with nothing but another base URL. */
const LACKS: Readonly<Record<string, string>> = {
  approval: 'through the gateway nobody can be asked',
  hanging: 'the program waits for its tools itself',
  'runs-at-once': 'two runs are two conversations, and each has a session of its own',
  lost: 'the gateway runs no tool; test/faults/gateway kills it between decision and receipt',
  'sub-agent': 'a workflow takes the SDK',
  'changed-in-place': 'the program runs its tools itself, so that its receipts only report',
}

/** With MCP the gateway runs the tools. */
const LACKS_WITH_MCP: typeof LACKS = {
  ...LACKS,
  lost: 'test/faults/gateway kills a gateway that runs a tool',
  'changed-in-place': 'told by itself below: the result of a call is what the program makes of it',
  hanging: 'the server of these tools answers at once',
}

function lackOf({ asks, options = {}, outcomes = {} }: Case): string | undefined {
  if (asks === true) return LACKS.approval
  if (options.principal !== undefined || options.labels?.length !== 0)
    return 'a base URL says no principal and no label'
  const fails = Object.values(outcomes).some((list) => list.some((one) => one.fails))
  return fails ? 'the wire does not say that a tool has failed' : undefined
}

type Chat = OpenAI.ChatCompletionMessageParam

interface Program {
  readonly client: OpenAI
  readonly item: Case
  readonly sessionId: string
  readonly ran: string[]
  /** Runs the tools; null where the program does. */
  readonly host: ShopHost | null
  /** `judged` when a proposal was answered, `saw c1` when the program was shown a part of a call. */
  readonly log: string[]
}

for (const item of CASES) {
  const lack = LACKS[item.id]
  const name = `gateway with openai ${VERSION}: ${item.name}${lack === undefined ? '' : ` (${lack})`}`
  proves(['gateway.cases', 'gateway.told'], name, () => tell(item, false), { skip: lack !== undefined })
  const lackWithMcp = LACKS_WITH_MCP[item.id]
  proves(['gateway.mcp-cases', 'gateway.matched'], `${name}, with MCP`, () => tell(atShop(item), true), {
    skip: lackWithMcp !== undefined,
  })
}

for (const item of conditionCases('reported')) {
  const lack = lackOf(item)
  const name = `gateway with openai ${VERSION}: ${item.name}${lack === undefined ? '' : ` (${lack})`}`
  proves(['gateway.cases', 'gateway.told'], name, () => tell(item, false), { skip: lack !== undefined })
}

proves(
  ['gateway.matched', 'guarantee.judged-runs'],
  'a host that passes on other arguments than the model gave runs nothing',
  () => {
    const item = CASES.find(({ id }) => id === 'changed-in-place')!
    const pay = (id: string, amount: number) => ({ calls: [{ id, name: 'pay', args: { amount } }] })
    const ledger = [
      'proposed c1 pay allow',
      'receipt c1 unknown reported',
      'proposed c3 pay allow',
      'receipt c3 succeeded executed',
    ]
    const turns = [pay('c1', 10), pay('c3', 30), { text: 'done' }]
    return tell(atShop({ ...item, turns, expected: { ...item.expected, told: {}, ledger } }), true)
  },
)

/** The case with its tools on an MCP server, as contracts name those. */
function atShop(item: Case): Case {
  const named = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replace(/"(tool|requires_prior_tool|name)":"(look|pay)"/g, '"$1":"shop__$2"'))
  const { expected } = item
  return {
    ...item,
    contracts: named(item.contracts),
    turns: named(item.turns),
    expected: {
      ...expected,
      offered: expected.offered.map((tools) => tools.map((tool) => `shop__${tool}`)),
      ledger: expected.ledger.map((line) => line.replace(/^(proposed \w+) /, '$1 shop__')),
    },
  }
}

/**
 * A program without any SDK of ours, whose client has another base URL. Its tools run in the program, or on an MCP
 * server behind the same gateway.
 */
async function tell(item: Case, withMcp: boolean): Promise<void> {
  const model = await startWireModel(item)
  const log: string[] = []
  const through = throughRuntime(runtime)
  const ran: string[] = []
  const shop = openShop(item, ran)
  const send: typeof fetch = async (input, init) => {
    if (String(input).startsWith(shop.url)) return shop.fetch(input, init)
    const isService = String(input).includes('/api/v1/')
    if (isService && item.serverIsDown) throw new TypeError('fetch failed')
    const answer = await through(input, init)
    if (String(input).endsWith('/proposals')) log.push('judged')
    return answer
  }
  const agent = await gateways.agentWith(item.contracts)
  const flags = { upstream: `openai=${model.url}`, mcp: `shop=${shop.url}`, 'require-proposal': 'true' }
  const gateway = await gateways.start(flags, { fetch: send })
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), maxRetries: 1 })
  const sessionId = `ses_${randomUUID()}`
  const host = withMcp ? await connectHost(gateway, { agent, key: runtime.key, sessionId }) : null
  const program: Program = { client, item, sessionId, ran, log, host }
  const error = await converse(program).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  await Promise.all([model.close(), host?.close(), shop.close()])
  const { expected } = item
  if (item.serverIsDown) expect(String(error)).toMatch(/server|unavailable|reach/i)
  else expect(error).toBeNull()
  expect(program.ran.sort()).toEqual([...expected.ran].sort())
  expect(model.requests().map(({ offered }) => [...offered].sort())).toEqual(expected.offered)
  expect(item.stream ? log.slice(0, log.indexOf('judged')) : []).toEqual([])
  if (item.serverIsDown) return
  // A call that was taken out of an answer has no result: why it did not run is said beside the calls that stay.
  for (const told of Object.values(expected.told)) {
    expect(model.saidBefore()).toMatch(new RegExp(`"[a-z_]+" was blocked .*${told}`))
  }
  const ledger = withMcp ? expected.ledger : expected.ledger.map(asReported)
  expect(ledgerLines((await exportOf(api, sessionId)).events)).toEqual(ledger)
}

/** The gateway knows of a run by its result alone, and the wire of OpenAI does not say that a tool has failed. */
const asReported = (line: string) => line.replace(/ (?:succeeded|failed) executed$/, ' succeeded reported')

async function converse(program: Program): Promise<void> {
  const messages: Chat[] = [{ role: 'user', content: 'go on' }]
  for (;;) {
    const message = await ask(program, messages)
    messages.push(message)
    const calls = message.tool_calls ?? []
    for (const call of calls) {
      if (call.type !== 'function') throw new Error(`no such call: ${call.type}`)
      messages.push({ role: 'tool', tool_call_id: call.id, content: await run(program, call.id, call.function) })
    }
    if (message.content === 'done') return
    // What was blocked is told as a text: the program asks the model to go on.
    if (calls.length === 0) messages.push({ role: 'user', content: 'go on' })
  }
}

async function run(
  { item, ran, host }: Program,
  callId: string,
  { name, arguments: args }: { name: string; arguments: string },
) {
  const { changed = {}, changedInPlace = {} } = item
  if (host !== null) {
    return host.call(name.replace('shop__', ''), passedOn({ changed, changedInPlace }, callId, JSON.parse(args)))
  }
  const call = `${name} ${JSON.stringify(JSON.parse(args))}`
  const outcome = item.outcomes?.[call]?.[ran.filter((one) => one === call).length]
  ran.push(call)
  if (outcome !== undefined) return JSON.stringify(outcome.result)
  return item.failing?.includes(name) ? `Error: ${name} is broken` : JSON.stringify({ done: name })
}

async function ask({ client, item, sessionId, log, host }: Program, messages: Chat[]) {
  const headers = { 'x-countersign-session': sessionId }
  const names = item.outcomes === undefined ? ['look', 'pay'] : item.contracts.map(({ tool }) => tool)
  const tools = names.map((name) => ({
    type: 'function' as const,
    function: { name: host === null ? name : `shop__${name}`, parameters: { type: 'object' } },
  }))
  const request = { model: 'gpt-test', messages, tools }
  if (!item.stream) return (await client.chat.completions.create(request, { headers })).choices[0]!.message
  const streaming = client.chat.completions.stream(request, { headers })
  for await (const chunk of streaming) {
    for (const { id } of chunk.choices[0]?.delta.tool_calls ?? []) if (id !== undefined) log.push(`saw ${id}`)
  }
  return (await streaming.finalChatCompletion()).choices[0]!.message
}
