import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { exchangeBy } from '../base/exchange.js'
import { createTransport, ServiceFailure, ServiceRefusal, type TransportSettings } from './transport.js'

/** A service on loopback that answers as each test says, one answer for each request, the last one for all further. */
type Answer = (reply: ServerResponse, request: IncomingMessage) => void

let answers: Answer[]
let seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string; at: number }[]
let connections: number
let hungUp: number
let baseUrl: string
let close: () => Promise<void>

beforeEach(async () => {
  answers = [labels]
  seen = []
  connections = 0
  hungUp = 0
  const server = createServer(async (request, reply) => {
    const at = performance.now()
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body, at })
    reply.on('close', () => {
      if (!reply.writableFinished) hungUp += 1
    })
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    answer?.(reply, request)
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await close()
})

const KEY = `csk_${'t'.repeat(32)}`
const LABELS = { labels: ['a'], ledger: { seq: 2, hash: '0'.repeat(64) } }
const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => {
  return (reply) =>
    reply.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
const text = (status: number, body: string, headers: Record<string, string> = {}): Answer => {
  return (reply) => reply.writeHead(status, headers).end(body)
}
const problem = (status: number, code: string, more: object = {}) => ({
  type: 'about:blank',
  title: code.toLowerCase(),
  status,
  code,
  ...more,
})
const labels: Answer = json(200, LABELS)
const hangs: Answer = () => {}
const breaks: Answer = (reply) => reply.destroy()

const transport = (settings: Partial<TransportSettings> = {}) =>
  createTransport({
    baseUrl,
    apiKey: KEY,
    timeoutMs: 30_000,
    exchange: exchangeBy(undefined),
    random: () => 0,
    ...settings,
  })
const addLabel = (settings: Partial<TransportSettings> = {}, limits = {}) =>
  transport(settings).call('addLabel', { params: { session_id: 'ses/1' }, body: { label: 'a' } }, limits)

test('a call carries its path, query, key and body, and brings the reply of the route', async () => {
  expect(await addLabel({ baseUrl: `${baseUrl}//` })).toEqual(LABELS)
  const [sent] = seen
  expect(sent).toMatchObject({ method: 'POST', url: '/api/v1/replay/sessions/ses%2F1/labels', body: '{"label":"a"}' })
  expect(sent?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'content-type': 'application/json' })

  answers = [json(200, { status: 'none' })]
  await transport()
    .call('lookupPlan', { query: { agent: 'a b', environment: 'staging' } }, { attempts: 1 })
    .catch(() => {})
  expect(seen.at(-1)).toMatchObject({ method: 'GET', url: '/api/v1/governance/plan?agent=a+b&environment=staging' })
  expect(seen.at(-1)?.headers['content-type']).toBeUndefined()
})

test('a service that says more than this client knows is understood', async () => {
  answers = [json(200, { ...LABELS, of_a_later_version: true })]
  expect(await addLabel()).toMatchObject(LABELS)
})

describe('whatever is no answer is tried again, with the same request', () => {
  test.each<[string, Answer]>([
    ['a connection that breaks', breaks],
    ['500 with problem details', json(500, problem(500, 'INTERNAL'))],
    ['502 of a proxy', text(502, '<html>bad gateway</html>')],
    ['503 while the store is away', json(503, problem(503, 'BUSY'))],
    ['404 of something that is not the service', text(404, 'not found')],
    ['200 that is not JSON', text(200, '<html>log in</html>')],
    ['200 without a body', text(200, '')],
    ['200 of another shape', json(200, { ...LABELS, labels: 'a' })],
    ['429', json(429, problem(429, 'RATE_LIMITED'), { 'retry-after': '0' })],
  ])('%s', async (_name, wrong) => {
    answers = [wrong, wrong, labels]
    expect(await addLabel()).toEqual(LABELS)
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map(({ url, body }) => `${url} ${body}`)).size).toBe(1)
  })
})

test.each<[string, Answer, RegExp]>([
  ['a broken connection', breaks, /got no answer.*check that the service runs.*COUNTERSIGN_API_URL/],
  ['500', json(500, problem(500, 'INTERNAL')), /answered 500 INTERNAL/],
  ['502 of a proxy', text(502, '<html>'), /answered 502 without problem details/],
  ['garbage', text(200, '<html>'), /is not JSON/],
  ['another shape', json(200, { ...LABELS, labels: 'a' }), /another shape than expected at labels/],
])('after four attempts the last failure is reported, with the request: %s', async (_name, wrong, reported) => {
  answers = [wrong]
  const failure = await addLabel().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ServiceFailure)
  expect((failure as Error).message).toMatch(reported)
  expect((failure as Error).message).toContain(`POST ${baseUrl}/api/v1/replay/sessions/ses%2F1/labels`)
  expect((failure as Error).message).not.toContain(KEY)
  expect(seen).toHaveLength(4)
})

