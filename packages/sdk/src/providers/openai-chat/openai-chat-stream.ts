import { readResponse } from '@countersign/engine'
import { isObject, type JsonObject, objects, text, without } from '../../base/json-object.js'
import type { StreamHold } from '../provider.js'
import { addDelta, type Call, type Choice, choiceAt, wholeChoice } from './openai-chat-choice.js'
import { holdsCalls, unheardCall } from './openai-chat-contradiction.js'

/** Chunks hold deltas of choices; a delta of `tool_calls` or `function_call` is a part of a call. */
export function readChatStream(request: JsonObject, { holdAll = false } = {}): StreamHold {
  const usageAsked = isObject(request.stream_options) && request.stream_options.include_usage === true
  const choices = new Map<number, Choice>()
  const held: JsonObject[] = []
  /** Which call a delta belongs to: its index may be missing on the wire. */
  const callOf = new Map<JsonObject, Call>()
  const envelope: JsonObject = {}
  let doubted: string | null = null
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

  const contradiction = (): string | null => {
    if (doubted !== null) return doubted
    for (const choice of choices.values()) {
      const found = choice.contradiction ?? unheardCall(choice.messages, wholeChoice(choice).message)
      if (found !== null) return found
    }
    return null
  }

  return {
    take,
    doubt: (problem) => {
      doubted ??= problem
      holding = true
    },
    holding: () => holding,
    complete: () => choices.size > 0 && [...choices.values()].every((choice) => choice.finishReason !== null),
    response,
    contradiction,
    release: () => {
      if (isNumbered(choices, callOf)) return held
      const all = allIndices(choices)
      return held.flatMap((chunk) => rewrite(chunk, all, callOf))
    },
    releaseOnly: (allowedIds, said) => {
      const remaining = remainingIndices(choices, allowedIds, choicesWithLegacyCall(response(), allowedIds))
      const left = contradiction() === null ? held : held.map(withoutDeltas)
      const events = left.flatMap((chunk) => rewrite(chunk, remaining, callOf))
      if (said === undefined) return events
      const before = text(choices.get(0)?.message.content)
      return withText(events, before === '' ? said : `\n\n${said}`, envelope)
    },
  }
}

function isUsageOnly(chunk: JsonObject): boolean {
  return Array.isArray(chunk.choices) && chunk.choices.length === 0 && isObject(chunk.usage)
}

function inOrder(choices: Map<number, Choice>): Choice[] {
  return [...choices.values()].sort((a, b) => a.index - b.index)
}

/** The calls that stay, each with its new index in its choice. */
function remainingIndices(
  choices: Map<number, Choice>,
  allowedIds: ReadonlySet<string>,
  keepsLegacy: ReadonlySet<number>,
): Map<Call, number> {
  const remaining = new Map<Call, number>()
  for (const [position, choice] of inOrder(choices).entries()) {
    const allowed = choice.calls.filter((call) => call.id !== '' && allowedIds.has(call.id))
    for (const [index, call] of allowed.toSorted((a, b) => a.index - b.index).entries()) remaining.set(call, index)
    if (choice.legacyCall !== null && keepsLegacy.has(position)) remaining.set(choice.legacyCall, 0)
  }
  return remaining
}

/**
 * No two calls share an index, and every part of a call in several parts names its own. Otherwise a client, which knows
 * calls by their index, would put together a call that was not judged. So with choices.
 */
function isNumbered(choices: Map<number, Choice>, callOf: ReadonlyMap<JsonObject, Call>): boolean {
  const unnumbered = new Set<Call>()
  const seen = new Set<Call>()
  for (const [part, call] of callOf) {
    if (typeof part.index !== 'number') unnumbered.add(call)
    if (seen.has(call) && unnumbered.has(call)) return false
    seen.add(call)
  }
  return [...choices.values()].every(
    ({ numbered, calls }) => numbered && new Set(calls.map(({ index }) => index)).size === calls.length,
  )
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

function rewrite(chunk: JsonObject, remaining: Map<Call, number>, callOf: Map<JsonObject, Call>): JsonObject[] {
  const before = objects(chunk.choices)
  const choices = before.flatMap((part) => rewriteChoice(part, remaining, callOf))
  if (choices.length === 0 && before.length > 0 && !isObject(chunk.usage)) return []
  return [{ ...chunk, choices }]
}

/** None when the delta held nothing but calls that are gone. */
function rewriteChoice(part: JsonObject, remaining: Map<Call, number>, callOf: Map<JsonObject, Call>): JsonObject[] {
  const index = typeof part.index === 'number' ? part.index : 0
  const left = [...remaining.keys()].filter((call) => call.choice === index)
  const finish = endedByCalls(part.finish_reason) && left.length === 0 ? { finish_reason: 'stop' } : {}
  // What a whole message says of calls was said by the deltas too.
  if (holdsCalls(part.message)) return rewriteChoice(without(part, 'message'), remaining, callOf)
  if (!isObject(part.delta)) return [{ ...part, index, ...finish }]
  const calls = objects(part.delta.tool_calls).flatMap((call) => {
    const owner = callOf.get(call)
    const newIndex = owner === undefined ? undefined : remaining.get(owner)
    return newIndex === undefined ? [] : [{ ...call, index: newIndex }]
  })
  const keepsLegacy = left.some((call) => call.legacy)
  const delta = without(
    { ...part.delta, tool_calls: calls },
    ...(calls.length === 0 ? ['tool_calls'] : []),
    ...(keepsLegacy ? [] : ['function_call']),
  )
  const heldCalls = 'tool_calls' in part.delta || 'function_call' in part.delta
  const nothingLeft = Object.values(delta).every((value) => value === null || value === undefined)
  if (heldCalls && nothingLeft && typeof part.finish_reason !== 'string') return []
  return [{ ...part, index, delta, ...finish }]
}

/** What is left of a chunk of which nothing can be shown: the choices, and that they end. */
function withoutDeltas(chunk: JsonObject): JsonObject {
  const choices = objects(chunk.choices).map((part) => ({ ...without(part, 'message', 'logprobs'), delta: {} }))
  return { ...chunk, choices }
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
