import { isInContainer, kindOfItem } from './kinds.js'
import { asRecord, asText, type RawCall, type RawResponse, type RawRun, readUsage } from './read-call.js'
import type { FinishReason } from './tool-call.js'

const CHAT_FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['stop', 'stop'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['length', 'length'],
  ['content_filter', 'content_filter'],
] as const)

/** Reads a chat completion with all alternatives of `n`: the program may use any of them. */
export function readOpenAiChat(response: Record<string, unknown>): RawResponse {
  const calls: RawCall[] = []
  const texts: string[] = []
  const problems: string[] = []
  const providerRun: RawRun[] = []
  let finishReason: FinishReason | null | undefined
  let choice = -1
  for (const item of response.choices as unknown[]) {
    choice += 1
    const record = asRecord(item)
    const message = asRecord(record?.message)
    const reason = CHAT_FINISH_REASONS.get(record?.finish_reason) ?? null
    // Null if the alternatives of `n` ended differently.
    finishReason = finishReason === undefined || finishReason === reason ? reason : null
    if (message === null) {
      problems.push(`choice ${choice} has no message`)
      continue
    }
    const text = textOf(message.content) ?? asText(message.refusal)
    if (text !== null) texts.push(text)
    if (citesTheWeb(message)) providerRun.push({ type: 'web_search_call', name: null, id: null, arguments: {} })
    const toolCalls = message.tool_calls ?? []
    if (!Array.isArray(toolCalls)) problems.push(`the tool_calls of choice ${choice} are not a list`)
    else for (const call of toolCalls) calls.push(chatCall(asRecord(call) ?? {}, choice))
    const legacy = asRecord(message.function_call)
    if (legacy !== null) calls.push(legacyCall(legacy, choice, response.id))
  }
  return {
    calls,
    providerRun,
    content: texts.length === 0 ? null : texts.join('\n'),
    finishReason: finishReason ?? null,
    model: asText(response.model),
    usage: readUsage(response.usage, ['prompt_tokens'], 'completion_tokens'),
    problems,
  }
}

/** With `web_search_options` the provider searches, and only the citations show it. */
const citesTheWeb = ({ annotations }: Record<string, unknown>): boolean =>
  Array.isArray(annotations) && annotations.some((item) => asRecord(item)?.type === 'url_citation')

function chatCall(call: Record<string, unknown>, choice: number): RawCall {
  const custom = asRecord(call.custom)
  const fn = asRecord(call.function)
  if (custom === null || fn !== null) {
    const made: RawCall = { kind: 'function', choice, id: call.id, name: fn?.name, arguments: fn?.arguments }
    // A program may use either.
    return custom === null ? made : { ...made, problem: 'the call is both a function call and a custom tool call' }
  }
  return { kind: 'custom', choice, id: call.id, name: custom.name, arguments: customArguments(custom.input) }
}

/** A legacy call has no id; one made from the response's id is unique. */
function legacyCall(call: Record<string, unknown>, choice: number, responseId: unknown): RawCall {
  const prefix = typeof responseId === 'string' && responseId.length <= 64 ? responseId : 'response'
  return {
    kind: 'legacy',
    choice,
    id: `${prefix}:function_call:${choice}`,
    name: call.name,
    arguments: call.arguments,
  }
}

/** A custom tool takes free text; without it the call has no arguments. */
function customArguments(input: unknown): unknown {
  return typeof input === 'string' ? { input } : undefined
}

function textOf(content: unknown): string | null {
  if (!Array.isArray(content)) return asText(content)
  const texts = content.map((part) => asText(asRecord(part)?.text) ?? asText(asRecord(part)?.refusal))
  const known = texts.filter((text) => text !== null)
  return known.length === 0 ? null : known.join('')
}

/** Reads a response of the Responses API. */
export function readOpenAiResponses(response: Record<string, unknown>): RawResponse {
  const items = (response.output as unknown[]).map((item) => asRecord(item) ?? {})
  const ranIds = idsOfOutputs(items)
  const calls: RawCall[] = []
  const providerRun: RawRun[] = []
  const texts: string[] = []
  for (const item of items) {
    const type = asText(item.type) ?? ''
    if (type === 'message') {
      const text = textOf(item.content)
      if (text !== null) texts.push(text)
    } else if (type === 'function_call') {
      calls.push({ kind: 'function', choice: 0, id: item.call_id, name: item.name, arguments: item.arguments })
    } else if (type === 'custom_tool_call') {
      const input = customArguments(item.input)
      calls.push({ kind: 'custom', choice: 0, id: item.call_id, name: item.name, arguments: input })
    } else if (type.endsWith('_call') && !isProviderRun(item, ranIds)) {
      calls.push(builtinCall(type, item))
    } else if (type.endsWith('_call') || kindOfItem(item) === 'run') {
      providerRun.push({ type, name: asText(item.name), id: asText(item.id), arguments: runArguments(type, item) })
    }
  }
  return {
    calls,
    providerRun,
    content: texts.length === 0 ? null : texts.join('\n'),
    finishReason: responsesFinishReason(response, calls.length),
    model: asText(response.model),
    usage: readUsage(response.usage, ['input_tokens'], 'output_tokens'),
  }
}

/** Ids are text. One that is a number would be of no call, and numbers can be made to collide in a set. */
function idsOfOutputs(items: readonly Record<string, unknown>[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { type, call_id } of items)
    if (typeof call_id === 'string' && asText(type)?.endsWith('_output')) ids.add(call_id)
  return ids
}

/** What the provider found or made is no argument, and may be large. */
function runArguments(type: string, item: Record<string, unknown>): unknown {
  if (type === 'mcp_call') return item.arguments
  return Object.fromEntries(Object.entries(item).filter(([key]) => !NO_ARGUMENTS.has(key)))
}

const NO_ARGUMENTS: ReadonlySet<string> = new Set([
  'id',
  'call_id',
  'type',
  'status',
  'output',
  'outputs',
  'result',
  'results',
])

/** A call without `call_id` expects no answer; one with an output, or in a container, already ran there. */
function isProviderRun(item: Record<string, unknown>, ranIds: ReadonlySet<string>): boolean {
  if (item.call_id === undefined || item.call_id === null) return true
  if (typeof item.call_id === 'string' && ranIds.has(item.call_id)) return true
  return isInContainer(item)
}

/** A provider tool that the program runs (shell, apply_patch, computer): everything in it counts as arguments. */
function builtinCall(type: string, item: Record<string, unknown>): RawCall {
  const { id: _id, type: _type, call_id, status: _status, ...rest } = item
  return { kind: 'builtin', choice: 0, id: call_id, name: type.slice(0, -'_call'.length), arguments: rest }
}

function responsesFinishReason(response: Record<string, unknown>, calls: number): FinishReason | null {
  if (response.status === 'completed') return calls > 0 ? 'tool_calls' : 'stop'
  const reason = asRecord(response.incomplete_details)?.reason
  if (reason === 'max_output_tokens') return 'length'
  return reason === 'content_filter' ? 'content_filter' : null
}
