import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { observe, replay } from '@countersign/sdk'
import { createTenant, readConfig, startServer } from '@countersign/server'
import OpenAI from 'openai'
import { frameworksAreInstalled } from '../scripts/frameworks.mjs'
import { startProvider } from '../test/support/provider/provider.js'
import { measureFirstText, SLOW_TEXT } from './support/first-text.js'

/**
 * npm run bench -- overhead: what does the SDK cost a program? Calls a model through observe, protect and govern, and
 * through the bare client, in one run. The provider responds immediately from its own process, which also takes the
 * captures and runs the service. A round is one block of calls through each client, in changing order. Each block is
 * compared with the bare block of its round, so that a slower machine slows both. Shared machines change their speed
 * within half a second: 20 rounds of 400 calls left a standard error of 0.05 in a ratio; with blocks of 100, more
 * rounds and the mean of the middle half it is 0.02. At the end of a block the remaining captures are built and sent,
 * so that their cost does not fall on another variant. Their CPU time counts; the wait for the service does not,
 * because no program has to wait for it.
 */
const ROUNDS = 140
const CALLS_PER_BLOCK = 100
/** Compiling takes longer on a busy machine. */
const WARM_UP_ROUNDS = 50
const GOVERNED_TURNS = 60
const GOVERNED_WARM_UP = 15
/** Of the adapters: a run of an agent has several model calls. */
const FACE_ROUNDS = 60
const FACE_WARM_UP = 20
const RUNS_PER_BLOCK = 10

const TOOLS = ['get_order', 'issue_refund', 'send_mail']
const REQUEST = {
  model: 'gpt-bench',
  messages: [
    { role: 'system' as const, content: 'You help customers of a shop. '.repeat(20) },
    { role: 'user' as const, content: 'Please refund my order 1017, it never arrived.' },
  ],
  tools: TOOLS.map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object', properties: { order_id: { type: 'string' } } } },
  })),
}
const REPLY = { calls: [{ name: 'get_order', arguments: { order_id: '1017' } }] }
const CONTRACTS = TOOLS.map((tool) => ({
  tool,
  side_effect: 'read' as const,
  argument_value_invariants: [{ path: '$.order_id', regex: '^[0-9]+$' }],
}))

if (process.send === undefined) await main()
else await serve(process.send.bind(process))

interface Addresses {
  provider: string
  captures: string
}

interface Service {
  url: string
  key: string
}

