import { type CaptureItem, LIMITS } from '@countersign/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createCircuitBreaker } from '../base/circuit-breaker.js'
import type { Diagnostic } from '../base/diagnostics.js'
import { exchangeBy } from '../base/exchange.js'
import { readObserveOptions } from '../options/observe-settings.js'
import { type CaptureBuffer, createCaptureBuffer } from './capture-buffer.js'
import type { SendOutcome } from './send-captures.js'
import { captureSender } from './send-captures.js'

const NO_ENVIRONMENT = {
  apiKey: null,
  isKeyEmpty: false,
  apiUrl: null,
  environment: null,
  captureDisabled: false,
  appInstance: null,
}
const DELIVERED: SendOutcome = { kind: 'delivered', problem: null }
const FAILED: SendOutcome = { kind: 'failed', problem: 'away', retry: true }

let batches: string[][]
let events: Diagnostic[]
let outcome: (batch: string[]) => SendOutcome | Promise<SendOutcome>
let buffers: CaptureBuffer[]
beforeEach(() => {
  vi.useFakeTimers()
  batches = []
  events = []
  buffers = []
  outcome = () => DELIVERED
})
afterEach(async () => {
  outcome = () => DELIVERED
  await Promise.all(buffers.map((buffer) => buffer.close()))
  vi.useRealTimers()
})

function makeBuffer(settings: { maxBuffer?: number; flushMs?: number } = {}): CaptureBuffer {
  const defaults = readObserveOptions({}, NO_ENVIRONMENT)
  const buffer = createCaptureBuffer({
    send: async (batch) => {
      const ids = batch.map((json) => JSON.parse(json).capture_id)
      batches.push(ids)
      return outcome(ids)
    },
    maxBuffer: settings.maxBuffer ?? defaults.maxBuffer,
    flushMs: settings.flushMs ?? defaults.flushMs,
    breaker: createCircuitBreaker(),
    report: (event) => events.push(event),
  })
  buffers.push(buffer)
  return buffer
}

let serial = 0
function item(content: string | null = null): () => string {
  serial += 1
  const made: CaptureItem = {
    capture_id: `capture-${serial}`,
    schema_version: '1.0',
    capture_level: 'full',
    agent: 'default',
    conversation_id: 'c',
    timestamp: new Date(0).toISOString(),
    provider: 'openai',
    model_id: null,
    primary_tool_name: null,
    tool_names: [],
    request: { tools: [] },
    response: { tool_calls: [], content, finish_reason: 'stop' },
    latency_ms: 1,
  }
  return () => JSON.stringify(made)
}

function fill(buffer: CaptureBuffer, count: number): void {
  for (let added = 0; added < count; added += 1) buffer.add(item())
}

describe('sending', () => {
  proves(['observe.flush-ms.default', 'limit.observe-flush'], async () => {
    const buffer = makeBuffer()
    fill(buffer, 3)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(batches).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(batches.map((batch) => batch.length)).toEqual([3])
  })

  test('a full buffer is sent at once', async () => {
    fill(makeBuffer({ maxBuffer: 10 }), 10)
    await vi.advanceTimersByTimeAsync(0)
    expect(batches.map((batch) => batch.length)).toEqual([10])
  })

  test('what does not fit into one request goes in several', async () => {
    const buffer = makeBuffer()
    for (let added = 0; added < 3; added += 1) buffer.add(item('x'.repeat(2 * 1024 * 1024)))
    await buffer.flush()
    expect(batches.map((batch) => batch.length)).toEqual([1, 1, 1])
  })

  test('what failed is sent again with the same ids; what was refused is not', async () => {
    const buffer = makeBuffer()
    fill(buffer, 2)
    outcome = () => FAILED
    await buffer.flush()
    outcome = () => DELIVERED
    await vi.advanceTimersByTimeAsync(5_000)
    expect(batches[1]).toEqual(batches[0])
    fill(buffer, 1)
    outcome = () => ({ kind: 'failed', problem: 'refused', retry: false })
    await buffer.flush()
    expect(buffer.counts()).toMatchObject({ buffered: 0, sent: 2, dropped: 1, failures: 2 })
  })

  test('captures are sent before the program exits, and do not keep it running', async () => {
    vi.useRealTimers()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    fill(makeBuffer(), 1)
    expect(timers()).toBe(before)
    process.emit('beforeExit', 0)
    await expect.poll(() => batches.length).toBe(1)
  })
})

