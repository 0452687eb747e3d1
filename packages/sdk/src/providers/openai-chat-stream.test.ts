import { readResponse } from '@countersign/engine'
import fc from 'fast-check'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { expect, test } from 'vitest'
import type { JsonObject } from '../json-object.js'
import { openaiChat } from './openai-chat.js'

const chunk = (delta: JsonObject, finishReason: string | null = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finishReason }],
})

const streamed = (parts: JsonObject[][]): JsonObject[] => [
  chunk({ role: 'assistant', content: null }),
  ...parts.map((tool_calls) => chunk({ tool_calls })),
  chunk({}, 'tool_calls'),
]

/** Null where the stream holds a call that cannot be judged, which blocks it. */
function judged(events: readonly JsonObject[]): { calls: string[]; released: JsonObject[] } | null {
  const gate = openaiChat.readStream({})
  const flowed = events.flatMap((event) => gate.take(structuredClone(event)))
  const { calls, problems } = readResponse(gate.response())
  if (problems.length > 0 || calls.some(({ problem }) => problem !== null)) return null
  return { calls: calls.map(meaning), released: [...flowed, ...gate.release()] }
}

const meaning = ({ id, name, arguments: args }: { id: string; name: string; arguments: unknown }): string =>
  JSON.stringify([id, name, args])

/** The calls as the client's own helper puts them together; none where it refuses the stream. */
async function seen(events: readonly JsonObject[]): Promise<string[]> {
  const lines = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const event of events) controller.enqueue(new TextEncoder().encode(`${JSON.stringify(event)}\n`))
      controller.close()
    },
  })
  const stream = ChatCompletionStream.fromReadableStream(lines)
  try {
    return readResponse(await stream.finalChatCompletion())
      .calls.filter(({ problem }) => problem === null)
      .map(meaning)
  } catch {
    return []
  }
}

const look = { name: 'look', arguments: '{"n":500}' }
const pay = { name: 'pay', arguments: '' }

test.each<[string, JsonObject[][]]>([
  [
    'two calls under one index',
    [
      [{ index: 0, id: 'a', type: 'function', function: look }],
      [{ index: 0, id: 'b', type: 'function', function: pay }],
    ],
  ],
  [
    'a part without an index',
    [[{ index: 0, id: 'a', type: 'function', function: { name: 'pay' } }], [{ function: { arguments: '{"n":500}' } }]],
  ],
])('the client sees of a stream with %s what was judged', async (_, parts) => {
  const judgement = judged(streamed(parts))
  expect(await seen(judgement?.released ?? [])).toEqual(judgement?.calls)
  expect(judgement?.calls).not.toEqual([])
})

test('a call that is streamed as a function and as a custom tool is blocked', () => {
  const parts = [{ index: 0, id: 'a', type: 'custom', custom: { name: 'look', input: 'x' } }]
  expect(judged(streamed([parts]))?.calls).toEqual(['["a","look",{"input":"x"}]'])
  expect(judged(streamed([parts, [{ index: 0, function: pay }]]))).toBeNull()
})

const piece = fc
  .record({
    index: fc.constantFrom(0, 0, 1, 1, undefined),
    id: fc.constantFrom(undefined, undefined, 'a', 'b', ''),
    name: fc.constantFrom(undefined, undefined, 'look', 'pay', ''),
    text: fc.constantFrom(undefined, '', '{}', '{"n":1}', '{"n":', '2}'),
    kind: fc.constantFrom('function', 'function', 'function', 'custom', 'both'),
  })
  .map(({ index, id, name, text, kind }) => ({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    type: kind === 'function' ? 'function' : 'custom',
    ...(kind !== 'custom' && { function: { ...(name !== undefined && { name }), arguments: text } }),
    ...(kind !== 'function' && { custom: { ...(name !== undefined && { name }), input: text } }),
  }))

test('whatever a provider mixes up, the client sees no call that was not judged', async () => {
  const pieces = fc.array(fc.array(piece, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(pieces, async (parts) => {
    const judgement = judged(streamed(parts))
    if (judgement === null) return
    for (const call of await seen(judgement.released)) expect(judgement.calls).toContain(call)
  })
  await fc.assert(property, { numRuns: 1_000, seed: 17 })
})
