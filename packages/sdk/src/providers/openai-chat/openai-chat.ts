import {
  contentText,
  isObject,
  type JsonObject,
  objects,
  text,
  withHiddenPropertiesOf,
  without,
} from '../../base/json-object.js'
import type { MessageCall, MessageView, OfferedTool, Provider, RequestView, SaidInstead } from '../provider.js'
import { isOddList } from './openai-chat-choice.js'
import { joinChatStreams } from './openai-chat-join.js'
import { choicesWithLegacyCall, endedByCalls, readChatStream } from './openai-chat-stream.js'

/** OpenAI `chat.completions`, and the many clients that speak it. */
export const openaiChat: Provider = {
  name: 'openai',
  format: 'openai-chat',
  createPath: 'chat.completions.create',
  readRequest,
  readMessages: (request) => objects(request.messages).map(messageView),
  withTools,
  withSystemText: (request, said) => ({
    ...request,
    messages: [{ role: 'system', content: said }, ...list(request.messages)],
  }),
  withAppendedText: (request, said) => ({
    ...request,
    messages: [...list(request.messages), { role: 'system', content: said }],
  }),
  withRefusedAnswer,
  withStreamUsage: (request) => ({
    ...request,
    stream_options: { ...(isObject(request.stream_options) ? request.stream_options : {}), include_usage: true },
  }),
  keepCalls,
  withTextOnly,
  textResponse,
  textEvents,
  readStream: readChatStream,
  joinStreams: joinChatStreams,
  wire: {
    encode: (event) => `data: ${JSON.stringify(event)}\n\n`,
    end: 'data: [DONE]\n\n',
    problem: (detail) => ({ error: { type: 'permission_error', param: null, ...detail } }),
  },
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function readRequest(request: JsonObject): RequestView {
  return {
    model: text(request.model),
    tools: offeredTools(request),
    answeredCallIds: answeredCallIds(request.messages),
    streaming: request.stream === true,
    previousResponseId: null,
    toolChoice: request.tool_choice ?? request.function_call,
    refusals: refusalsOf(request),
  }
}

function answeredCallIds(messages: unknown): string[] {
  const ids: string[] = []
  for (const message of list(messages)) {
    if (isObject(message) && message.role === 'tool') ids.push(text(message.tool_call_id))
  }
  return ids
}

function messageView(message: JsonObject): MessageView {
  return {
    role: roleOf(message.role),
    text: contentText(message.content),
    callId: message.role === 'tool' ? text(message.tool_call_id) : null,
    calls: message.role === 'assistant' ? objects(message.tool_calls).map(messageCall) : [],
  }
}

function roleOf(role: unknown): MessageView['role'] {
  switch (role) {
    case 'system':
    case 'developer':
      return 'system'
    case 'assistant':
      return 'assistant'
    case 'tool':
    case 'function':
      return 'tool'
    default:
      return 'user'
  }
}

function messageCall(call: JsonObject): MessageCall {
  const made = isObject(call.custom) ? call.custom : isObject(call.function) ? call.function : {}
  return { id: text(call.id), name: text(made.name), arguments: made.arguments ?? { input: made.input } }
}

/** The name of a tool in `tools`; null for a kind that is not known. */
function toolName(tool: JsonObject): string | null {
  if (tool.type === 'custom' && isObject(tool.custom)) return text(tool.custom.name)
  if ((tool.type === 'function' || tool.type === undefined) && isObject(tool.function)) return text(tool.function.name)
  return null
}

function offeredTools(request: JsonObject): OfferedTool[] {
  const offered: OfferedTool[] = []
  for (const definition of objects(request.tools)) {
    const name = toolName(definition)
    if (name !== null) offered.push({ name, kind: definition.type === 'custom' ? 'custom' : 'function', definition })
  }
  for (const definition of objects(request.functions)) {
    offered.push({ name: text(definition.name), kind: 'function', definition })
  }
  const search = request.web_search_options
  if (isObject(search)) offered.push({ name: 'web_search', kind: 'provider', definition: search })
  return offered
}

function refusalsOf(request: JsonObject): string[] {
  const refusals: string[] = []
  for (const tool of objects(request.tools)) {
    if (toolName(tool) === null) refusals.push(`the tool type ${JSON.stringify(tool.type ?? null)} is not supported`)
  }
  return refusals
}

function withTools(request: JsonObject, allowed: ReadonlySet<string>): JsonObject {
  let result = { ...request }
  if (Array.isArray(request.tools)) {
    const tools = objects(request.tools).filter((tool) => allowed.has(toolName(tool) ?? ''))
    // The API refuses an empty list, and a choice among none.
    result =
      tools.length > 0
        ? { ...result, tools, ...narrowedChoice(request.tool_choice, allowed) }
        : without(result, 'tools', 'tool_choice', 'parallel_tool_calls')
  }
  if (Array.isArray(request.functions)) {
    const functions = objects(request.functions).filter((definition) => allowed.has(text(definition.name)))
    const chosen = isObject(request.function_call) ? text(request.function_call.name) : null
    result = functions.length > 0 ? { ...result, functions } : without(result, 'functions', 'function_call')
    if (functions.length > 0 && chosen !== null && !allowed.has(chosen)) result.function_call = 'none'
  }
  return allowed.has('web_search') ? result : without(result, 'web_search_options')
}

function narrowedChoice(choice: unknown, allowed: ReadonlySet<string>): JsonObject {
  if (!isObject(choice)) return {}
  if (isObject(choice.allowed_tools)) {
    const tools = objects(choice.allowed_tools.tools).filter((tool) => allowed.has(toolName(tool) ?? ''))
    return {
      tool_choice: tools.length > 0 ? { ...choice, allowed_tools: { ...choice.allowed_tools, tools } } : 'none',
    }
  }
  return allowed.has(toolName(choice) ?? '') ? {} : { tool_choice: 'none' }
}

function withRefusedAnswer(
  request: JsonObject,
  response: JsonObject,
  whyNotRun: (callId: string) => string,
): JsonObject | null {
  const [choice, ...others] = objects(response.choices)
  const message = choice?.message
  // Of several alternatives only one can be said back.
  if (!isObject(message) || others.length > 0 || isObject(message.function_call)) return null
  const calls = objects(message.tool_calls)
  const answers = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: whyNotRun(text(id)) }))
  const said = { role: 'assistant', content: message.content ?? null, tool_calls: message.tool_calls }
  return calls.length === 0 ? null : { ...request, messages: [...list(request.messages), said, ...answers] }
}

