import {
  contentText,
  isObject,
  type JsonObject,
  objects,
  text,
  withHiddenPropertiesOf,
  without,
} from '../../base/json-object.js'
import type { MessageView, OfferedTool, Provider, RequestView, SaidInstead } from '../provider.js'
import { joinMessageStreams } from './anthropic-join.js'
import { endedByCalls, readMessageStream } from './anthropic-stream.js'

/** Anthropic `messages`. */
export const anthropic: Provider = {
  name: 'anthropic',
  format: 'anthropic',
  createPath: 'messages.create',
  readRequest,
  readMessages,
  withTools,
  withSystemText: (request, said) => ({
    ...request,
    system: Array.isArray(request.system)
      ? [{ type: 'text', text: said }, ...request.system]
      : [said, text(request.system)].filter((part) => part !== '').join('\n\n'),
  }),
  withAppendedText,
  withRefusedAnswer,
  withStreamUsage: (request) => request,
  keepCalls,
  withTextOnly,
  textResponse,
  textEvents,
  readStream: readMessageStream,
  joinStreams: joinMessageStreams,
  wire: {
    encode: (event) => `event: ${isObject(event) ? text(event.type) : ''}\ndata: ${JSON.stringify(event)}\n\n`,
    end: '',
    problem: (detail) => ({ type: 'error', error: { type: 'permission_error', ...detail } }),
  },
}

/** The same API under `beta`, where connectors, computer use and skills are. */
export const anthropicBeta: Provider = { ...anthropic, createPath: 'beta.messages.create' }

/** Built-in tools that the program runs: the model calls them by name, like a function. */
const CLIENT_TOOLS = /^(bash|text_editor|computer|memory)_\d{8}$/
/** Built-in tools that the provider runs itself. */
const PROVIDER_TOOLS =
  /^(web_search|web_fetch|code_execution|tool_search_tool_(bm25|regex)|advisor)_\d{8}$|^mcp_toolset$/

function readRequest(request: JsonObject): RequestView {
  return {
    model: text(request.model),
    tools: offeredTools(request),
    answeredCallIds: objects(request.messages)
      .flatMap(toolResults)
      .map(({ tool_use_id: id }) => text(id)),
    streaming: request.stream === true,
    previousResponseId: null,
    toolChoice: request.tool_choice,
    refusals: refusalsOf(request),
  }
}

function readMessages(request: JsonObject): MessageView[] {
  const messages = objects(request.messages).flatMap(messageViews)
  const system = contentText(request.system)
  return system === '' ? messages : [{ role: 'system', text: system, callId: null, calls: [] }, ...messages]
}

function toolResults(message: JsonObject): JsonObject[] {
  return objects(message.content).filter((part) => part.type === 'tool_result')
}

function messageViews(message: JsonObject): MessageView[] {
  const results = toolResults(message).map(
    (part): MessageView => ({
      role: 'tool',
      text: contentText(part.content),
      callId: text(part.tool_use_id),
      calls: [],
      ...(part.is_error === true && { isError: true }),
    }),
  )
  const parts = objects(message.content)
  const calls = parts
    .filter((part) => part.type === 'tool_use')
    .map((part) => ({ id: text(part.id), name: text(part.name), arguments: part.input }))
  const said =
    typeof message.content === 'string'
      ? message.content
      : contentText(parts.filter((part) => part.type !== 'tool_result'))
  const role = message.role === 'assistant' || message.role === 'system' ? message.role : 'user'
  return said === '' && calls.length === 0 ? results : [...results, { role, text: said, callId: null, calls }]
}

/** The name a tool is judged by; null for a kind that is not known. */
function toolName(tool: JsonObject): string | null {
  const type = tool.type ?? 'custom'
  if (type === 'custom') return text(tool.name)
  if (typeof type !== 'string') return null
  if (CLIENT_TOOLS.test(type)) return text(tool.name)
  return PROVIDER_TOOLS.test(type) ? type : null
}

function offeredTools(request: JsonObject): OfferedTool[] {
  const tools = objects(request.tools).flatMap((definition): OfferedTool[] => {
    const name = toolName(definition)
    if (name === null) return []
    return [{ name, kind: PROVIDER_TOOLS.test(text(definition.type)) ? 'provider' : 'function', definition }]
  })
  const servers = objects(request.mcp_servers).map(
    (definition): OfferedTool => ({ name: 'mcp_toolset', kind: 'provider', definition }),
  )
  return [...tools, ...servers]
}