test('where a name has several addresses, what each of them said is reported', async () => {
  const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`)
  const cause = new AggregateError([refused('::1:4319'), refused('127.0.0.1:4319')])
  const exchange = () => Promise.reject(new TypeError('fetch failed', { cause }))
  await expect(addLabel({ exchange }, { attempts: 1 })).rejects.toThrow(
    /fetch failed: connect ECONNREFUSED ::1:4319, connect ECONNREFUSED 127/,
  )
})

test('a probe is one attempt', async () => {
  answers = [breaks]
  await expect(addLabel({}, { attempts: 1 })).rejects.toThrow(ServiceFailure)
  expect(seen).toHaveLength(1)
})

test.each([400, 401, 403, 404, 409, 413])(
  '%i with problem details is an answer, and is not tried again',
  async (status) => {
    const details = problem(status, 'SESSION_HELD', { detail: 'somebody has it', lease_until: 'soon' })
    answers = [json(status, details)]
    const refusal = await addLabel().catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(ServiceRefusal)
    expect(refusal).toMatchObject({ status, code: 'SESSION_HELD', problem: { lease_until: 'soon' } })
    expect((refusal as Error).message).toBe(`the service answered ${status} SESSION_HELD: somebody has it`)
    expect(seen).toHaveLength(1)
  },
)

/** The delays that a call waits, without waiting them. */
async function delaysOf(settings: Partial<TransportSettings>, limits = {}): Promise<number[]> {
  const delays: number[] = []
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((go: () => void, ms: number) => {
    delays.push(ms)
    queueMicrotask(go)
  }) as typeof setTimeout)
  await addLabel(settings, { timeoutMs: 60_000, ...limits }).catch(() => {})
  vi.restoreAllMocks()
  return delays
}

test('retries wait longer each time, and are spread between half and the whole of that', async () => {
  const away = async () => Promise.reject(new TypeError('fetch failed'))
  const delays = (random: number) => delaysOf({ exchange: away, random: () => random }, { attempts: 9 })
  expect(await delays(1)).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000])
  expect(await delays(0)).toEqual([25, 50, 100, 200, 400, 800, 1_000, 1_000])
})

describe('Retry-After', () => {
  test.each([429, 503])('of a %i is waited out inside the timeout', async (status) => {
    answers = [json(status, problem(status, 'BUSY'), { 'retry-after': '0.3' }), labels]
    expect(await addLabel()).toEqual(LABELS)
    expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThanOrEqual(290)
  })

  test('of a 429 is reported before it is waited out; that of a 503, and one beyond the timeout, are not', async () => {
    const waits: number[] = []
    const onThrottled = (waitMs: number) => void waits.push(waitMs)
    const limited = json(429, problem(429, 'RATE_LIMITED'), { 'retry-after': '0.02' })
    answers = [limited, json(503, problem(503, 'BUSY'), { 'retry-after': '0.01' }), limited, labels]
    expect(await addLabel({ onThrottled })).toEqual(LABELS)
    expect(waits).toEqual([20, 20])
    answers = [json(429, problem(429, 'RATE_LIMITED'), { 'retry-after': '3600' })]
    await expect(addLabel({ onThrottled })).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000 })
    expect(waits).toEqual([20, 20])
  })

  test('as a date is understood', async () => {
    const retryAfter = new Date(Date.now() + 10_000).toUTCString()
    const body = JSON.stringify(problem(429, 'RATE_LIMITED'))
    const exchange = async () => ({ status: 429, retryAfter, body })
    const [delay] = await delaysOf({ exchange, random: () => 0 }, { attempts: 2 })
    expect(delay).toBeGreaterThan(8_000)
    expect(delay).toBeLessThanOrEqual(10_000)
  })

  test('beyond the timeout fails at once', async () => {
    answers = [json(429, problem(429, 'RATE_LIMITED'), { 'retry-after': '3600' })]
    const started = performance.now()
    await expect(addLabel()).rejects.toThrow(/is rate limited/)
    expect(performance.now() - started).toBeLessThan(10_000)
    expect(seen).toHaveLength(1)
  })

  test('that says nothing is left aside', async () => {
    answers = [json(429, problem(429, 'RATE_LIMITED'), { 'retry-after': 'when we are ready' }), labels]
    expect(await addLabel()).toEqual(LABELS)
  })
})

describe('time', () => {
  test('one answer that hangs leaves time for another attempt', async () => {
    answers = [hangs, labels]
    expect(await addLabel({ timeoutMs: 4_000 })).toEqual(LABELS)
    expect(seen).toHaveLength(2)
  })

  test.each<[string, Answer]>([
    ['does not come', hangs],
    ['begins and does not end', (reply) => reply.writeHead(200).write('{"labels":')],
  ])('an answer that %s fails when the time is up, and hangs up', async (_name, answer) => {
    answers = [answer]
    const started = performance.now()
    await expect(addLabel({ timeoutMs: 400 })).rejects.toThrow(/timed out/)
    const took = performance.now() - started
    expect(took).toBeGreaterThanOrEqual(300)
    expect(took).toBeLessThan(10_000)
    await expect.poll(() => hungUp).toBe(seen.length)
  })

  test('a fetch that does not listen to its signal is left behind', async () => {
    const deaf: typeof fetch = () => new Promise(() => {})
    await expect(addLabel({ exchange: exchangeBy(deaf), timeoutMs: 200 })).rejects.toThrow(/timed out/)
  })

  test('a call may have a limit of its own', async () => {
    answers = [hangs]
    const started = performance.now()
    await expect(addLabel({ timeoutMs: 60_000 }, { timeoutMs: 200, attempts: 1 })).rejects.toThrow(ServiceFailure)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

test('calls one after another share a connection', async () => {
  for (let call = 0; call < 20; call += 1) await addLabel()
  expect(seen).toHaveLength(20)
  // The second may come before the client has the first connection back.
  expect(connections).toBeLessThanOrEqual(2)
})

test('a redirect is not followed, since the key would go with it', async () => {
  answers = [text(307, '', { location: `${baseUrl}/elsewhere` })]
  await expect(addLabel({}, { attempts: 2 })).rejects.toThrow(ServiceFailure)
  expect(seen.map(({ url }) => url).some((url) => url.includes('elsewhere'))).toBe(false)
})
