import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import { readResponse } from '@countersign/engine'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventLines } from '../../../../../test/support/provider/event-lines.js'
import { isObject, type JsonObject } from '../../base/json-object.js'
import { anthropic } from './anthropic.js'

/** Null where the stream is blocked. */
function judged(events: readonly JsonObject[]): { calls: string[]; released: JsonObject[] } | null {
  const hold = anthropic.readStream({})
  const flowed = events.flatMap((event) => hold.take(structuredClone(event)))
  const { calls, problems } = readResponse(hold.response())
  if (hold.contradiction() !== null || problems.length > 0 || calls.some(({ problem }) => problem !== null)) return null
  return {
    calls: calls.map(({ id, name, arguments: args }) => JSON.stringify([id, name, args])),
    released: [...flowed, ...hold.release()],
  }
}

/** Every call that the client's own helper shows, at the end of a block, at the end of the message, or afterwards. */
async function seen(events: readonly JsonObject[]): Promise<string[]> {
  const calls: string[] = []
  const see = (block: unknown): void => {
    if (!isObject(block) || block.type !== 'tool_use') return
    calls.push(JSON.stringify([block.id, block.name, block.input === '' ? {} : block.input]))
  }
  const stream = MessageStream.fromReadableStream(eventLines(events))
  stream.on('contentBlock', see)
  stream.on('message', ({ content }) => content.forEach(see))
  try {
    for (const block of (await stream.finalMessage()).content) see(block)
  } catch {
    // The client refuses the stream.
  }
  return calls
}

const index = fc.constantFrom<unknown>(0, 0, 0, 1, 1, 2, -1, undefined, '0')
const input = fc.constantFrom<unknown>({}, {}, {}, { n: 1 }, '', undefined)
const block = fc.record({
  type: fc.constantFrom('tool_use', 'tool_use', 'tool_use', 'text', 'server_tool_use'),
  id: fc.constantFrom('a', 'b', 'c'),
  name: fc.constantFrom('look', 'pay'),
  input,
})
const started = fc.record({ type: fc.constant('content_block_start'), index, content_block: block })
const grown = fc.record({
  type: fc.constant('content_block_delta'),
  index,
  delta: fc.record({
    type: fc.constant('input_json_delta'),
    partial_json: fc.constantFrom('', '{}', '{"n":1}', '{"n":', '2}'),
  }),
})
const ended = fc.record({ type: fc.constant('content_block_stop'), index })

test('whatever a provider mixes up, the client sees no call that was not judged', async () => {
  const events = fc.array(fc.oneof(started, started, grown, ended), { minLength: 1, maxLength: 7 })
  let released = 0
  const property = fc.asyncProperty(fc.array(block, { maxLength: 1 }), events, async (content, middle) => {
    const judgement = judged([
      { type: 'message_start', message: { id: 'm', role: 'assistant', content, usage: {} } },
      ...middle,
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
      { type: 'message_stop' },
    ])
    if (judgement === null || judgement.calls.length === 0) return
    released += 1
    for (const call of await seen(judgement.released)) expect(judgement.calls).toContain(call)
  })
  await fc.assert(property, { numRuns: 1_500, seed: 17 })
  expect(released).toBeGreaterThan(100)
})
