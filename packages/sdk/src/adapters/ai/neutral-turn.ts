import type { NeutralCall, NeutralMessage, NeutralTool } from '../../providers/neutral.js'
import type { AskedCall } from '../../session/propose-again.js'
import type { TurnAnswer, TurnInput } from '../../session/session-turn.js'
import type { AiModel, AnswerPart, CallOptions, FinishReason, PromptMessage, ToolOutput, Usage } from './ai-types.js'

/** A request of the AI SDK in the terms of a session. */
export function turnInput({ provider, modelId }: AiModel, { prompt, tools = [] }: CallOptions): TurnInput {
  return {
    // `openai.responses` and `openai.chat` are one provider.
    provider: provider.split('.', 1)[0] ?? provider,
    model: modelId,
    tools: tools.map(({ type, name, inputSchema }): NeutralTool => {
      return { name, kind: type === 'function' ? 'function' : 'provider', parameters: inputSchema }
    }),
    messages: prompt.flatMap(neutralMessages),
    // The SDK tries a failed model call again with the same prompt.
    key: prompt,
  }
}

function neutralMessages({ role, content }: PromptMessage): NeutralMessage[] {
  if (typeof content === 'string') return [{ role, text: content }]
  const results = content
    .filter(({ type }) => type === 'tool-result')
    .map(({ toolCallId = '', output }) => ({ role: 'tool' as const, callId: toolCallId, text: outputText(output) }))
  if (role === 'tool') return results
  const text = content.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')
  const calls = content
    .filter(({ type, providerExecuted }) => type === 'tool-call' && providerExecuted !== true)
    .map(
      ({ toolCallId = '', toolName = '', input }): NeutralCall => ({
        id: toolCallId,
        name: toolName,
        arguments: input,
      }),
    )
  return [{ role, text, ...(calls.length > 0 && { calls }) }, ...results]
}

function outputText({ type, value, reason }: ToolOutput = { type: '' }): string {
  if (type === 'execution-denied') return reason ?? ''
  if (type === 'content' && Array.isArray(value)) return value.map(({ text }: { text?: string }) => text ?? '').join('')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Calls that a person refused to approve; `isNew` where the model has not answered that yet. */
export function deniedCalls(prompt: CallOptions['prompt']): (AskedCall & { readonly isNew: boolean })[] {
  const parts = partsIn(prompt)
  const lastCall = parts.findLastIndex(({ type }) => type === 'tool-call')
  return parts.flatMap(({ type, output, toolCallId }, at) => {
    if (type !== 'tool-result' || output?.type !== 'execution-denied' || toolCallId === undefined) return []
    const made = parts.findLast((part) => part.type === 'tool-call' && part.toolCallId === toolCallId)
    return [{ callId: toolCallId, tool: made?.toolName ?? '', args: made?.input, isNew: at > lastCall }]
  })
}

export const answeredIds = (prompt: CallOptions['prompt']): ReadonlySet<string> =>
  new Set(resultsIn(prompt).map(({ toolCallId = '' }) => toolCallId))

const partsIn = (prompt: CallOptions['prompt']) =>
  prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content))

const resultsIn = (prompt: CallOptions['prompt']) => partsIn(prompt).filter(({ type }) => type === 'tool-result')

/** An answer of the model in the terms of a session. */
export function turnAnswer(
  parts: readonly AnswerPart[],
  finishReason: FinishReason | undefined,
  usage: Usage | undefined,
): TurnAnswer {
  const made = parts.filter(({ type }) => type === 'tool-call')
  const calls = made.filter(isClientCall)
  const run = made.filter((part) => !isClientCall(part))
  const text = parts.map((part) =>
    part.type === 'text' ? (part.text ?? '') : part.type === 'text-delta' ? (part.delta ?? '') : '',
  )
  const input = tokens(usage?.inputTokens)
  const output = tokens(usage?.outputTokens)
  return {
    calls: calls.map(({ toolCallId = '', toolName = '', input: args }) => ({
      id: toolCallId,
      name: toolName,
      arguments: args ?? '',
    })),
    text: text.join(''),
    ...(input !== null && output !== null && { usage: { inputTokens: input, outputTokens: output } }),
    ...(finishReason !== undefined && { finishReason: FINISHES[finishOf(finishReason)] ?? 'stop' }),
    ...(run.length > 0 && {
      providerRun: run.map(({ toolCallId = '', toolName = '', input: args }) => {
        return { type: toolName, name: toolName, id: toolCallId, arguments: args }
      }),
    }),
  }
}

/** A call that the program runs; the provider has run the others by now. */
export const isClientCall = ({ type, providerExecuted }: AnswerPart): boolean =>
  type === 'tool-call' && providerExecuted !== true

const FINISHES: Readonly<Record<string, NonNullable<TurnAnswer['finishReason']>>> = {
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
}

export const finishOf = (reason: FinishReason): string => (typeof reason === 'string' ? reason : reason.unified)

const tokens = (count: Usage['inputTokens']): number | null => (typeof count === 'object' ? count.total : count) ?? null
