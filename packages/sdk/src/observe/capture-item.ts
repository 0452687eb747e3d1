import type { ReadResponse } from '@countersign/engine'
import { type CaptureItem, type CaptureLevel, type Flows, type JsonValue, LIMITS } from '@countersign/protocol'
import { isObject, type JsonObject } from '../base/json-object.js'
import { timeText } from '../base/time-text.js'
import { storableJson } from '../base/written-json.js'
import type { OfferedTool, RequestView } from '../providers/provider.js'

export interface Observation {
  captureId: string
  agent: string
  captureLevel: CaptureLevel
  conversationId: string
  timestamp: Date
  provider: string
  request: JsonObject
  view: RequestView
  response: ReadResponse
  latencyMs: number
  flows: Flows
  sdkSessionId?: string
  validation?: CaptureItem['validation']
}

/** What leaves the process of one observed call: at each level no more than it names. */
export function captureItem(seen: Observation): CaptureItem {
  return {
    ...besidesRequest(seen),
    request: { ...restOfRequest(seen), tools: namedTools(seen).map((tool) => toolOf(seen, tool)) },
  }
}

/**
 * Writes captures as JSON, all in one go: tools that one request after another offers are written once. The program must
 * not run in between, since it may change its tools in place.
 */
export function createCaptureWriter(): (seen: Observation) => string {
  let last: { tools: readonly OfferedTool[]; text: string } = { tools: [], text: '' }
  return (seen) => {
    const tools = namedTools(seen)
    if (!areSame(tools, last.tools)) {
      last = { tools, text: storableJson(tools.map((tool) => JSON.stringify(toolOf(seen, tool))).join(',')) }
    }
    const rest = storableJson(JSON.stringify(restOfRequest(seen))).slice(1, -1)
    const besides = storableJson(JSON.stringify(besidesRequest(seen))).slice(0, -1)
    const request = `"tools":[${last.text}]${rest === '' ? '' : `,${rest}`}`
    return `${besides},"request":{${request}}}`
  }
}

/** Two methods of one client may read one definition in two ways. */
function areSame(tools: readonly OfferedTool[], others: readonly OfferedTool[]): boolean {
  if (tools.length !== others.length) return false
  return tools.every(({ name, kind, definition }, at) => {
    const other = others[at]
    return other?.definition === definition && other.name === name && other.kind === kind
  })
}

function besidesRequest(seen: Observation): Omit<CaptureItem, 'request'> {
  const { captureLevel, view, response } = seen
  const withArguments = captureLevel !== 'metadata'
  const calls = response.calls.filter(({ name, id }) => isToolName(name) && id.length <= 256)
  const toolNames = [...new Set(calls.map(({ name }) => name))]
  return {
    capture_id: seen.captureId,
    schema_version: '1.0',
    capture_level: captureLevel,
    agent: seen.agent,
    conversation_id: seen.conversationId,
    timestamp: timeText(seen.timestamp.getTime()),
    provider: seen.provider,
    model_id: (response.model ?? view.model).slice(0, 256) || null,
    primary_tool_name: toolNames[0] ?? null,
    tool_names: toolNames,
    response: {
      tool_calls: calls.map(({ id, name, argumentsText }) => ({
        id,
        name,
        arguments: withArguments ? argumentsText : null,
      })),
      content: captureLevel === 'full' ? response.content : null,
      finish_reason: response.finishReason,
    },
    ...(seen.validation === undefined ? {} : { validation: seen.validation }),
    ...(response.usage === null ? {} : { usage: response.usage }),
    latency_ms: Math.max(0, Math.round(seen.latencyMs)),
    ...(seen.sdkSessionId === undefined ? {} : { sdk_session_id: seen.sdkSessionId }),
    ...(withArguments ? { flows: seen.flows } : {}),
  }
}

function restOfRequest({ captureLevel, request, view }: Observation): Omit<CaptureItem['request'], 'tools'> {
  return {
    ...(captureLevel === 'full' ? { messages: messagesOf(request) } : {}),
    ...(captureLevel !== 'metadata' && view.toolChoice !== undefined
      ? { tool_choice: view.toolChoice as JsonValue }
      : {}),
  }
}

function namedTools({ view }: Observation): OfferedTool[] {
  return view.tools.filter(({ name }) => isToolName(name)).slice(0, LIMITS.toolsPerPreflight)
}

function toolOf({ captureLevel }: Observation, tool: OfferedTool): CaptureItem['request']['tools'][number] {
  return { name: tool.name, kind: tool.kind, ...(captureLevel === 'metadata' ? {} : schemaOf(tool)) }
}

function isToolName(name: string): boolean {
  return name !== '' && name.length <= LIMITS.toolNameLength
}

/** The schema of a tool's arguments, wherever the provider puts it. */
function schemaOf({ definition }: OfferedTool): { schema?: JsonValue } {
  const inner = isObject(definition.function) ? definition.function : definition
  const schema = inner.parameters ?? inner.input_schema
  return isObject(schema) ? { schema: schema as JsonValue } : {}
}

/** The messages of a request, as the program wrote them. */
export function messagesOf(request: JsonObject): JsonValue[] {
  const { messages, input } = request
  if (Array.isArray(messages)) return messages
  if (Array.isArray(input)) return input
  return typeof input === 'string' ? [{ role: 'user', content: input }] : []
}
