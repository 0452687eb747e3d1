import type { NeutralMessage, NeutralTool } from '../../providers/neutral.js'
import type { TurnAnswer, TurnInput } from '../../session/session-turn.js'
import type { Message, ModelRequest, ModelResult, Tool, ToolCall } from './langchain-types.js'

/** A request of LangChain in the terms of a session. */
export function turnInput({ model, messages, systemPrompt, tools = [] }: ModelRequest): TurnInput {
  const system: NeutralMessage[] = systemPrompt ? [{ role: 'system', text: systemPrompt }] : []
  return {
    provider: model._llmType?.() ?? '',
    model: String(model.model ?? model.modelName ?? ''),
    tools: tools.map((tool): NeutralTool => ({ name: nameOf(tool), kind: isRunHere(tool) ? 'function' : 'provider' })),
    messages: [...system, ...messages.map(neutralMessage)],
    // A middleware outside of ours tries a failed model call again with the same messages.
    key: messages,
  }
}

export const nameOf = ({ name, type }: Tool): string => name ?? type ?? ''

export const isRunHere = ({ invoke }: Tool): boolean => typeof invoke === 'function'

const ROLES: Readonly<Record<string, NeutralMessage['role']>> = {
  system: 'system',
  developer: 'system',
  ai: 'assistant',
  tool: 'tool',
}

function neutralMessage(message: Message): NeutralMessage {
  const { type, tool_call_id, tool_calls = [] } = message
  return {
    role: ROLES[type] ?? 'user',
    text: textOf(message),
    ...(tool_call_id !== undefined && { callId: tool_call_id }),
    ...(tool_calls.length > 0 && { calls: tool_calls.map(neutralCall) }),
  }
}

const neutralCall = ({ id, name, args }: ToolCall) => ({ id: id ?? '', name, arguments: args })

const textOf = ({ text, content }: Message): string =>
  text ?? (typeof content === 'string' ? content : JSON.stringify(content))

/** An answer of the model in the terms of a session. */
export function turnAnswer(result: ModelResult): TurnAnswer {
  const isStructured = 'structuredResponse' in result
  const message = isStructured ? result.messages[0] : result
  if (message === undefined) return {}
  const { tool_calls = [], invalid_tool_calls = [], usage_metadata: usage } = message
  // What a structured response looks like a call for is the response itself.
  const calls = isStructured
    ? []
    : [
        ...tool_calls.map(neutralCall),
        ...invalid_tool_calls.map(({ id, name, args }) => ({ id: id ?? '', name: name ?? '', arguments: args ?? '' })),
      ]
  return {
    calls,
    text: textOf(message),
    ...(usage !== undefined && { usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens } }),
  }
}
