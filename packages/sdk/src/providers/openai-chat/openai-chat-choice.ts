import { isObject, type JsonObject, objects, text, without } from '../../base/json-object.js'
import { pieceText } from '../same-arguments.js'
import { goesOn, holdsCalls, twoNames } from './openai-chat-contradiction.js'

/** One of the alternatives of a chat stream, as far as it has come. */
export interface Choice {
  index: number
  /** False when it is missing on the wire, if only once. */
  numbered: boolean
  message: JsonObject
  calls: Call[]
  legacyCall: Call | null
  /** The call that the last part belonged to. */
  lastCall: Call | null
  finishReason: string | null
  logprobs: JsonObject | null
  rest: JsonObject
  /** Whole messages with calls, which have no place in a stream: the client puts them in the place of what it read. */
  messages: JsonObject[]
  /** What its parts say in two ways; null when they do not. */
  contradiction: string | null
}

export interface Call {
  choice: number
  index: number
  /** Everything but the parts that grow; the legacy kind has no id on the wire. */
  fields: JsonObject
  legacy: boolean
  id: string
  name: string
  /** The arguments of a function, the input of a custom tool. */
  body: string
  /** Both, where a provider mixes them up: such a call is judged as malformed. */
  custom: boolean
  function: boolean
  /** A program may have taken it for whole. */
  ended: boolean
}

/** The choice that a part of a chunk belongs to: a new one where it is the first. */
export function choiceAt(choices: Map<number, Choice>, part: JsonObject): Choice {
  const index = typeof part.index === 'number' ? part.index : 0
  let choice = choices.get(index)
  if (choice === undefined) {
    choice = newChoice(index, without(part, 'index', 'delta', 'finish_reason', 'logprobs'))
    choices.set(index, choice)
  }
  choice.numbered &&= typeof part.index === 'number'
  return choice
}

function newChoice(index: number, rest: JsonObject): Choice {
  const none = { legacyCall: null, lastCall: null, finishReason: null, logprobs: null, contradiction: null }
  return { index, numbered: true, message: {}, calls: [], rest, messages: [], ...none }
}

/** True when the delta held a part of a call. */
export function addDelta(choice: Choice, part: JsonObject, callOf: Map<JsonObject, Call>): boolean {
  if (typeof part.finish_reason === 'string') choice.finishReason = part.finish_reason
  if (isObject(part.logprobs)) choice.logprobs = joinedLogprobs(choice.logprobs, part.logprobs)
  const delta = isObject(part.delta) ? part.delta : {}
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'function_call' || (key === 'tool_calls' && Array.isArray(value))) continue
    const before = choice.message[key]
    // Texts grow: content, refusal, and the reasoning that some providers add. The role is said once.
    if (typeof value === 'string' && typeof before === 'string' && key !== 'role') choice.message[key] = before + value
    else if (value !== null || before === undefined) choice.message[key] = value
  }
  const parts = objects(delta.tool_calls)
  for (const [position, call] of parts.entries()) addCallPart(choice, call, position, callOf)
  if (isObject(delta.function_call)) addLegacyPart(choice, delta.function_call)
  endCalls(choice, parts, text(part.finish_reason) !== '', callOf)
  if (holdsCalls(part.message)) choice.messages.push(part.message)
  // Calls in a shape that cannot be read are held too: the response that holds them is then judged malformed.
  return parts.length > 0 || isObject(delta.function_call) || isOddList(delta.tool_calls) || choice.messages.length > 0
}

/** The client says that a call is whole when a part of another comes, and when the choice ends. */
function endCalls(choice: Choice, parts: readonly JsonObject[], atEnd: boolean, callOf: Map<JsonObject, Call>): void {
  for (const part of parts) {
    const call = callOf.get(part) ?? null
    if (choice.lastCall !== null && choice.lastCall !== call) choice.lastCall.ended = true
    choice.lastCall = call
  }
  if (!atEnd) return
  for (const call of choice.calls) call.ended = true
  if (choice.legacyCall !== null) choice.legacyCall.ended = true
}

/** Calls that are there and no list. */
export function isOddList(calls: unknown): boolean {
  return calls !== undefined && calls !== null && !Array.isArray(calls)
}

function addCallPart(choice: Choice, part: JsonObject, position: number, callOf: Map<JsonObject, Call>): void {
  const index = typeof part.index === 'number' ? part.index : position
  const id = text(part.id)
  // Some providers give parallel calls one index, or none: another id is another call.
  let call = choice.calls.findLast(
    (known) => known.index === index && (id === '' || known.id === '' || known.id === id),
  )
  if (call === undefined) {
    call = newCall(choice.index, index)
    choice.calls.push(call)
  }
  callOf.set(part, call)
  Object.assign(call.fields, without(part, 'index', 'id', 'function', 'custom'))
  if (id !== '') call.id = id
  const detail = isObject(part.custom) ? part.custom : isObject(part.function) ? part.function : {}
  call.custom ||= isObject(part.custom)
  call.function ||= isObject(part.function)
  grow(choice, call, detail.name, isObject(part.custom) ? detail.input : detail.arguments)
}

function addLegacyPart(choice: Choice, part: JsonObject): void {
  choice.legacyCall ??= { ...newCall(choice.index, 0), legacy: true }
  grow(choice, choice.legacyCall, part.name, part.arguments)
}

function grow(choice: Choice, call: Call, namePiece: unknown, bodyPiece: unknown): void {
  const name = pieceText(namePiece)
  const added = pieceText(bodyPiece)
  choice.contradiction ??= twoNames(call, name) ?? goesOn(call, added)
  if (name !== '') call.name = name
  call.body += added
}

function newCall(choice: number, index: number): Call {
  const parts = { fields: {}, id: '', name: '', body: '' }
  return { choice, index, ...parts, legacy: false, custom: false, function: false, ended: false }
}

function joinedLogprobs(before: JsonObject | null, added: JsonObject): JsonObject {
  const joined: JsonObject = { ...before, ...added }
  for (const key of ['content', 'refusal']) {
    const lists = [before?.[key], added[key]].filter(Array.isArray)
    if (lists.length > 0) joined[key] = lists.flat()
  }
  return joined
}

/** The choice of the whole response. */
export function wholeChoice(choice: Choice): JsonObject {
  const calls = choice.calls.toSorted((a, b) => a.index - b.index).map(wholeCall)
  const { legacyCall } = choice
  return {
    ...choice.rest,
    index: choice.index,
    message: {
      role: 'assistant',
      content: null,
      ...choice.message,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(legacyCall === null ? {} : { function_call: { name: legacyCall.name, arguments: legacyCall.body } }),
    },
    logprobs: choice.logprobs,
    finish_reason: choice.finishReason,
  }
}

function wholeCall(call: Call): JsonObject {
  const { name, body } = call
  return {
    ...call.fields,
    id: call.id,
    type: call.custom ? 'custom' : 'function',
    ...(call.custom && { custom: { name, input: body } }),
    ...((call.function || !call.custom) && { function: { name, arguments: body } }),
  }
}
