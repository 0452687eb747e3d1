import { isRunByProvider } from '@countersign/engine'
import { isObject, type JsonObject, objects, text, without } from '../../base/json-object.js'
import { quoteName } from '../../base/quote-name.js'
import { pieceText, sameArguments, sameValues } from '../same-arguments.js'
import { callsOf, mayBeCall } from './openai-responses-calls.js'

/** What events said of an item: the event, and the fields it named. */
export interface Statement {
  readonly by: string
  readonly fields: JsonObject
}

/** What of an item came in pieces. */
export interface Part {
  /** Items of this type have such a part. */
  readonly type: string
  grown: string
  /** What the events said that ended it. */
  readonly ends: Statement[]
}

/** All that the events said of one output item. */
export interface Spoken {
  readonly index: number
  /** As they were put together. */
  readonly fields: JsonObject
  readonly statements: readonly Statement[]
  readonly parts: ReadonlyMap<string, Part>
}

/** A whole response in an event; `last` where it ends the stream. */
export interface ResponseEvent {
  readonly by: string
  readonly response: JsonObject
  readonly last: boolean
}

interface Streamed {
  readonly items: readonly Spoken[]
  /** Items of which only parts came. */
  readonly strays: readonly Spoken[]
  readonly responses: readonly ResponseEvent[]
  /** The output that is judged. */
  readonly judged: readonly JsonObject[]
}

/**
 * One thing that a stream says in two ways about its calls; null when there is none. A call is described piece by piece, by
 * the end of the pieces, by its item, and by the whole response: a program may take it from any of them.
 */
export function contradictionIn({ items, strays, responses, judged }: Streamed): string | null {
  const output = responses
    .filter(({ last }) => last)
    .map(({ by, response }) => ({ by, items: objects(response.output) }))
  for (const item of strays) {
    const ends = output.flatMap(({ by, items: all }) => saidBy(by, all.slice(item.index, item.index + 1)))
    if (ends.length === 0) return `parts came of item ${item.index}, which no event brought`
    const found = ends.map((end) => differing(item, end)).find((two) => two !== null)
    if (found !== undefined) return found
  }
  for (const item of items) {
    const ends = output.flatMap(({ by, items: all }) =>
      saidBy(
        by,
        all.filter((one) => isSame(one, item.fields)),
      ),
    )
    const joined = { by: item.statements.at(-1)?.by ?? '', fields: item.fields }
    const found = [...ends, joined].map((end) => differing(item, end)).find((two) => two !== null)
    if (found !== undefined) return found
  }
  return unjudged(items, responses, judged)
}

const saidBy = (by: string, items: readonly JsonObject[]): Statement[] => items.map((fields) => ({ by, fields }))

/** The output of a call has the call's id too. */
const isSame = (one: JsonObject, item: JsonObject): boolean =>
  (text(item.id) !== '' && one.id === item.id) ||
  (text(item.call_id) !== '' && one.call_id === item.call_id && isCallType(one) && isCallType(item))

export function twoItems({ type }: JsonObject, one: Spoken, other: Spoken): string | null {
  const isCall = [one, other].some((item) => isCallType(item.fields) || item.parts.size > 0)
  return isCall ? `${text(type)} belongs to two items, one by its number and one by its id` : null
}

function differing(item: Spoken, end: Statement): string | null {
  const kinds = [...item.statements.map(({ fields }) => fields).filter(({ type }) => type !== undefined), end.fields]
  if (item.parts.size === 0 ? !kinds.some(mayBeCall) : kinds.every(isRunByProvider)) return null
  const two = (what: string, by: string): string =>
    `call ${quoteName(text(end.fields.call_id) || text(item.fields.call_id))} has two ${what}, in ${by} and in ${end.by}`
  for (const { by, fields } of item.statements) {
    const key = differingKey(fields, end.fields, by === 'response.output_item.added')
    if (key !== null) return two(WORDS.get(key) ?? `${key}s`, by)
  }
  for (const [key, { type, grown, ends }] of item.parts) {
    if (type !== end.fields.type) return two('types', 'its parts')
    const whole = partAt(end.fields, key)
    const [word = key] = key.split(' ')
    const words = WORDS.get(word) ?? `${word}s`
    const other = ends.find(({ fields }) => !samePart(key, fields[key], whole))
    if (other !== undefined) return two(words, other.by)
    const before = text(partAt(item.statements[0]?.fields ?? {}, key))
    if (grown !== '' && !samePart(key, grown, whole) && !samePart(key, before + grown, whole))
      return two(words, 'its deltas')
  }
  return null
}

