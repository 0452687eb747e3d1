import { isObject, type JsonObject, objects, text } from '../json-object.js'
import { type Numbered, newIndex, nextIndex, runOf } from './numbering.js'
import type { StreamGate } from './provider.js'

interface Item extends Numbered {
  fields: JsonObject
}

interface Held {
  event: JsonObject
  /** The output item that the event is about; null for events about the response. */
  item: Item | null
}

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Output items are numbered by `output_index`; the terminal event holds the whole response again. */
export function readResponseStream(_request: JsonObject, { holdAll = false } = {}): StreamGate {
  const items: Item[] = []
  const open = new Map<unknown, Item>()
  const held: Held[] = []
  const ended: JsonObject[] = []
  let begun: JsonObject = {}
  let holding = holdAll

  const itemOf = (event: JsonObject): Item | null => {
    const place = placeOf(event)
    if (place === null) return null
    const known = open.get(place)
    if (event.type !== 'response.output_item.added' || !isObject(event.item)) {
      if (known !== undefined && event.type === 'response.output_item.done' && isObject(event.item)) {
        known.fields = { ...event.item }
      }
      if (known !== undefined || !isObject(event.item)) return known ?? null
    }
    const index = typeof event.output_index === 'number' ? event.output_index : (items.at(-1)?.index ?? -1) + 1
    const item: Item = { index, run: runOf(items, index), fields: { ...event.item } }
    items.push(item)
    open.set(place, item)
    return item
  }

  const take = (event: JsonObject): JsonObject[] => {
    const item = itemOf(event)
    if (item !== null) addDelta(item, event)
    const response = isObject(event.response) ? event.response : {}
    if (event.type === 'response.created') begun = response
    if (TERMINAL.has(text(event.type))) ended.push(response)
    holding ||= (item !== null && mayBeCall(item.fields)) || objects(response.output).some(mayBeCall)
    if (!holding) return [event]
    held.push({ event, item })
    return []
  }

  return {
    take,
    holding: () => holding,
    complete: () => ended.length > 0,
    response: () => ({ ...begun, ...ended.at(-1), output: wholeOutput(ended, items) }),
    release: () => held.map(({ event }) => event),
    releaseOnly: (allowedIds, said) => {
      const goneFields = callsExcept(
        items.map(({ fields }) => fields),
        allowedIds,
      )
      const gone = new Set(items.filter(({ fields }) => goneFields.has(fields)))
      const events = held.flatMap((one) => rewrite(one, gone, allowedIds))
      const first = held.find(({ event }) => typeof event.sequence_number === 'number')?.event.sequence_number
      return renumbered(said === undefined ? events : withText(events, said, nextIndex(items, gone)), first)
    },
  }
}

/** Which item an event is about: its number may be missing on the wire. Null for events about the response. */
function placeOf(event: JsonObject): number | string | null {
  if (typeof event.output_index === 'number') return event.output_index
  if (isObject(event.item)) return text(event.item.id) || text(event.item.call_id)
  return typeof event.item_id === 'string' ? event.item_id : null
}

/** Built-in tools that only the provider can run. */
const PROVIDER_RUN = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
])

/** An item that may turn out to be a call. While it is streamed, its end and its output are not known yet. */
function mayBeCall(item: JsonObject): boolean {
  const type = text(item.type)
  return type.endsWith('_call') && !PROVIDER_RUN.has(type) && !isInContainer(item) && item.execution !== 'server'
}

function isInContainer(item: JsonObject): boolean {
  return isObject(item.environment) && text(item.environment.type).startsWith('container')
}

/**
 * The items of an output that ask the program to run something. What the provider ran itself is no call: it waits
 * for no answer, or its output is there too. It was judged when it was offered.
 */
export function callsOf(output: readonly JsonObject[]): Set<JsonObject> {
  const ran = new Set(output.filter((item) => text(item.type).endsWith('_output')).map((item) => item.call_id))
  const isCall = (item: JsonObject): boolean => {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') return true
    if (!text(item.type).endsWith('_call') || isInContainer(item)) return false
    return item.call_id !== undefined && item.call_id !== null && !ran.has(item.call_id)
  }
  return new Set(output.filter(isCall))
}

