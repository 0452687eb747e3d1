import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { VERSION } from 'openai/version'
import { expect } from 'vitest'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { CASES } from '../cases.js'
import { type Case, ledgerLines } from '../story.js'
import { startWireModel } from '../wire-model.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)

/** Why a case cannot be had with nothing but another base URL. */
const LACKS: Readonly<Record<string, string>> = {
  approval: 'through the gateway nobody can be asked',
  lost: 'the gateway runs no tool; test/faults/gateway kills it between decision and receipt',
  'sub-agent': 'a workflow takes the SDK',
}

type Chat = OpenAI.ChatCompletionMessageParam

interface Program {
  readonly client: OpenAI
  readonly item: Case
  readonly sessionId: string
  readonly ran: string[]
  /** `judged` when a proposal was answered, `saw c1` when the program was shown a part of a call. */
  readonly log: string[]
}

for (const item of CASES) {
  const lack = LACKS[item.id]
  const name = `gateway with openai ${VERSION}: ${item.name}${lack === undefined ? '' : ` (${lack})`}`
  proves(['gateway.cases', 'gateway.told'], name, () => tell(item), { skip: lack !== undefined })
}

/** A program without any SDK of ours, whose client has another base URL. Its tools run in the program. */
async function tell(item: Case): Promise<void> {
  const model = await startWireModel(item)
  const log: string[] = []
  const through = throughRuntime(runtime)
  const send: typeof fetch = async (input, init) => {
    const isService = String(input).includes('/api/v1/')
    if (isService && item.serverIsDown) throw new TypeError('fetch failed')
    const answer = await through(input, init)
    if (String(input).endsWith('/proposals')) log.push('judged')
    return answer
  }
  const agent = await gateways.agentWith(item.contracts)
  const gateway = await gateways.start({ upstream: `openai=${model.url}` }, { fetch: send })
  const client = new OpenAI({ apiKey: 'sk', baseURL: gateway.openai(agent), maxRetries: 1 })
  const program: Program = { client, item, sessionId: `ses_${randomUUID()}`, ran: [], log }
  const error = await converse(program).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  await model.close()
  const { expected } = item
  if (item.serverIsDown) expect(String(error)).toMatch(/server|unavailable|reach/i)
  else expect(error).toBeNull()
  expect(program.ran.sort()).toEqual([...expected.ran].sort())
  expect(model.requests().map(({ offered }) => [...offered].sort())).toEqual(expected.offered)
  expect(item.stream ? log.slice(0, log.indexOf('judged')) : []).toEqual([])
  if (item.serverIsDown) return
  // A call that was taken out of an answer has no result: why it did not run is said beside the calls that stay.
  for (const told of Object.values(expected.told)) {
    expect(model.saidBefore()).toMatch(new RegExp(`"(?:look|pay)" was blocked .*${told}`))
  }
  expect(ledgerLines((await exportOf(api, program.sessionId)).events)).toEqual(expected.ledger.map(asReported))
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
      messages.push({ role: 'tool', tool_call_id: call.id, content: run(program, call.function) })
    }
    if (message.content === 'done') return
    // What was blocked is told as a text: the program asks the model to go on.
    if (calls.length === 0) messages.push({ role: 'user', content: 'go on' })
  }
}

function run({ item, ran }: Program, { name, arguments: args }: { name: string; arguments: string }): string {
  ran.push(`${name} ${JSON.stringify(JSON.parse(args))}`)
  return item.failing?.includes(name) ? `Error: ${name} is broken` : JSON.stringify({ done: name })
}

async function ask({ client, item, sessionId, log }: Program, messages: Chat[]) {
  const headers = { 'x-countersign-session': sessionId }
  const tools = ['look', 'pay'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object' } },
  }))
  const request = { model: 'gpt-test', messages, tools }
  if (!item.stream) return (await client.chat.completions.create(request, { headers })).choices[0]!.message
  const streaming = client.chat.completions.stream(request, { headers })
  for await (const chunk of streaming) {
    for (const { id } of chunk.choices[0]?.delta.tool_calls ?? []) if (id !== undefined) log.push(`saw ${id}`)
  }
  return (await streaming.finalChatCompletion()).choices[0]!.message
}
