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
import { callsExcept } from './openai-responses-calls.js'
import { joinResponseStreams } from './openai-responses-join.js'
import { messageItem, readResponseStream } from './openai-responses-stream.js'
import { inputItems, saidInsteadId, storedResponses } from './stored-responses.js'

/** OpenAI `responses`. */
export const openaiResponses: Provider = {
  name: 'openai',
  format: 'openai-responses',
  createPath: 'responses.create',
  readRequest,
  readMessages,
  withTools,
  withSystemText: (request, said) => ({
    ...request,
    instructions: [said, text(request.instructions)].filter((part) => part !== '').join('\n\n'),
  }),
  // A conversation has by now what the request brought before.
  withAppendedText: (request, said) => ({
    ...request,
    input: [...(request.conversation == null ? inputItems(request) : []), { role: 'system', content: said }],
  }),
  withRefusedAnswer,
  withStreamUsage: (request) => request,
  keepCalls,
  withTextOnly,
  textResponse,
  textEvents,
  readStream: readResponseStream,
  joinStreams: joinResponseStreams,
  stored: storedResponses,
  wire: {
    encode: (event) => `event: ${isObject(event) ? text(event.type) : ''}\ndata: ${JSON.stringify(event)}\n\n`,
    end: '',
    problem: (detail) => ({ error: { type: 'permission_error', param: null, ...detail } }),
  },
}

/** Built-in tools: named by their type. Some are run by the provider, some answered by the program. */
const BUILT_IN_TOOLS =
  /^(file_search|web_search(_\d{4}_\d{2}_\d{2})?|web_search_preview(_\d{4}_\d{2}_\d{2})?|computer|mcp|code_interpreter|programmatic_tool_calling|image_generation|local_shell|shell|tool_search|apply_patch)$/

function readRequest(request: JsonObject): RequestView {
  const items = objects(inputItems(request))
  const results = items.filter((item) => text(item.type).endsWith('_output') && typeof item.call_id === 'string')
  return {
    model: text(request.model),
    tools: toolLists(request).flatMap(offeredTools),
    answeredCallIds: results.map((item) => text(item.call_id)),
    streaming: request.stream === true,
    previousResponseId: typeof request.previous_response_id === 'string' ? request.previous_response_id : null,
    toolChoice: request.tool_choice,
    refusals: refusalsOf(request),
  }
}

function readMessages(request: JsonObject): MessageView[] {
  const messages = objects(inputItems(request)).flatMap(messageViews)
  const instructions = text(request.instructions)
  return instructions === '' ? messages : [{ role: 'system', text: instructions, callId: null, calls: [] }, ...messages]
}

function messageViews(item: JsonObject): MessageView[] {
  const view = { callId: null, calls: [] }
  if (text(item.type).endsWith('_output')) {
    return [{ ...view, role: 'tool', text: contentText(item.output), callId: text(item.call_id) }]
  }
  if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    const made = { id: text(item.call_id), name: text(item.name), arguments: item.arguments ?? { input: item.input } }
    return [{ ...view, role: 'assistant', text: '', calls: [made] }]
  }
  const said = contentText(item.content)
  if (typeof item.role !== 'string' || said === '') return []
  if (item.role === 'assistant' || item.role === 'user') return [{ ...view, role: item.role, text: said }]
  return [{ ...view, role: 'system', text: said }]
}

/** Tools are offered in `tools`, and by input items that bring more of them. */
function toolLists(request: JsonObject): JsonObject[][] {
  const brought = objects(request.input).filter((item) => bringsTools(item))
  return [objects(request.tools), ...brought.map((item) => objects(item.tools))]
}

function bringsTools(item: JsonObject): boolean {
  return item.type === 'additional_tools' || item.type === 'tool_search_output'
}

/** The name a tool is judged by; null for a kind that is not known. A namespace has only the names of its tools. */
function toolName(tool: JsonObject): string | null {
  if (tool.type === 'function' || tool.type === 'custom') return text(tool.name)
  // Both versions are called by the same name.
  if (tool.type === 'computer_use_preview') return 'computer'
  return BUILT_IN_TOOLS.test(text(tool.type)) ? text(tool.type) : null
}

function offeredTools(tools: JsonObject[]): OfferedTool[] {
  return tools.flatMap((definition): OfferedTool[] => {
    if (definition.type === 'namespace') return offeredTools(objects(definition.tools))
    const name = toolName(definition)
    if (name === null) return []
    const kind = definition.type === 'function' || definition.type === 'custom' ? definition.type : 'provider'
    return [{ name, kind, definition }]
  })
}

function refusalsOf(request: JsonObject): string[] {
  const refusals: string[] = []
  if (request.background === true) {
    refusals.push('`background` responds after the call, when tool calls can no longer be checked; omit it')
  }
  if (request.prompt !== undefined && request.prompt !== null) {
    refusals.push('a stored `prompt` can contain tools that cannot be seen; put the prompt into the request')
  }
  const unknown = (tools: JsonObject[]): JsonObject[] =>
    tools.flatMap((tool) => {
      if (tool.type === 'namespace') return unknown(objects(tool.tools))
      return toolName(tool) === null ? [tool] : []
    })
  for (const tool of toolLists(request).flatMap(unknown)) {
    refusals.push(`the tool type ${JSON.stringify(tool.type ?? null)} is not supported`)
  }
  return refusals
}