function refusalsOf(request: JsonObject): string[] {
  const refusals = objects(request.tools)
    .filter((tool) => toolName(tool) === null)
    .map((tool) => `the tool type ${JSON.stringify(tool.type ?? null)} is not supported`)
  if (request.thread === undefined || request.thread === null) return refusals
  return [...refusals, 'a stored `thread` holds messages that cannot be seen; send them in the request']
}

function withTools(request: JsonObject, allowed: ReadonlySet<string>): JsonObject {
  const bare = allowed.has('mcp_toolset') ? request : without(request, 'mcp_servers')
  if (!Array.isArray(request.tools)) return bare
  const tools = objects(request.tools).filter((tool) => allowed.has(toolName(tool) ?? ''))
  if (tools.length === 0) return without(bare, 'tools', 'tool_choice')
  const choice = request.tool_choice
  const chosen = isObject(choice) && choice.type === 'tool' ? text(choice.name) : null
  const gone = chosen !== null && !tools.some((tool) => text(tool.name) === chosen)
  return { ...bare, tools, ...(gone ? { tool_choice: { type: 'none' } } : {}) }
}

/** Messages of one role may not follow each other on every deployment, so a user's last message is extended. */
function withAppendedText(request: JsonObject, said: string): JsonObject {
  const messages = Array.isArray(request.messages) ? request.messages : []
  const last: unknown = messages.at(-1)
  const added = { type: 'text', text: said }
  if (!isObject(last) || last.role !== 'user') {
    return { ...request, messages: [...messages, { role: 'user', content: [added] }] }
  }
  const before = Array.isArray(last.content) ? last.content : [{ type: 'text', text: text(last.content) }]
  return { ...request, messages: [...messages.slice(0, -1), { ...last, content: [...before, added] }] }
}

function withRefusedAnswer(
  request: JsonObject,
  response: JsonObject,
  whyNotRun: (callId: string) => string,
): JsonObject | null {
  const messages = Array.isArray(request.messages) ? request.messages : []
  const answers = objects(response.content)
    .filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: whyNotRun(text(id)), is_error: true }))
  if (answers.length === 0) return null
  const said = { role: 'assistant', content: response.content }
  return { ...request, messages: [...messages, said, { role: 'user', content: answers }] }
}

function keepCalls(response: JsonObject, allowedIds: ReadonlySet<string>, said?: string): JsonObject {
  const before = Array.isArray(response.content) ? response.content : []
  const content = before.filter(
    (block) => !isObject(block) || block.type !== 'tool_use' || allowedIds.has(text(block.id)),
  )
  if (content.length === before.length) return response
  const firstCall = content.findIndex((block) => isObject(block) && block.type === 'tool_use')
  const stopReason = endedByCalls(response.stop_reason) && firstCall === -1 ? 'end_turn' : response.stop_reason
  // Before the calls: what follows them must be their results.
  if (said !== undefined) content.splice(firstCall === -1 ? content.length : firstCall, 0, textBlock(said))
  return withHiddenPropertiesOf(response, { ...response, content, stop_reason: stopReason })
}

function textResponse(request: JsonObject, said: SaidInstead): JsonObject {
  return { ...emptyMessage(request, said), content: [textBlock(said.text)], stop_reason: 'end_turn' }
}

function withTextOnly(response: JsonObject, said: string): JsonObject {
  const bare = keepCalls(response, new Set())
  return withHiddenPropertiesOf(bare, { ...bare, content: [...objects(bare.content), textBlock(said)] })
}

const textBlock = (said: string): JsonObject => ({ type: 'text', text: said, citations: null })

function emptyMessage(request: JsonObject, { id }: SaidInstead): JsonObject {
  return {
    id: `msg_countersign_${id}`,
    type: 'message',
    role: 'assistant',
    model: text(request.model),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  }
}

function textEvents(request: JsonObject, said: SaidInstead): JsonObject[] {
  return [
    { type: 'message_start', message: emptyMessage(request, said) },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: said.text } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 0 },
    },
    { type: 'message_stop' },
  ]
}
