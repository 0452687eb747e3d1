import { readResponse } from '@countersign/engine'
import { isObject, type JsonObject, objects, text, without } from '../json-object.js'
import type { StreamGate } from './provider.js'

interface Call {
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
}

interface Choice {
  index: number
  message: JsonObject
  calls: Call[]
  legacyCall: Call | null
  finishReason: string | null
  logprobs: JsonObject | null
  rest: JsonObject
}

/** Chunks hold deltas of choices; a delta of `tool_calls` or `function_call` is a part of a call. */
export function readChatStream(request: JsonObject, { holdAll = false } = {}): StreamGate {
  const usageAsked = isObject(request.stream_options) && request.stream_options.include_usage === true
  const choices = new Map<number, Choice>()
  const held: JsonObject[] = []
  /** Which call a delta belongs to: its index may be missing on the wire. */
  const callOf = new Map<JsonObject, Call>()
  const envelope: JsonObject = {}
  let holding = holdAll

  const take = (chunk: JsonObject): JsonObject[] => {
    for (const [key, value] of Object.entries(chunk)) {
      if (key !== 'choices' && !(key === 'usage' && value === null)) envelope[key] = value
    }
    let isCall = false
    for (const part of objects(chunk.choices)) isCall = addDelta(choiceAt(choices, part), part, callOf) || isCall
    holding ||= isCall
    if (!usageAsked && isUsageOnly(chunk)) return []
    if (!holding) return [chunk]
    held.push(chunk)
    return []
  }

  const response = (): JsonObject => ({
    ...without(envelope, 'obfuscation'),
    object: 'chat.completion',
    choices: inOrder(choices).map(wholeChoice),
  })

  return {
    take,
    holding: () => holding,
    complete: () => choices.size > 0 && [...choices.values()].every((choice) => choice.finishReason !== null),
    response,
    release: () => {
      if (isNumbered(choices, callOf)) return held
      const all = allIndices(choices)
      return held.flatMap((chunk) => rewrite(chunk, all, callOf))
    },
    releaseOnly: (allowedIds, said) => {
      const kept = keptIndices(choices, allowedIds, choicesWithLegacyCall(response(), allowedIds))
      const events = held.flatMap((chunk) => rewrite(chunk, kept, callOf))
      return said === undefined ? events : withText(events, said, envelope)
    },
  }
}

function isUsageOnly(chunk: JsonObject): boolean {
  return Array.isArray(chunk.choices) && chunk.choices.length === 0 && isObject(chunk.usage)
}

function choiceAt(choices: Map<number, Choice>, part: JsonObject): Choice {
  const index = typeof part.index === 'number' ? part.index : 0
  let choice = choices.get(index)
  if (choice === undefined) {
    const rest = without(part, 'index', 'delta', 'finish_reason', 'logprobs')
    choice = { index, message: {}, calls: [], legacyCall: null, finishReason: null, logprobs: null, rest }
    choices.set(index, choice)
  }
  return choice
}

/** True when the delta held a part of a call. */
function addDelta(choice: Choice, part: JsonObject, callOf: Map<JsonObject, Call>): boolean {
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
  // Calls in a shape that cannot be read are held too: the response that keeps them is then judged as malformed.
  return parts.length > 0 || isObject(delta.function_call) || isOddList(delta.tool_calls)
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
  if (text(detail.name) !== '') call.name = text(detail.name)
  call.body += text(detail.arguments) + text(detail.input)
}

function addLegacyPart(choice: Choice, part: JsonObject): void {
  choice.legacyCall ??= { ...newCall(choice.index, 0), legacy: true }
  if (text(part.name) !== '') choice.legacyCall.name = text(part.name)
  choice.legacyCall.body += text(part.arguments)
}

function newCall(choice: number, index: number): Call {
  return { choice, index, fields: {}, legacy: false, id: '', name: '', body: '', custom: false, function: false }
}

function joinedLogprobs(before: JsonObject | null, added: JsonObject): JsonObject {
  const joined: JsonObject = { ...before, ...added }
  for (const key of ['content', 'refusal']) {
    const lists = [before?.[key], added[key]].filter(Array.isArray)
    if (lists.length > 0) joined[key] = lists.flat()
  }
  return joined
}

