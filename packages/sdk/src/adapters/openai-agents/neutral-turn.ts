import type { NeutralCall, NeutralMessage, NeutralTool } from '../../providers/neutral.js'
import type { TurnAnswer, TurnInput } from '../../session/session-turn.js'
import type { Item, ModelRequest, ModelResponse } from './agents-types.js'

/** A request of the Agents SDK in the terms of a session. Handoffs that the workflow judges are no tools. */
export function turnInput(request: ModelRequest, model: string, judgesHandoffs: boolean): TurnInput {
  const { input, tools, handoffs, systemInstructions } = request
  const offered = tools.map(({ type, name, parameters }): NeutralTool => {
    return { name, kind: type === 'hosted_tool' ? 'provider' : 'function', parameters }
  })
  const transfers = handoffs.map(({ toolName, inputJsonSchema }) => ({ name: toolName, parameters: inputJsonSchema }))
  return {
    provider: 'openai',
    model,
    tools: judgesHandoffs ? [...offered, ...transfers] : offered,
    messages: [
      ...(systemInstructions === undefined ? [] : [{ role: 'system' as const, text: systemInstructions }]),
      ...(typeof input === 'string' ? [{ role: 'user' as const, text: input }] : input.flatMap(neutralMessage)),
    ],
    // The runner tries a failed model call again with the same input.
    key: typeof input === 'string' ? request : input,
  }
}

function neutralMessage(item: Item): NeutralMessage[] {
  const { type = 'message', role, callId = '' } = item
  if (type === 'message') return [{ role: ROLES[role ?? ''] ?? 'user', text: textOf(item.content) }]
  if (type.endsWith('_result') || type.endsWith('_output')) return [{ role: 'tool', callId, text: textOf(item.output) }]
  const call = neutralCall(item)
  return call === null ? [] : [{ role: 'assistant', calls: [call] }]
}

const ROLES: Readonly<Record<string, NeutralMessage['role']>> = { system: 'system', assistant: 'assistant' }

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content : [content]
  return parts.map((part) => (part as { text?: string } | null)?.text ?? JSON.stringify(part) ?? '').join('')
}

/** The tools of the SDK that are no functions, by the type of their calls. */
const BUILT_IN: Readonly<Record<string, string>> = {
  shell_call: 'shell',
  apply_patch_call: 'apply_patch',
  computer_call: 'computer_use_preview',
}

/** The call that an item makes; null for an item of another kind. */
export function neutralCall({
  type = '',
  callId = '',
  name = '',
  arguments: args,
  action,
  operation,
}: Item): NeutralCall | null {
  if (type === 'function_call') return { id: callId, name, arguments: args ?? '' }
  const builtIn = BUILT_IN[type]
  return builtIn === undefined ? null : { id: callId, name: builtIn, arguments: action ?? operation ?? {} }
}

/** The ids of calls that the input answers. */
export const answeredIds = ({ input }: ModelRequest): ReadonlySet<string> =>
  new Set(
    typeof input === 'string'
      ? []
      : input.filter(({ output }) => output !== undefined).map(({ callId = '' }) => callId),
  )

/** An answer of the model in the terms of a session; `judges` says which calls are tools. */
export function turnAnswer({ output, usage }: ModelResponse, judges: (toolName: string) => boolean): TurnAnswer {
  const calls = output.map(neutralCall).filter((call) => call !== null)
  const run = output.filter(({ type }) => type === 'hosted_tool_call')
  return {
    calls: calls.filter(({ name }) => judges(name)),
    text: output.map(({ type, content }) => ((type ?? 'message') === 'message' ? textOf(content) : '')).join(''),
    usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
    ...(run.length > 0 && {
      providerRun: run.map(({ name = '', callId, arguments: args }) => {
        return { type: name, name, arguments: args, ...(callId !== undefined && { id: callId }) }
      }),
    }),
  }
}