describe('bounds', () => {
  proves(
    ['observe.max-buffer.default', 'event.buffer-overflow', 'limit.observe-buffer', 'observe.max-buffer.maximum'],
    async () => {
      const buffer = makeBuffer()
      let answer = (_outcome: SendOutcome): void => {}
      outcome = () =>
        new Promise((resolve) => {
          answer = resolve
        })
      fill(buffer, LIMITS.observeBufferDefault)
      await vi.advanceTimersByTimeAsync(0)
      fill(buffer, 100 + 5)
      expect(buffer.counts()).toMatchObject({ buffered: 100, dropped: 5 })
      answer(DELIVERED)
      await vi.advanceTimersByTimeAsync(0)
      answer(DELIVERED)
      await vi.advanceTimersByTimeAsync(0)
      outcome = () => DELIVERED
      await buffer.flush()
      await buffer.flush()
      const dropped = events.flatMap((event) => (event.type === 'buffer_overflow' ? [event.dropped] : []))
      expect(dropped).toEqual([1, 4])
      expect(readObserveOptions({ maxBuffer: 5_000 }, NO_ENVIRONMENT).maxBuffer).toBe(1_000)
    },
  )

  proves(['limit.observe-breaker.opens', 'limit.observe-breaker.closes'], async () => {
    const buffer = makeBuffer()
    outcome = () => FAILED
    fill(buffer, 1)
    for (let failures = 0; failures < 5; failures += 1) await buffer.flush()
    expect(batches).toHaveLength(5)
    fill(buffer, 1)
    await buffer.flush()
    expect(batches).toHaveLength(5)
    expect(buffer.counts()).toMatchObject({ stopped: true, buffered: 1 })
    await vi.advanceTimersByTimeAsync(10 * 60_000 - 1)
    expect(batches).toHaveLength(5)
    outcome = () => DELIVERED
    await vi.advanceTimersByTimeAsync(5_000)
    fill(buffer, 1)
    await buffer.flush()
    expect(buffer.counts()).toMatchObject({ stopped: false, buffered: 0, sent: 2 })
  })

  test('a success in between starts the count anew', async () => {
    const buffer = makeBuffer()
    for (const next of [FAILED, FAILED, FAILED, FAILED, DELIVERED, FAILED, FAILED, FAILED, FAILED]) {
      outcome = () => next
      fill(buffer, 1)
      await buffer.flush()
    }
    expect(buffer.counts().stopped).toBe(false)
  })

  test('a capture that cannot be taken costs no other', async () => {
    const buffer = makeBuffer()
    fill(buffer, 7)
    const bad = `capture-${serial - 4}`
    outcome = (ids) => (ids.includes(bad) ? { kind: 'refused', problem: 'status 400' } : DELIVERED)
    await buffer.flush()
    expect(buffer.counts()).toMatchObject({ buffered: 0, sent: 6, dropped: 1, failing: false, stopped: false })
    expect(events).toEqual([{ type: 'capture_error', detail: 'status 400' }])
  })

  test('where none can be taken, it is not tried one by one', async () => {
    const buffer = makeBuffer()
    fill(buffer, 64)
    outcome = () => ({ kind: 'refused', problem: 'status 400' })
    await buffer.flush()
    expect(batches.length).toBeLessThan(20)
    expect(buffer.counts()).toMatchObject({ dropped: 5, buffered: 59, stopped: true })
  })

  test('a request to wait is followed, and never stops capturing', async () => {
    const buffer = makeBuffer()
    outcome = () => ({ kind: 'throttled', retryAfterMs: 60_000 })
    fill(buffer, 1)
    for (let tries = 0; tries < 10; tries += 1) await buffer.flush()
    expect(batches).toHaveLength(1)
    expect(buffer.counts()).toMatchObject({ stopped: false, buffered: 1 })
    outcome = () => DELIVERED
    await vi.advanceTimersByTimeAsync(60_000)
    expect(buffer.counts()).toMatchObject({ buffered: 0, sent: 1 })
  })

  proves(['observe.timeout-ms.default', 'observe.timeout-ms.maximum', 'limit.observe-timeout'], async () => {
    vi.useRealTimers()
    const defaults = readObserveOptions({}, NO_ENVIRONMENT)
    expect(defaults.timeoutMs).toBe(5_000)
    const clamped = readObserveOptions(
      { timeoutMs: 60_000, diagnostics: (event) => events.push(event) },
      NO_ENVIRONMENT,
    )
    expect(clamped.timeoutMs).toBe(10_000)
    expect(events).toEqual([{ type: 'option_clamped', option: 'timeoutMs', given: 60_000, used: 10_000 }])
    const never: typeof fetch = (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })
    const send = captureSender({ endpoint: 'http://captures', apiKey: 'k', timeoutMs: 20, exchange: exchangeBy(never) })
    expect(await send([JSON.stringify(item())])).toMatchObject({ kind: 'failed', retry: true })
  })

  test.each([
    [500, { kind: 'failed', retry: true }],
    [503, { kind: 'failed', retry: true }],
    [401, { kind: 'failed', retry: false }],
    [400, { kind: 'refused' }],
    [413, { kind: 'refused' }],
    [429, { kind: 'throttled', retryAfterMs: 7_000 }],
  ])('status %i is understood', async (status, expected) => {
    const fetch = async () => new Response('{}', { status, headers: { 'retry-after': '7' } })
    const send = captureSender({
      endpoint: 'http://captures',
      apiKey: 'k',
      timeoutMs: 1_000,
      exchange: exchangeBy(fetch),
    })
    expect(await send([JSON.stringify(item())])).toMatchObject(expected)
  })

  test('what the server refused of a batch is reported', async () => {
    const rejected = [{ index: 0, capture_id: 'c', code: 'INVALID_CAPTURE', message: 'model_id is too long' }]
    const fetch = async () => Response.json({ accepted: 0, duplicates: 0, rejected })
    const send = captureSender({
      endpoint: 'http://captures',
      apiKey: 'k',
      timeoutMs: 1_000,
      exchange: exchangeBy(fetch),
    })
    const problem = '1 captures were refused: model_id is too long'
    expect(await send([JSON.stringify(item())])).toEqual({ kind: 'delivered', problem })
  })
})
