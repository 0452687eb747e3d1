import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type LoopbackProvider, startProvider } from '../../../../test/support/provider/provider.js'
import { forgetWarnings } from '../base/warn-on-console.js'
import { type ObserveHandle, observe } from './observe.js'

let provider: LoopbackProvider
let warnings: string[]
let handles: ObserveHandle[]
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())
beforeEach(() => {
  warnings = []
  handles = []
  forgetWarnings()
  vi.spyOn(console, 'warn').mockImplementation((text: string) => void warnings.push(text))
  for (const name of ['COUNTERSIGN_API_KEY', 'COUNTERSIGN_API_URL', 'COUNTERSIGN_DISABLE']) vi.stubEnv(name, '')
})
afterEach(async () => {
  await Promise.all(handles.map((handle) => handle.restore()))
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const KEY = `csk_${'a'.repeat(32)}`
const openai = () => new OpenAI({ apiKey: 'unused', baseURL: `${provider.url}/v1`, maxRetries: 0 })

/** As from JavaScript, where nothing checks what is handed over. */
function unguarded(client: unknown, options?: unknown): ObserveHandle {
  const handle: ObserveHandle = Reflect.apply(observe, undefined, [client, options])
  handles.push(handle)
  return handle
}

async function callOnce(client: OpenAI): Promise<void> {
  provider.enqueue({ calls: [{ id: 'call_1', name: 'refund', arguments: { order: 17 } }] })
  await client.chat.completions.create({ model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] })
}

const refusing = (status: number) => async () => Response.json({ code: 'REFUSED' }, { status })

test('a key that the service refuses is reported once on the console, and the calls go on', async () => {
  const client = openai()
  const handle = unguarded(client, { apiKey: KEY, fetch: refusing(401) })
  for (let call = 0; call < 2; call += 1) {
    await callOnce(client)
    await handle.flush()
  }
  expect(warnings).toEqual([expect.stringMatching(/^countersign: .*status 401: check the API key/)])
  expect(handle.getHealth()).toMatchObject({ status: 'degraded', totalErrors: 2 })
})

test('an address where nobody listens is reported', async () => {
  const client = openai()
  const handle = unguarded(client, { apiKey: KEY, endpoint: 'http://127.0.0.1:1' })
  await callOnce(client)
  await handle.flush()
  expect(warnings.join()).toContain('captures could not be sent to http://127.0.0.1:1: connect ECONNREFUSED')
})

test('nothing is written where diagnostics hear it', async () => {
  const client = openai()
  const events: unknown[] = []
  const handle = unguarded(client, {
    apiKey: KEY,
    fetch: refusing(403),
    diagnostics: (event: unknown) => events.push(event),
  })
  await callOnce(client)
  await handle.flush()
  expect(events).toMatchObject([{ type: 'capture_error' }])
  expect(warnings).toEqual([])
})

test.each([
  ['a name that is no option', { apikey: KEY }, 'apikey of observe is unknown: did you mean "apiKey"?'],
  ['the name that replay gives the address', { runtimeUrl: 'http://a' }, 'did you mean "endpoint"?'],
  ['options that are no object', 'csk_x', 'options of observe must be an object'],
  ['a key that is no text', { apiKey: 12 }, 'apiKey of observe must be a string, not a number; the option is ignored'],
  ['an agent that is no text', { agent: 12 }, 'agent of observe must be a string, not 12; the option is ignored'],
  [
    'a number as text',
    { maxBuffer: '5' },
    'maxBuffer of observe must be a whole number from 1 to 1000, not "5"; 100 is used',
  ],
  [
    'a number above its maximum',
    { timeoutMs: 60_000 },
    'timeoutMs of observe must be at most 10000, not 60000; 10000 is used',
  ],
  [
    'diagnostics that cannot be called',
    { diagnostics: 'console' },
    'diagnostics of observe must be a function, not "console"; the option is ignored',
  ],
  [
    'a level that is none',
    { captureLevel: 'none' },
    'captureLevel of observe must be one of metadata, redacted, full, not "none"; metadata is used',
  ],
  ['an address without http', { endpoint: 'localhost:4319' }, 'endpoint of observe must be an http or https URL'],
  ['an address with the path of the API', { endpoint: 'http://127.0.0.1:4319/api/v1' }, 'without /api/v1'],
])('%s does not throw, and is reported', (_what, options, text) => {
  unguarded(openai(), options)
  expect(warnings.join('\n')).toContain(text)
})

test.each([
  ['a Promise', Promise.resolve({}), 'the client is a Promise: await it first'],
  ['a class', OpenAI, 'pass an instance, such as new OpenAI()'],
  ['something else', { generate: () => '' }, 'the client has neither'],
])('a client that is %s gets a handle that does nothing, and is reported', (_what, client, text) => {
  expect(unguarded(client, { apiKey: KEY }).getHealth().status).toBe('inactive')
  expect(warnings.join('\n')).toContain(`observe does nothing: `)
  expect(warnings.join('\n')).toContain(text)
})

test('a level that is none captures the least', async () => {
  const sent: string[] = []
  const fetch = async (_url: string, init: { body: string }) => {
    sent.push(init.body)
    return Response.json({ accepted: 1, duplicates: 0, rejected: [] })
  }
  const client = openai()
  const handle = unguarded(client, { apiKey: KEY, fetch, captureLevel: 'minimal' })
  await callOnce(client)
  await handle.flush()
  expect(sent.join()).toContain('"refund"')
  expect(sent.join()).not.toContain('order')
})

test.each(['true', 'yes', true])('disabled: %j observes nothing', (disabled) => {
  expect(unguarded(openai(), { apiKey: KEY, disabled }).getHealth().status).toBe('inactive')
})
