import { readResponse } from '@countersign/engine'
import fc from 'fast-check'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { expect, test } from 'vitest'
import { eventLines } from '../../../../../test/support/provider/event-lines.js'
import { type JsonObject, objects } from '../../base/json-object.js'
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

/** Null where the stream holds a call that cannot be judged, or contradicts itself, which blocks it. */
function judged(events: readonly JsonObject[]): { calls: string[]; released: JsonObject[] } | null {
  const hold = openaiChat.readStream({})
  const flowed = events.flatMap((event) => hold.take(structuredClone(event)))
  const { calls, problems } = readResponse(hold.response())
  if (hold.contradiction() !== null || problems.length > 0 || calls.some(({ problem }) => problem !== null)) return null
  return { calls: calls.map(meaning), released: [...flowed, ...hold.release()] }
}

const meaning = ({ id, name, arguments: args }: { id: string; name: string; arguments: unknown }): string =>
  JSON.stringify([id, name, args])

/** The calls as the client's own helper puts them together, at the end of each and of all; none where it refuses. */
async function seen(events: readonly JsonObject[]): Promise<string[]> {
  const whole: string[] = []
  const stream = ChatCompletionStream.fromReadableStream(eventLines(events))
  let lastSeen: readonly { message?: { tool_calls?: unknown[] } }[] = []
  stream.on('chunk', (_chunk, { choices }) => {
    lastSeen = choices
  })
  stream.on('tool_calls.function.arguments.done', ({ index }) => {
    const call = lastSeen.flatMap(({ message }) => message?.tool_calls ?? []).at(index)
    whole.push(...meanings([{ index: 0, message: { tool_calls: [call] } }]))
  })
  try {
    return [...whole, ...meanings((await stream.finalChatCompletion()).choices)]
  } catch {
    return whole
  }
}

const meanings = (choices: unknown): string[] =>
  readResponse({ choices })
    .calls.filter(({ problem }) => problem === null)
    .map(meaning)

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
  expect(new Set(await seen(judgement?.released ?? []))).toEqual(new Set(judgement?.calls))
  expect(judgement?.calls).not.toEqual([])
})

test('the client sees of a choice without a number what was judged', async () => {
  const events = streamed([
    [{ index: 0, id: 'a', type: 'function', function: pay }],
    [{ index: 0, function: { arguments: '{"n":500}' } }],
  ])
  delete objects(events[2]?.choices)[0]?.index
  const judgement = judged(events)
  expect(judgement?.calls).toEqual(['["a","pay",{"n":500}]'])
  expect(new Set(await seen(judgement?.released ?? []))).toEqual(new Set(judgement?.calls))
})

test('arguments that are a value and no text are judged as that value', () => {
  const value = { index: 0, id: 'a', type: 'function', function: { name: 'pay', arguments: { n: 500 } } }
  expect(judged(streamed([[value]]))?.calls).toEqual(['["a","pay",{"n":500}]'])
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

/** What else a chunk may bring: an end before the end, a whole message, no number. */
const oddity = fc.constantFrom<JsonObject>(
  ...Array.from({ length: 6 }, () => ({})),
  { finish_reason: 'tool_calls' },
  { index: undefined },
  { index: '0' },
  { message: { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: look }] } },
  { message: { role: 'assistant', content: 'hm' } },
)

test('whatever a provider mixes up, the client sees no call that was not judged', async () => {
  const pieces = fc.array(fc.tuple(fc.array(piece, { minLength: 1, maxLength: 2 }), oddity), {
    minLength: 1,
    maxLength: 4,
  })
  const property = fc.asyncProperty(pieces, async (chunks) => {
    const events = streamed(chunks.map(([parts]) => parts))
    for (const [at, [, odd]] of chunks.entries()) Object.assign(objects(events[at + 1]?.choices)[0] ?? {}, odd)
    const judgement = judged(events)
    if (judgement === null) return
    for (const call of await seen(judgement.released)) expect(judgement.calls).toContain(call)
  })
  await fc.assert(property, { numRuns: 2_000, seed: 17 })
})
