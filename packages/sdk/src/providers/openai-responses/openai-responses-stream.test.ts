import { readResponse } from '@countersign/engine'
import fc from 'fast-check'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { expect, test } from 'vitest'
import { eventLines } from '../../../../../test/support/provider/event-lines.js'
import { isObject, type JsonObject, objects, text } from '../../base/json-object.js'
import { openaiResponses } from './openai-responses.js'

/** Null where the stream is blocked. */
function judged(events: readonly JsonObject[]): { calls: string[]; released: JsonObject[] } | null {
  const hold = openaiResponses.readStream({})
  const flowed = events.flatMap((event) => hold.take(structuredClone(event)))
  const { calls, problems } = readResponse(hold.response())
  if (hold.contradiction() !== null || problems.length > 0 || calls.some(({ problem }) => problem !== null)) return null
  return {
    calls: calls.map(({ name, arguments: args }) => JSON.stringify([name, args])),
    released: [...flowed, ...hold.release()],
  }
}

const meaning = (name: unknown, args: unknown): string => {
  const json = text(args) === '' ? '{}' : text(args)
  try {
    return JSON.stringify([name, JSON.parse(json)])
  } catch {
    return ''
  }
}

/** Every whole call that a program can read: by the client's helper, of items that are done, of the ends of arguments. */
async function seen(events: readonly JsonObject[]): Promise<string[]> {
  const calls: string[] = []
  const see = (item: unknown): void => {
    if (isObject(item) && item.type === 'function_call') calls.push(meaning(item.name, item.arguments))
  }
  for (const event of events) {
    if (event.type === 'response.output_item.done') see(event.item)
    if (event.type === 'response.function_call_arguments.done' && event.name) {
      calls.push(meaning(event.name, event.arguments))
    }
    if (isObject(event.response)) objects(event.response.output).forEach(see)
  }
  calls.push(...piecedTogether(events, 'output_index'), ...piecedTogether(events, 'item_id'))
  try {
    for (const item of (await ResponseStream.fromReadableStream(eventLines(events)).finalResponse()).output) see(item)
  } catch {
    // The client refuses the stream.
  }
  return calls.filter((call) => call !== '')
}

/** As programs do that read the pieces alone, by the number or by the id of their items. */
function piecedTogether(events: readonly JsonObject[], key: 'output_index' | 'item_id'): string[] {
  const items = new Map<unknown, { name: unknown; args: string; grew: boolean }>()
  for (const event of events) {
    if (event.type === 'response.output_item.added' && isObject(event.item) && event.item.type === 'function_call') {
      const place = key === 'item_id' ? event.item.id : event.output_index
      items.set(place, { name: event.item.name, args: text(event.item.arguments), grew: false })
    }
    const item = items.get(event[key])
    if (item === undefined || event.type !== 'response.function_call_arguments.delta') continue
    item.args += text(event.delta)
    item.grew = true
  }
  return [...items.values()].filter(({ grew }) => grew).map(({ name, args }) => meaning(name, args))
}

const args = fc.constantFrom('', '{}', '{"n":1}', '{"n":2}')
const item = fc.record({
  type: fc.constantFrom('function_call', 'function_call', 'function_call', 'message'),
  id: fc.constantFrom('fc_1', 'fc_1', 'fc_2'),
  call_id: fc.constantFrom('c1', 'c1', 'c2'),
  name: fc.constantFrom('look', 'look', 'pay'),
  arguments: args,
  content: fc.constant([]),
})
const output_index = fc.constantFrom<unknown>(0, 0, 0, 1, undefined)
const item_id = fc.constantFrom('fc_1', 'fc_1', 'fc_2', undefined)
const event = fc.oneof(
  fc.record({
    type: fc.constantFrom('response.output_item.added', 'response.output_item.done', 'response.output_item.done'),
    output_index,
    item,
  }),
  fc.record({
    type: fc.constant('response.function_call_arguments.delta'),
    output_index,
    item_id,
    delta: fc.constantFrom('', '{}', '{"n":1}', '{"n":', '2}'),
  }),
  fc.record({
    type: fc.constant('response.function_call_arguments.done'),
    output_index,
    item_id,
    name: fc.constantFrom('look', 'pay', undefined),
    arguments: args,
  }),
)

test('whatever a provider mixes up, the program sees no call that was not judged', async () => {
  const events = fc.array(event, { minLength: 1, maxLength: 6 })
  let released = 0
  const property = fc.asyncProperty(fc.array(item, { maxLength: 2 }), events, async (output, middle) => {
    const judgement = judged([
      { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
      ...middle,
      { type: 'response.completed', response: { id: 'r', status: 'completed', output } },
    ])
    if (judgement === null || judgement.calls.length === 0) return
    released += 1
    for (const call of await seen(judgement.released)) expect(judgement.calls).toContain(call)
  })
  await fc.assert(property, { numRuns: 3_000, seed: 17 })
  expect(released).toBeGreaterThan(100)
})
