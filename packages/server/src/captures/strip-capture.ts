import type { CaptureItem, JsonValue } from '@countersign/protocol'
import type { Random } from '../base/crypto/secrets.js'
import type { NewCapture, StoredCapture } from '../store/captures/captures.js'

/** What the level of a capture allows to be stored, whatever the client sent. */
export function stripCapture(item: CaptureItem): NewCapture {
  return {
    captureId: item.capture_id,
    agent: item.agent,
    conversationId: item.conversation_id,
    at: item.timestamp,
    captureLevel: item.capture_level,
    toolNames: item.tool_names,
    decision: decisionOf(item),
    governed: false,
    item: stripped(item),
  }
}

function stripped({ request, response, flows, ...rest }: CaptureItem): StoredCapture {
  const withArguments = rest.capture_level !== 'metadata'
  const withContent = rest.capture_level === 'full'
  return {
    ...rest,
    request: {
      tools: request.tools.map(({ name }) => name),
      ...(withContent && request.messages !== undefined && { messages: request.messages }),
      ...(withArguments && request.tool_choice !== undefined && { tool_choice: request.tool_choice }),
    },
    response: {
      tool_calls: response.tool_calls.map((call) => (withArguments ? call : { ...call, arguments: null })),
      content: withContent ? response.content : null,
      finish_reason: response.finish_reason,
    },
    ...(withArguments && flows !== undefined && { flows }),
  }
}

/** Blocked when any call was: the capture then holds a call that must not be learned. */
function decisionOf({ validation }: CaptureItem): NewCapture['decision'] {
  if (validation === undefined) return null
  return validation.calls.some(({ decision }) => decision === 'block') ? 'block' : 'allow'
}

/** One new salt for each agent; an agent that has one keeps its own. */
export function saltsOf(agents: readonly string[], random: Random): Map<string, string> {
  return new Map(agents.map((agent) => [agent, random(24).toString('base64url')]))
}

/** The tools that the items offer, each once, with the newest schema that came along. */
export function offeredIn(items: readonly CaptureItem[]): { agent: string; tool_name: string; schema: JsonValue }[] {
  const tools = new Map<string, { agent: string; tool_name: string; schema: JsonValue }>()
  for (const { agent, capture_level, request } of items) {
    for (const { name, schema } of request.tools) {
      const key = JSON.stringify([agent, name])
      const shown = capture_level === 'metadata' ? undefined : schema
      tools.set(key, { agent, tool_name: name, schema: shown ?? tools.get(key)?.schema ?? null })
    }
  }
  return [...tools.values()].sort((a, b) => (a.agent + a.tool_name < b.agent + b.tool_name ? -1 : 1))
}