function keepCalls(response: JsonObject, allowedIds: ReadonlySet<string>, said?: string): JsonObject {
  const keepsLegacy = choicesWithLegacyCall(response, allowedIds)
  const choices = list(response.choices).map((choice, position) => {
    if (!isObject(choice)) return choice
    const kept = keepCallsOf(choice, allowedIds, keepsLegacy.has(position))
    return said === undefined || kept === choice ? kept : withSaid(kept, said)
  })
  return withHiddenPropertiesOf(response, { ...response, choices })
}

function withSaid(choice: JsonObject, said: string): JsonObject {
  const message = isObject(choice.message) ? choice.message : { role: 'assistant' }
  const before = text(message.content)
  return { ...choice, message: { ...message, content: before === '' ? said : `${before}\n\n${said}` } }
}

function keepCallsOf(choice: JsonObject, allowedIds: ReadonlySet<string>, keepLegacy: boolean): JsonObject {
  if (!isObject(choice.message)) return choice
  const calls = objects(choice.message.tool_calls)
  const remaining = calls.filter((call) => typeof call.id === 'string' && allowedIds.has(call.id))
  const legacy = isObject(choice.message.function_call)
  if (remaining.length === calls.length && legacy === keepLegacy && !isOddList(choice.message.tool_calls)) return choice
  const dropped = [...(remaining.length === 0 ? ['tool_calls'] : []), ...(keepLegacy ? [] : ['function_call'])]
  const message = without({ ...choice.message, tool_calls: remaining }, ...dropped)
  if (remaining.length > 0 || keepLegacy) return { ...choice, message }
  return { ...choice, message, finish_reason: endedByCalls(choice.finish_reason) ? 'stop' : choice.finish_reason }
}

function textResponse(request: JsonObject, said: SaidInstead): JsonObject {
  const message = { role: 'assistant', content: said.text, refusal: null }
  return {
    ...envelope(request, said.id, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
  }
}

function withTextOnly(response: JsonObject, said: string): JsonObject {
  const bare = keepCalls(response, new Set())
  const choices = objects(bare.choices)
  // What could not be read may have had none.
  const told = choices.length > 0 ? choices : [{ index: 0, logprobs: null, finish_reason: 'stop' }]
  return withHiddenPropertiesOf(bare, { ...bare, choices: told.map((choice) => withSaid(choice, said)) })
}

function textEvents(request: JsonObject, said: SaidInstead): JsonObject[] {
  const chunk = (delta: JsonObject, finishReason: string | null): JsonObject => ({
    ...envelope(request, said.id, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  })
  return [chunk({ role: 'assistant', content: said.text }, null), chunk({}, 'stop')]
}

function envelope(request: JsonObject, id: string, object: string): JsonObject {
  return {
    id: `chatcmpl-countersign-${id}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model: text(request.model),
  }
}