/** The calls of an output that are not among these. */
export function callsExcept(output: readonly JsonObject[], allowedIds: ReadonlySet<string>): Set<JsonObject> {
  return new Set([...callsOf(output)].filter((item) => !allowedIds.has(text(item.call_id))))
}

function addDelta(item: Item, event: JsonObject): void {
  const { fields } = item
  switch (event.type) {
    case 'response.function_call_arguments.delta':
      fields.arguments = text(fields.arguments) + text(event.delta)
      break
    case 'response.function_call_arguments.done':
      fields.arguments = event.arguments
      break
    case 'response.custom_tool_call_input.delta':
      fields.input = text(fields.input) + text(event.delta)
      break
    case 'response.custom_tool_call_input.done':
      fields.input = event.input
      break
    case 'response.content_part.added':
    case 'response.content_part.done':
      fields.content = withPart(fields.content, event.content_index, event.part)
      break
    case 'response.output_text.delta':
      fields.content = withGrownText(fields.content, event)
      break
  }
}

function withPart(content: unknown, index: unknown, part: unknown): unknown[] {
  const parts = Array.isArray(content) ? [...content] : []
  parts[typeof index === 'number' ? index : parts.length] = part
  return parts
}

function withGrownText(content: unknown, event: JsonObject): unknown {
  if (!Array.isArray(content) || typeof event.content_index !== 'number') return content
  const part: unknown = content[event.content_index]
  if (!isObject(part)) return content
  return withPart(content, event.content_index, { ...part, text: text(part.text) + text(event.delta) })
}

/** What the terminal events say, and whatever was streamed but is missing there, or was not the same. */
function wholeOutput(ended: JsonObject[], items: Item[]): JsonObject[] {
  const told = ended.flatMap((response) => objects(response.output))
  const known = new Set(told.flatMap((item) => [text(item.id), text(item.call_id)]).filter((id) => id !== ''))
  const meanings = new Set(told.map(meaningOf))
  const untold = items.filter(({ fields }) =>
    known.has(text(fields.id)) || known.has(text(fields.call_id))
      ? callsOf([fields]).size > 0 && !meanings.has(meaningOf(fields))
      : true,
  )
  return [...told, ...untold.map(({ fields }) => fields)]
}

/** A call that was streamed otherwise than it is told at the end is another one: the program may take either. */
const meaningOf = ({ type, call_id, name, arguments: args, input }: JsonObject): string =>
  JSON.stringify([type, call_id, name, args, input])

function rewrite({ event, item }: Held, gone: ReadonlySet<Item>, allowedIds: ReadonlySet<string>): JsonObject[] {
  if (item !== null) {
    if (gone.has(item)) return []
    return [{ ...event, output_index: newIndex(item, gone) }]
  }
  // A part of an item that was never added belongs to nothing that was judged.
  if (placeOf(event) !== null) return []
  if (!isObject(event.response) || !Array.isArray(event.response.output)) return [event]
  const output = objects(event.response.output)
  const dropped = callsExcept(output, allowedIds)
  return [{ ...event, response: { ...event.response, output: output.filter((one) => !dropped.has(one)) } }]
}

function renumbered(events: JsonObject[], first: unknown): JsonObject[] {
  if (typeof first !== 'number') return events
  return events.map((event, position) => ({ ...event, sequence_number: first + position }))
}

export function messageItem(said: string): JsonObject {
  return {
    id: 'msg_countersign',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }],
  }
}

function withText(events: JsonObject[], said: string, outputIndex: number): JsonObject[] {
  const item = messageItem(said)
  const at = { output_index: outputIndex, item_id: item.id, content_index: 0 }
  const part = objects(item.content)[0] ?? {}
  const added: JsonObject[] = [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: said, logprobs: [] },
    { type: 'response.output_text.done', ...at, text: said, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
  const end = events.findLastIndex((event) => TERMINAL.has(text(event.type)))
  if (end === -1) return [...events, ...added]
  const terminal = events[end] ?? {}
  const response = isObject(terminal.response) ? terminal.response : {}
  const told = { ...terminal, response: { ...response, output: [...objects(response.output), item] } }
  return [...events.slice(0, end), ...added, told, ...events.slice(end + 1)]
}