const WORDS = new Map([
  ['arguments', 'arguments'],
  ['call_id', 'call ids'],
])

const isCallType = ({ type }: JsonObject): boolean => text(type).endsWith('_call')

/**
 * The first key that two readings of a call have otherwise; null when they mean the same. An item that was only added
 * may leave out what is not known yet; of a built-in tool not even its call's id is known before it is done.
 */
function differingKey(fields: JsonObject, end: JsonObject, isAdded: boolean): string | null {
  const isBuiltIn = isCallType(fields) && fields.type !== 'function_call' && fields.type !== 'custom_tool_call'
  for (const key of isAdded && isBuiltIn ? ['type'] : ['type', 'call_id', 'name']) {
    if (pieceText(fields[key]) !== '' && fields[key] !== end[key]) return key
  }
  if (isBuiltIn) {
    const asked = isAdded ? {} : without(fields, 'id', 'status')
    return Object.keys(asked).find((key) => !sameValues(asked[key], end[key])) ?? null
  }
  for (const key of ['arguments', 'input']) {
    if (fields[key] === undefined || (isAdded && fields[key] === '')) continue
    if (!samePart(key, fields[key], end[key])) return key
  }
  return null
}

/** Only arguments are JSON. */
const samePart = (key: string, one: unknown, other: unknown): boolean =>
  key === 'arguments' ? sameArguments(one, other) : sameValues(one, other)

/** A call in the events, or in a response, that is none in what is judged: there the provider has run it. */
function unjudged(
  items: readonly Spoken[],
  responses: readonly ResponseEvent[],
  judged: readonly JsonObject[],
): string | null {
  const known = [...callsOf(judged)]
  const alone = (call: JsonObject, by: string): string =>
    `call ${quoteName(text(call.call_id))} is to be run in one place only, in ${by}`
  for (const call of callsOf(items.map(({ fields }) => fields))) {
    if (!known.some(({ type, call_id }) => type === call.type && call_id === call.call_id))
      return alone(call, 'the events')
  }
  for (const { by, response } of responses) {
    for (const call of callsOf(objects(response.output))) {
      if (!known.some((one) => differingKey(call, one, false) === null)) return alone(call, by)
    }
  }
  return null
}

interface NewPart {
  readonly key: string
  readonly type: string
  readonly grown: string
  /** Undefined in an event that does not end the part. */
  readonly end: unknown
}

/** The part of an item that an event brings; null when it brings none. */
export function partOf(event: JsonObject): NewPart | null {
  const type = text(event.type)
  const kind = PARTS.find(({ prefix }) => type.startsWith(prefix))
  if (kind === undefined) return null
  const key = kind.key === 'command' ? `command ${event.command_index}` : kind.key
  const grown = type.endsWith('.delta') ? pieceText(event.delta) : ''
  return { key, type: kind.type, grown, end: type.endsWith('.done') ? event[kind.key] : undefined }
}

const PARTS = [
  { prefix: 'response.function_call_arguments.', type: 'function_call', key: 'arguments' },
  { prefix: 'response.custom_tool_call_input.', type: 'custom_tool_call', key: 'input' },
  { prefix: 'response.apply_patch_call_operation_diff.', type: 'apply_patch_call', key: 'diff' },
  { prefix: 'response.shell_call_command.', type: 'shell_call', key: 'command' },
]

/** The same part of a whole item. */
function partAt(fields: JsonObject, key: string): unknown {
  if (key === 'diff') return isObject(fields.operation) ? fields.operation.diff : undefined
  if (!key.startsWith('command ')) return fields[key]
  const commands = isObject(fields.action) ? fields.action.commands : undefined
  return Array.isArray(commands) ? commands[Number(key.slice('command '.length))] : undefined
}