async function serve(report: (message: Addresses | Service) => void): Promise<void> {
  const provider = await startProvider()
  provider.answerWith(({ body }) => {
    provider.requests.length = 0
    if (body?.stream === true) return SLOW_TEXT
    // An agent of a framework goes on until the model calls nothing more.
    return JSON.stringify(body?.messages).includes('"tool"') ? { text: 'done' } : REPLY
  })
  const captures = await startCaptureSink()
  process.once('message', async (folder: string) => {
    const config = readConfig({ COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' }, { 'data-folder': folder })
    const server = await startServer(config)
    const { key } = await createTenant('bench', 'scale', config)
    const end = () => server.close().then(() => process.exit(0))
    process.once('message', end)
    // The benchmark was interrupted: remove its database.
    process.once('disconnect', end)
    report({ url: server.url, key })
  })
  report({ provider: provider.url, captures })
}

/** Accepts captures without reading them: their cost to the service is not a cost to the program. */
async function startCaptureSink(): Promise<string> {
  const sink = createServer((request, reply) => {
    request.resume().on('end', () => {
      reply.setHeader('content-type', 'application/json').end('{"accepted":0,"duplicates":0,"rejected":[]}')
    })
  })
  await once(sink.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(sink.address() as AddressInfo).port}`
}

async function main(): Promise<void> {
  const back = fork(fileURLToPath(import.meta.url))
  const [{ provider: url, captures }] = (await once(back, 'message')) as [Addresses]
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  try {
    const local = await measureLocal(url, captures)
    const faces = await measureFaces(url)
    const firstText = await measureFirstText(url, REQUEST, CONTRACTS)
    const govern = await measureGovern(url, back, folder)
    const calls = ROUNDS * CALLS_PER_BLOCK
    console.log(JSON.stringify({ bench: 'overhead', calls, ...local, ...faces, ...firstText, govern_ms: govern }))
  } finally {
    back.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

function makeClient(url: string): OpenAI {
  return new OpenAI({ apiKey: 'unused', baseURL: `${url}/v1`, maxRetries: 0 })
}

async function measureLocal(url: string, captures: string) {
  const observed = makeClient(url)
  const handle = observe(observed, { apiKey: `csk_${'b'.repeat(32)}`, endpoint: captures })
  const session = replay(makeClient(url), { contracts: CONTRACTS })
  const blocks = await alternate({
    bare: { client: makeClient(url), settle: async () => {} },
    observe: { client: observed, settle: () => handle.flush() },
    protect: { client: session.client, settle: () => session.flush() },
  })
  const { totalSteps, totalErrors } = handle.getHealth()
  if (totalSteps !== (WARM_UP_ROUNDS + ROUNDS) * CALLS_PER_BLOCK || totalErrors > 0)
    throw new Error('not all was captured')
  await handle.restore()
  await session.restore()
  const perCall = (times: readonly number[]) => (median(times) * 1000) / CALLS_PER_BLOCK
  const ratio = (times: readonly number[]) =>
    middleMean(times.map((time, round) => time / (blocks.bare[round] ?? Number.NaN)))
  return {
    bare_us: round(perCall(blocks.bare)),
    observe_us: round(perCall(blocks.bare) * (ratio(blocks.observe) - 1)),
    protect_us: round(perCall(blocks.bare) * (ratio(blocks.protect) - 1)),
    observe_ratio: round(ratio(blocks.observe)),
    protect_ratio: round(ratio(blocks.protect)),
  }
}

interface Face {
  bare(): Promise<unknown>
  protect(): Promise<unknown>
}

/** A run of an agent (two model calls, one tool) of each framework, against the same agent without the SDK. */
async function measureFaces(url: string): Promise<Record<string, number>> {
  if (!frameworksAreInstalled()) {
    console.log('the frameworks are not measured: install them with node scripts/frameworks.mjs')
    return {}
  }
  // By a name that the compiler does not follow: it may run where the frameworks are not installed.
  const file: string = '../test/frameworks/overhead-faces.js'
  const { overheadFaces } = (await import(file)) as {
    overheadFaces(url: string, contracts: typeof CONTRACTS): Record<string, Face>
  }
  const ratios: Record<string, number> = {}
  for (const [name, face] of Object.entries(overheadFaces(url, CONTRACTS))) {
    const pairs: number[] = []
    for (let turn = 0; turn < FACE_WARM_UP + FACE_ROUNDS; turn += 1) {
      const order = turn % 2 === 0 ? (['bare', 'protect'] as const) : (['protect', 'bare'] as const)
      const times = { bare: 0, protect: 0 }
      for (const variant of order) times[variant] = await timeOf(face[variant])
      if (turn >= FACE_WARM_UP) pairs.push(times.protect / times.bare)
    }
    ratios[`${name.replace('-', '_')}_protect_ratio`] = round(middleMean(pairs))
  }
  return ratios
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  for (let at = 0; at < RUNS_PER_BLOCK; at += 1) await run()
  return performance.now() - started
}

/** A whole turn: preflight, the model, proposal, the tool, its receipt. */
async function measureGovern(url: string, back: ChildProcess, folder: string): Promise<number> {
  back.send(folder)
  const [service] = (await once(back, 'message')) as [Service]
  const session = replay(makeClient(url), {
    contracts: CONTRACTS,
    apiKey: service.key,
    runtimeUrl: service.url,
    tools: Object.fromEntries(TOOLS.map((name) => [name, async () => ({ status: 'shipped' })])),
  })
  const times: number[] = []
  for (let turn = 0; turn < GOVERNED_WARM_UP + GOVERNED_TURNS; turn += 1) {
    const started = performance.now()
    const { choices } = await session.client.chat.completions.create(REQUEST)
    const [call] = choices[0]?.message.tool_calls ?? []
    if (call === undefined) throw new Error('the model made no call')
    await session.tools?.get_order?.({ order_id: '1017' }, { callId: call.id })
    if (turn >= GOVERNED_WARM_UP) times.push(performance.now() - started)
  }
  await session.restore()
  back.send('stop')
  await once(back, 'exit')
  return round(median(times))
}

interface Variant {
  client: OpenAI
  settle(): Promise<void>
}

/** The time of each block in milliseconds, by variant and round. */
async function alternate<Name extends string>(variants: Record<Name, Variant>): Promise<Record<Name, number[]>> {
  const names = Object.keys(variants) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const first = round % names.length
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const { client, settle } = variants[name]
      const started = performance.now()
      for (let call = 0; call < CALLS_PER_BLOCK; call += 1) await client.chat.completions.create(REQUEST)
      const calling = performance.now() - started
      const settling = await cpuTime(settle)
      if (round >= WARM_UP_ROUNDS) times[name].push(calling + settling)
    }
  }
  return times
}

/** CPU time of the work in milliseconds, without waiting. Threads of the runtime count up to its duration. */
async function cpuTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  const started = performance.now()
  await work()
  const passed = performance.now() - started
  const { user, system } = process.cpuUsage(before)
  return Math.min(passed, (user + system) / 1_000)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** The mean of the middle half: as robust against outliers as a median, and less noisy. */
function middleMean(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const quarter = Math.floor(sorted.length / 4)
  const middle = sorted.slice(quarter, sorted.length - quarter)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
