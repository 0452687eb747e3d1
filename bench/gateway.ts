import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readSettings, startGateway } from '@countersign/gateway'
import { createTenant, readConfig, startServer } from '@countersign/server'
import OpenAI from 'openai'
import { startProvider } from '../test/support/provider/provider.js'
import { planOf } from '../test/support/runtime/plans.js'

/**
 * npm run bench -- gateway: what does the gateway add to a model call? The same conversation is held with the bare
 * upstream, through a gateway that observes, through one that enforces, and through two that enforce, turn by turn. The
 * upstream answers at once, in the process of the service; the gateways have a process of their own. A round is one
 * conversation each, in changing order. The first turn, which opens the session, is counted apart.
 */
const ROUNDS = 40
const WARM_UP_ROUNDS = 15
const TURNS = 8
const AGENT = 'bench'

const [role] = process.argv.slice(2)
if (role === 'service') await serve()
else if (role === 'gateways') await serveGateways()
else await main()

interface Service {
  readonly provider: string
  readonly url: string
  readonly key: string
}

async function serve(): Promise<void> {
  const provider = await startProvider()
  let calls = 0
  provider.answerWith(() => {
    provider.requests.length = 0
    calls++
    return { calls: [{ id: `call_${calls}`, name: 'get_order', arguments: { order_id: String(calls) } }] }
  })
  const [folder] = (await once(process, 'message')) as [string]
  const config = readConfig({ COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' }, { 'data-folder': folder })
  const server = await startServer(config)
  const { key, tenantId } = await createTenant('bench', 'scale', config)
  const { compiled_hash, compiled_session } = planOf([{ tool: 'get_order', side_effect: 'read' }])
  const { sql } = server.parts.database
  await sql`insert into plans (tenant_id, compiled_hash, compiled_session)
    values (${tenantId}, ${compiled_hash}, ${JSON.stringify(compiled_session)}::text::json)`
  await sql`insert into approved_plans (tenant_id, agent, environment, compiled_hash)
    values (${tenantId}, ${AGENT}, 'production', ${compiled_hash})`
  const end = () => server.close().then(() => process.exit(0))
  process.once('message', end).once('disconnect', end)
  const service: Service = { provider: provider.url, url: server.url, key }
  process.send?.(service)
}

async function serveGateways(): Promise<void> {
  const [{ provider, url, key }] = (await once(process, 'message')) as [Service]
  const start = (mode: string) => {
    const flags = { port: '0', 'log-level': 'warn', mode, 'api-url': url, upstream: `openai=${provider}` }
    const settings = readSettings({ env: { COUNTERSIGN_API_KEY: key }, flags, readFile: () => '{}' })
    return startGateway(settings, { log: console.error, fetch })
  }
  const started = [await start('observe'), await start('enforce'), await start('enforce')]
  process.once('disconnect', () => process.exit(0))
  process.send?.(started.map((gateway) => gateway.url))
}

async function main(): Promise<void> {
  const file = fileURLToPath(import.meta.url)
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  const back = fork(file, ['service'])
  const front = fork(file, ['gateways'])
  try {
    back.send(folder)
    const [service] = (await once(back, 'message')) as [Service]
    front.send(service)
    const [urls] = (await once(front, 'message')) as [[string, string, string]]
    const [observe, enforce, other] = urls.map((url) => clientOf(`${url}/${AGENT}/openai/v1`))
    if (observe === undefined || enforce === undefined || other === undefined) throw new Error('no gateway')
    const bare = clientOf(`${service.provider}/v1`)
    const times = await alternate({ bare: [bare], observe: [observe], enforce: [enforce], two: [enforce, other] })
    const added = (name: string, part: 'first' | 'next') =>
      round(median(times[name]?.[part] ?? []) - median(times.bare?.[part] ?? []))
    const figures = {
      bare_ms: round(median(times.bare?.next ?? [])),
      observe_added_ms: added('observe', 'next'),
      enforce_added_ms: added('enforce', 'next'),
      two_gateways_added_ms: added('two', 'next'),
      new_session_added_ms: added('enforce', 'first'),
    }
    console.log(JSON.stringify({ bench: 'gateway', turns: ROUNDS * (TURNS - 1), ...figures }))
  } finally {
    front.kill()
    const ended = once(back, 'exit')
    back.send('end')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
}

function clientOf(baseURL: string): OpenAI {
  return new OpenAI({ apiKey: 'unused', baseURL, maxRetries: 0 })
}

interface Times {
  readonly first: number[]
  readonly next: number[]
}

async function alternate(variants: Record<string, readonly OpenAI[]>): Promise<Record<string, Times>> {
  const names = Object.keys(variants)
  const times: Record<string, Times> = Object.fromEntries(names.map((name) => [name, { first: [], next: [] }]))
  for (let at = 0; at < WARM_UP_ROUNDS + ROUNDS; at++) {
    const order = at % 2 === 0 ? names : names.toReversed()
    for (const name of order) {
      const [first = 0, ...next] = await converse(variants[name] ?? [])
      if (at < WARM_UP_ROUNDS) continue
      times[name]?.first.push(first)
      times[name]?.next.push(...next)
    }
  }
  return times
}

/** One conversation: each answer is a call, and each next request brings its result. */
async function converse(clients: readonly OpenAI[]): Promise<number[]> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Where is my order?' }]
  const tools = [{ type: 'function' as const, function: { name: 'get_order', parameters: { type: 'object' } } }]
  const times: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const client = clients[turn % clients.length] as OpenAI
    const started = performance.now()
    const { choices } = await client.chat.completions.create({ model: 'gpt-bench', messages, tools })
    times.push(performance.now() - started)
    const message = choices[0]?.message
    const [call] = message?.tool_calls ?? []
    if (message === undefined || call === undefined) throw new Error('the call was not released')
    messages.push(message, { role: 'tool', tool_call_id: call.id, content: '{"status":"shipped"}' })
  }
  return times
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
