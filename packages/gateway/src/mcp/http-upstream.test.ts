import { afterEach, beforeEach, expect, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createHttpUpstream } from './http-upstream.js'
import { passedAnswer } from './passed-answer.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const EVENTS = { 'content-type': 'text/event-stream' }
const ANSWERS: Record<string, (body: ReadableStream) => Response> = {
  'accepts a notification': (body) => new Response(body, { status: 202 }),
  'begins a stream that nobody reads': (body) => new Response(body, { headers: EVENTS }),
}
for (const [name, answer] of Object.entries(ANSWERS)) {
  proves('gateway.stops', `a server that ${name} leaves no timer behind`, async () => {
    let isCancelled = false
    const body = new ReadableStream({
      cancel() {
        isCancelled = true
      },
    })
    const upstream = createHttpUpstream(
      { url: 'http://shop.test/mcp', headers: {} },
      { fetch: async () => answer(body), idleMs: 600_000, maxBytes: 1_000 },
    )
    const { signal } = new AbortController()
    const sent = await upstream.send({ method: 'POST', headers: new Headers(), body: '{}', signal })
    const passed = await passedAnswer(sent, { id: null, server: null, change: null })
    await passed.body?.cancel()
    expect([vi.getTimerCount(), isCancelled]).toEqual([0, true])
  })
}
