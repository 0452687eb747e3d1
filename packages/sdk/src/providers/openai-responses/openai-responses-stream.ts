import { randomUUID } from 'node:crypto'
import { isRunByProvider } from '@countersign/engine'
import { isObject, type JsonObject, objects, text } from '../../base/json-object.js'
import { type Numbered, newIndex, nextIndex, runOf } from '../numbering.js'
import type { StreamHold } from '../provider.js'
import { pieceText } from '../same-arguments.js'
import { callsExcept, mayBeCall } from './openai-responses-calls.js'
import {
  contradictionIn,
  type Part,
  partOf,
  type ResponseEvent,
  type Spoken,
  type Statement,
  twoItems,
} from './openai-responses-contradiction.js'

interface Item extends Spoken, Numbered {
  fields: JsonObject
  begun: boolean
  run: number
  /** The program saw it begin before the hold. */
  flowed: boolean
  readonly statements: Statement[]
  readonly parts: Map<string, Part>
}

interface Held {
  event: JsonObject
  /** The output item that the event is about; null for events about the response. */
  item: Item | null
}

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Output items are numbered by `output_index`; the terminal event holds the whole response again. */
export function readResponseStream(_request: JsonObject, { holdAll = false } = {}): StreamHold {
  const items: Item[] = []
  /** Items of which only parts came. */
  const strays = new Set<Item>()
  /** By number, and by id: either may be missing on the wire. */
  const open = new Map<number | string, Item>()
  const held: Held[] = []
  const responses: ResponseEvent[] = []
  let begun: JsonObject = {}
  let crossed: string | null = null
  let holding = holdAll

  const itemOf = (event: JsonObject): Item | null => {
    const places = placesOf(event)
    const [known, other] = places.map((place) => open.get(place)).filter((item) => item !== undefined)
    if (known !== undefined && other !== undefined && known !== other) crossed ??= twoItems(event, known, other)
    const isNew = known === undefined || (known.begun && event.type === 'response.output_item.added')
    if (!isObject(event.item) && (!isNew || partOf(event) === null)) return known ?? null
    const item = isNew ? newItem(numberOf(event) ?? (items.at(-1)?.index ?? -1) + 1) : known
    for (const place of places) if (isNew || !open.has(place)) open.set(place, item)
    if (isObject(event.item)) begin(item, event.item, event)
    else strays.add(item)
    return item
  }

  const begin = (item: Item, fields: JsonObject, event: JsonObject): void => {
    item.statements.push({ by: text(event.type), fields })
    if (!item.begun || event.type === 'response.output_item.done') item.fields = { ...fields }
    if (item.begun) return
    item.begun = true
    item.run = runOf(items, item.index)
    items.push(item)
    strays.delete(item)
  }

  const take = (event: JsonObject): JsonObject[] => {
    const response = isObject(event.response) ? event.response : {}
    if (event.type === 'response.created') {
      begun = response
      open.clear()
    }
    const item = itemOf(event)
    const isPart = item !== null && addPart(item, event)
    if (item !== null) addDelta(item, event)
    const output = objects(response.output)
    const last = TERMINAL.has(text(event.type))
    if (last || output.length > 0) responses.push({ by: text(event.type), response, last })
    holding ||= isPart || (item !== null && mayBeCall(item.fields)) || output.some(mayBeCall)
    if (item !== null) item.flowed ||= !holding
    if (!holding) return [event]
    held.push({ event, item })
    return []
  }

  const contradiction = (): string | null =>
    crossed ?? contradictionIn({ items, strays: [...strays], responses, judged: wholeOutput(responses, items) })

  return {
    take,
    doubt: (problem) => {
      crossed ??= problem
      holding = true
    },
    holding: () => holding,
    complete: () => responses.some(({ last }) => last),
    response: () => ({
      ...begun,
      ...responses.findLast(({ last }) => last)?.response,
      output: wholeOutput(responses, items),
    }),
    contradiction,
    release: () => held.map(({ event }) => event),
    releaseOnly: (allowedIds, said) => {
      const contradicts = contradiction() !== null
      const goneFields = callsExcept(
        items.map(({ fields }) => fields),
        allowedIds,
      )
      const gone = new Set(items.filter(({ fields, flowed }) => goneFields.has(fields) || (contradicts && !flowed)))
      const left = contradicts ? held.filter(({ event }) => isObject(event.response)) : held
      const events = left.flatMap((one) => rewrite(one, gone, allowedIds))
      const first = held.find(({ event }) => typeof event.sequence_number === 'number')?.event.sequence_number
      return renumbered(said === undefined ? events : withText(events, said, nextIndex(items, gone)), first)
    },
  }
}

function newItem(index: number): Item {
  return { index, run: 0, fields: {}, begun: false, flowed: false, statements: [], parts: new Map() }
}

const numberOf = (event: JsonObject): number | null =>
  typeof event.output_index === 'number' ? event.output_index : null

/** Which item an event is about, by its number and by its id. None for events about the response. */
function placesOf(event: JsonObject): (number | string)[] {
  const number = numberOf(event)
  const id = isObject(event.item) ? text(event.item.id) || text(event.item.call_id) : text(event.item_id)
  return [...(number === null ? [] : [number]), ...(id === '' ? [] : [id])]
}

/** True when the event is a part of what the program may be asked to run. */
function addPart(item: Item, event: JsonObject): boolean {
  const part = partOf(event)
  if (part === null) return false
  const before = item.parts.get(part.key) ?? { type: part.type, grown: '', ends: [] }
  item.parts.set(part.key, before)
  before.grown += part.grown
  if (part.end !== undefined) before.ends.push({ by: text(event.type), fields: { [part.key]: part.end } })
  if (pieceText(event.name) !== '') item.statements.push({ by: text(event.type), fields: { name: event.name } })
  return !isRunByProvider(item.fields)
}

function addDelta(item: Item, event: JsonObject): void {
  const { fields } = item
  switch (event.type) {
    case 'response.function_call_arguments.delta':
      fields.arguments = text(fields.arguments) + pieceText(event.delta)
      break
    case 'response.function_call_arguments.done':
      fields.arguments = event.arguments ?? fields.arguments
      break
    case 'response.custom_tool_call_input.delta':
      fields.input = text(fields.input) + pieceText(event.delta)
      break
    case 'response.custom_tool_call_input.done':
      fields.input = event.input ?? fields.input
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

/** What the terminal events say, and whatever was streamed but is missing there. */
function wholeOutput(responses: readonly ResponseEvent[], items: readonly Item[]): JsonObject[] {
  const output = responses.flatMap(({ last, response }) => (last ? objects(response.output) : []))
  const known = new Set(output.flatMap((item) => [text(item.id), text(item.call_id)]).filter((id) => id !== ''))
  const missing = items.filter(({ fields }) => !known.has(text(fields.id)) && !known.has(text(fields.call_id)))
  return [...output, ...missing.map(({ fields }) => fields)]
}

function rewrite({ event, item }: Held, gone: ReadonlySet<Item>, allowedIds: ReadonlySet<string>): JsonObject[] {
  if (item !== null) {
    // A part of an item that no event brought belongs to nothing that was judged.
    if (gone.has(item) || !item.begun) return []
    return [{ ...event, output_index: newIndex(item, gone) }]
  }
  if (placesOf(event).length > 0) return []
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
    // A conversation must not have two items of one id.
    id: `msg_countersign_${randomUUID().replaceAll('-', '')}`,
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
  const ended = { ...terminal, response: { ...response, output: [...objects(response.output), item] } }
  return [...events.slice(0, end), ...added, ended, ...events.slice(end + 1)]
}
