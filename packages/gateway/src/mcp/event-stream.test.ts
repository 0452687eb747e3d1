import { expect, test } from 'vitest'
import { readEvents } from './event-stream.js'

async function eventsOf(chunks: readonly string[]) {
  const encoder = new TextEncoder()
  const body = (async function* () {
    for (const chunk of chunks) yield encoder.encode(chunk)
  })()
  const events = []
  for await (const event of readEvents(body)) events.push(event)
  return events
}

const TEXT = 'data: 1\n\ndata: 2\r\n\r\n\rid: 7\ndata: 3\r\rdata\ndata:4\n\r\n: here\r\n\ndata: 5\n\r'

test.each([1, 2, 3, 7, TEXT.length])('events are the same in pieces of %i characters', async (size) => {
  const chunks = Array.from({ length: Math.ceil(TEXT.length / size) }, (_, at) =>
    TEXT.slice(at * size, (at + 1) * size),
  )
  const events = await eventsOf(chunks)
  expect(events.map(({ data }) => data).filter((data) => data !== null)).toEqual(['1', '2', '3', '\n4', '5'])
  expect(events.map(({ raw }) => raw).join('')).toBe(TEXT)
})

test('an event in many small pieces is not looked through again with each', async () => {
  // Each piece would take milliseconds, and all of them minutes.
  const piece = 'x'.repeat(512)
  const pieces = Array.from({ length: 32_000 }, () => piece)
  const [event] = await eventsOf(['data: ', ...pieces, '\n\n'])
  expect(event?.data).toHaveLength(512 * 32_000)
})
