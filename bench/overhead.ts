import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { observe } from '@countersign/sdk'
import OpenAI from 'openai'
import { startProvider } from '../test/support/provider.js'

/**
 * What the SDK costs a program: calls of a model through observe against the bare client, in one run. The provider
 * answers at once, from a process of its own, and takes the captures too. Blocks of calls alternate between the
 * variants. A block ends with the work that was put off, so that none of it falls on another variant.
 */
const BLOCKS = 40
const CALLS_PER_BLOCK = 100
const WARM_UP_BLOCKS = 20

const REQUEST = {
  model: 'gpt-bench',
  messages: [
    { role: 'system' as const, content: 'You help customers of a shop. '.repeat(20) },
    { role: 'user' as const, content: 'Please refund my order 1017, it never arrived.' },
  ],
  tools: ['get_order', 'issue_refund', 'send_mail'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object', properties: { order_id: { type: 'string' } } } },
  })),
}
const REPLY = { calls: [{ id: 'call_1', name: 'get_order', arguments: { order_id: '1017' } }] }

if (process.send === undefined) await main()
else await serve(process.send.bind(process))

async function serve(tell: (url: string) => void): Promise<void> {
  const provider = await startProvider()
  provider.answerWith((request) => {
    provider.requests.length = 0
    if (!request.path.endsWith('/captures')) return REPLY
    const captures = request.body?.captures
    return { response: { accepted: Array.isArray(captures) ? captures.length : 0, duplicates: 0, rejected: [] } }
  })
  tell(provider.url)
}

async function main(): Promise<void> {
  const provider = fork(fileURLToPath(import.meta.url))
  const [url] = (await once(provider, 'message')) as [string]
  const makeClient = () => new OpenAI({ apiKey: 'unused', baseURL: `${url}/v1`, maxRetries: 0 })

  const bare = makeClient()
  const observed = makeClient()
  const handle = observe(observed, { apiKey: `csk_${'b'.repeat(32)}`, endpoint: url })
  const variants = {
    bare: { client: bare, settle: async () => {} },
    // Makes the captures that are still owed at once; that they arrive is not waited for by any program.
    observe: { client: observed, settle: () => handle.flush() },
  }

  const blocks = await alternate(variants)
  const perCall = (name: keyof typeof variants) => (median(blocks[name]) * 1000) / CALLS_PER_BLOCK
  const ratio = median(blocks.observe.map((ms, block) => ms / (blocks.bare[block] ?? ms)))
  await handle.restore()
  provider.kill()

  console.log(`bare ${perCall('bare').toFixed(1)} us a call, observed ${perCall('observe').toFixed(1)} us`)
  console.log(
    JSON.stringify({
      bench: 'overhead',
      calls: BLOCKS * CALLS_PER_BLOCK,
      bare_us: round(perCall('bare')),
      observe_us: round(perCall('observe') - perCall('bare')),
      observe_ratio: round(ratio),
    }),
  )
}

interface Variant {
  client: OpenAI
  settle(): Promise<void>
}

/** The time of each block in milliseconds, by variant; the order changes from block to block. */
async function alternate<Name extends string>(variants: Record<Name, Variant>): Promise<Record<Name, number[]>> {
  const names = Object.keys(variants) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>
  for (let block = 0; block < WARM_UP_BLOCKS + BLOCKS; block += 1) {
    for (const name of block % 2 === 0 ? names : names.toReversed()) {
      const { client, settle } = variants[name]
      const started = performance.now()
      for (let call = 0; call < CALLS_PER_BLOCK; call += 1) await client.chat.completions.create(REQUEST)
      const settled = settle()
      if (block >= WARM_UP_BLOCKS) times[name].push(performance.now() - started)
      await settled
    }
  }
  return times
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