function wholeChoice(choice: Choice): JsonObject {
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

function inOrder(choices: Map<number, Choice>): Choice[] {
  return [...choices.values()].sort((a, b) => a.index - b.index)
}

/** The calls that stay, each with its new index in its choice. */
function keptIndices(
  choices: Map<number, Choice>,
  allowedIds: ReadonlySet<string>,
  legacyKept: ReadonlySet<number>,
): Map<Call, number> {
  const kept = new Map<Call, number>()
  for (const [position, choice] of inOrder(choices).entries()) {
    const allowed = choice.calls.filter((call) => call.id !== '' && allowedIds.has(call.id))
    for (const [index, call] of allowed.toSorted((a, b) => a.index - b.index).entries()) kept.set(call, index)
    if (choice.legacyCall !== null && legacyKept.has(position)) kept.set(choice.legacyCall, 0)
  }
  return kept
}

/**
 * No two calls share an index, and every part of a call in several parts names its own. Otherwise a client, which knows
 * calls by their index, would put together a call that nobody judged.
 */
function isNumbered(choices: Map<number, Choice>, callOf: ReadonlyMap<JsonObject, Call>): boolean {
  const unnumbered = new Set<Call>()
  const seen = new Set<Call>()
  for (const [part, call] of callOf) {
    if (typeof part.index !== 'number') unnumbered.add(call)
    if (seen.has(call) && unnumbered.has(call)) return false
    seen.add(call)
  }
  return [...choices.values()].every(({ calls }) => new Set(calls.map(({ index }) => index)).size === calls.length)
}

/** All calls, each with an index of its own. */
function allIndices(choices: Map<number, Choice>): Map<Call, number> {
  const all = new Map<Call, number>()
  for (const { calls, legacyCall } of choices.values()) {
    for (const [index, call] of calls.toSorted((a, b) => a.index - b.index).entries()) all.set(call, index)
    if (legacyCall !== null) all.set(legacyCall, 0)
  }
  return all
}

function rewrite(chunk: JsonObject, kept: Map<Call, number>, callOf: Map<JsonObject, Call>): JsonObject[] {
  const before = objects(chunk.choices)
  const choices = before.flatMap((part) => rewriteChoice(part, kept, callOf))
  if (choices.length === 0 && before.length > 0 && !isObject(chunk.usage)) return []
  return [{ ...chunk, choices }]
}

/** None when the delta held nothing but calls that are gone. */
function rewriteChoice(part: JsonObject, kept: Map<Call, number>, callOf: Map<JsonObject, Call>): JsonObject[] {
  const index = typeof part.index === 'number' ? part.index : 0
  const keptHere = [...kept.keys()].filter((call) => call.choice === index)
  const finish = endedByCalls(part.finish_reason) && keptHere.length === 0 ? { finish_reason: 'stop' } : {}
  if (!isObject(part.delta)) return [{ ...part, ...finish }]
  const calls = objects(part.delta.tool_calls).flatMap((call) => {
    const owner = callOf.get(call)
    const newIndex = owner === undefined ? undefined : kept.get(owner)
    return newIndex === undefined ? [] : [{ ...call, index: newIndex }]
  })
  const legacyKept = keptHere.some((call) => call.legacy)
  const delta = without(
    { ...part.delta, tool_calls: calls },
    ...(calls.length === 0 ? ['tool_calls'] : []),
    ...(legacyKept ? [] : ['function_call']),
  )
  const heldCalls = 'tool_calls' in part.delta || 'function_call' in part.delta
  const nothingLeft = Object.values(delta).every((value) => value === null || value === undefined)
  if (heldCalls && nothingLeft && typeof part.finish_reason !== 'string') return []
  return [{ ...part, delta, ...finish }]
}

function withText(events: JsonObject[], said: string, envelope: JsonObject): JsonObject[] {
  const chunk = {
    ...without(envelope, 'usage', 'obfuscation'),
    choices: [{ index: 0, delta: { role: 'assistant', content: said }, logprobs: null, finish_reason: null }],
  }
  const end = events.findIndex((event) => objects(event.choices).some((part) => typeof part.finish_reason === 'string'))
  return end === -1 ? [...events, chunk] : [...events.slice(0, end), chunk, ...events.slice(end)]
}

export function endedByCalls(finishReason: unknown): boolean {
  return finishReason === 'tool_calls' || finishReason === 'function_call'
}

/** A legacy function call has no id on the wire: the choices whose call is allowed by the id that it is read with. */
export function choicesWithLegacyCall(response: JsonObject, allowedIds: ReadonlySet<string>): Set<number> {
  const legacy = readResponse(response).calls.filter((call) => call.kind === 'legacy' && allowedIds.has(call.id))
  return new Set(legacy.map(({ choice }) => choice))
}
