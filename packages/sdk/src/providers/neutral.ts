import { type JsonObject, objects, text } from '../base/json-object.js'
import type { MessageCall, MessageView, OfferedTool, Provider, RequestView } from './provider.js'

/** A request to any model, in the terms of this SDK. */
export interface NeutralRequest {
  /** The provider, as in patterns such as `openai/gpt-4o*`. */
  provider?: string
  /** The model, as the provider names it. */
  model: string
  /** The tools that the model is offered: names, or definitions with one. */
  tools?: readonly (string | NeutralTool)[]
  /** The conversation so far, oldest first. Results of tools carry the id of their call. */
  messages?: readonly NeutralMessage[]
}

/** A tool that a model is offered. */
export interface NeutralTool {
  /** As the model calls it. */
  name: string
  /** `provider`: the provider runs it itself. */
  kind?: 'function' | 'custom' | 'provider'
  /** JSON Schema of the arguments. */
  parameters?: unknown
}

/** A message of a conversation. */
export interface NeutralMessage {
  /** Who speaks; `tool` for the result of a call. */
  role: 'system' | 'user' | 'assistant' | 'tool'
  /** What is said. */
  text?: string
  /** The call that a tool's result answers. */
  callId?: string
  /** The calls that an assistant's message made. */
  calls?: readonly NeutralCall[]
}

/** A call of a tool, as the model made it. */
export interface NeutralCall {
  /** The id that the model gave the call. */
  id: string
  /** The name of the tool. */
  name: string
  /** The value, or its JSON text. */
  arguments: unknown
}

/** Programs that ask a model by other means than a client or a `fetch` of ours: the request is judged, never sent. */
export function neutralProvider(name: string): Provider {
  return {
    name,
    format: 'normalized',
    createPath: '',
    readRequest,
    readMessages: ({ messages }) => objects(messages).map(messageView),
    withTools: (request, allowed) => ({
      ...request,
      tools: tools(request).filter(({ name: tool }) => allowed.has(tool)),
    }),
    withSystemText: (request, feedback) => ({ ...request, feedback }),
    withAppendedText: notSent,
    withRefusedAnswer: notSent,
    withStreamUsage: notSent,
    keepCalls: (response) => response,
    withTextOnly: (response) => response,
    textResponse: notSent,
    textEvents: notSent,
    readStream: notSent,
    joinStreams: notSent,
    wire: { encode: notSent, end: '', problem: notSent },
  }
}

function notSent(): never {
  throw new Error('a neutral request is not sent')
}

function readRequest(request: JsonObject): RequestView {
  const answers = objects(request.messages).filter(({ role }) => role === 'tool')
  return {
    model: text(request.model),
    tools: tools(request),
    answeredCallIds: answers.map(({ callId }) => text(callId)),
    streaming: false,
    previousResponseId: null,
    toolChoice: undefined,
    refusals: [],
  }
}

function tools({ tools: given }: JsonObject): OfferedTool[] {
  const offered: unknown[] = Array.isArray(given) ? given : []
  return offered.map((tool): OfferedTool => {
    if (typeof tool === 'string') return { name: tool, kind: 'function', definition: { name: tool } }
    const definition = tool as JsonObject
    const kind = definition.kind === 'custom' || definition.kind === 'provider' ? definition.kind : 'function'
    return { name: text(definition.name), kind, definition }
  })
}

function messageView({ role, text: said, callId, calls }: JsonObject): MessageView {
  return {
    role: role === 'system' || role === 'assistant' || role === 'tool' ? role : 'user',
    text: text(said),
    callId: role === 'tool' ? text(callId) : null,
    calls: objects(calls).map(
      (call): MessageCall => ({ id: text(call.id), name: text(call.name), arguments: call.arguments }),
    ),
  }
}