function withTools(request: JsonObject, allowed: ReadonlySet<string>): JsonObject {
  const result = { ...request }
  if (objects(request.input).some(bringsTools)) {
    result.input = inputItems(request).map((item) =>
      isObject(item) && bringsTools(item) ? { ...item, tools: allowedTools(objects(item.tools), allowed) } : item,
    )
  }
  if (!Array.isArray(request.tools)) return result
  const tools = allowedTools(objects(request.tools), allowed)
  if (tools.length === 0) return without(result, 'tools', 'tool_choice', 'parallel_tool_calls')
  return { ...result, tools, ...narrowedChoice(request.tool_choice, allowed) }
}

function allowedTools(tools: JsonObject[], allowed: ReadonlySet<string>): JsonObject[] {
  return tools.flatMap((tool) => {
    if (tool.type !== 'namespace') return allowed.has(toolName(tool) ?? '') ? [tool] : []
    const inner = allowedTools(objects(tool.tools), allowed)
    return inner.length > 0 ? [{ ...tool, tools: inner }] : []
  })
}

function narrowedChoice(choice: unknown, allowed: ReadonlySet<string>): JsonObject {
  if (!isObject(choice)) return {}
  if (choice.type === 'allowed_tools') {
    const tools = objects(choice.tools).filter((tool) => allowed.has(toolName(tool) ?? ''))
    return { tool_choice: tools.length > 0 ? { ...choice, tools } : 'none' }
  }
  return allowed.has(toolName(choice) ?? '') ? {} : { tool_choice: 'none' }
}

function withRefusedAnswer(
  request: JsonObject,
  response: JsonObject,
  whyNotRun: (callId: string) => string,
): JsonObject | null {
  const calls = storedResponses.callsExcept(response, new Set())
  const answers = calls.map((call) => storedResponses.answerTo(call, whyNotRun(text(call.call_id))))
  if (calls.length === 0 || answers.includes(null)) return null
  // A conversation has the request and the answer by now, and its calls are answered with whatever comes next.
  if (request.conversation != null) return { ...request, input: [] }
  // What the provider did not store it does not know by its id.
  const said = request.store === false ? objects(response.output).flatMap(unstored) : objects(response.output)
  return { ...request, input: [...inputItems(request), ...said, ...answers] }
}

function unstored(item: JsonObject): JsonObject[] {
  if (item.type === 'reasoning' && typeof item.encrypted_content !== 'string') return []
  return [without(item, 'id')]
}

function keepCalls(response: JsonObject, allowedIds: ReadonlySet<string>, said?: string): JsonObject {
  const before = objects(response.output)
  const gone = callsExcept(before, allowedIds)
  if (gone.size === 0) return response
  const remaining = before.filter((item) => !gone.has(item))
  const kept = withHiddenPropertiesOf(response, { ...response, output: withoutOrphanReasoning(before, remaining) })
  return said === undefined ? kept : withSaid(kept, said)
}

/** The API refuses a reasoning item whose following item is missing, so it goes with the call it led to. */
function withoutOrphanReasoning(before: JsonObject[], remaining: JsonObject[]): JsonObject[] {
  if (before.at(-1) === remaining.at(-1)) return remaining
  const end = remaining.findLastIndex((item) => item.type !== 'reasoning')
  return remaining.slice(0, end + 1)
}

function textResponse(request: JsonObject, said: SaidInstead): JsonObject {
  const output = [messageItem(said.text)]
  return { ...emptyResponse(request, said), status: 'completed', output, output_text: said.text }
}

function withTextOnly(response: JsonObject, said: string): JsonObject {
  return withSaid(keepCalls(response, new Set()), said)
}

const withSaid = (response: JsonObject, said: string): JsonObject =>
  withHiddenPropertiesOf(response, {
    ...response,
    output: [...objects(response.output), messageItem(said)],
    ...('output_text' in response ? { output_text: text(response.output_text) + said } : {}),
  })

function emptyResponse(request: JsonObject, { id }: SaidInstead): JsonObject {
  return {
    id: saidInsteadId(id),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    metadata: request.metadata ?? {},
    model: text(request.model),
    output: [],
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'none',
    tools: [],
    top_p: null,
  }
}

function textEvents(request: JsonObject, said: SaidInstead): JsonObject[] {
  const hold = readResponseStream(request, { holdAll: true })
  const response = emptyResponse(request, said)
  hold.take({ type: 'response.created', sequence_number: 0, response })
  hold.take({ type: 'response.completed', sequence_number: 1, response: { ...response, status: 'completed' } })
  return hold.releaseOnly(new Set(), said.text)
}
