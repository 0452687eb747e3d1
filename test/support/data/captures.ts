import { randomUUID } from 'node:crypto'
import { flowOf, newTrail, sawCall, sawResult, sawUser, takeColumns } from '@countersign/engine'
import type { CaptureItem, JsonObject, JsonValue } from '@countersign/protocol'

export interface ObservedTurn {
  name: string
  args: JsonObject
  result?: JsonValue
}

/** The captures that observing one conversation makes, one a call. */
export function capturesOf(
  agent: string,
  user: string,
  turns: readonly ObservedTurn[],
  given: Partial<CaptureItem> = {},
): CaptureItem[] {
  const trail = newTrail('test')
  sawUser(trail, user)
  const conversation = given.conversation_id ?? randomUUID()
  return turns.map(({ name, args, result }, index) => {
    const id = `call_${index}`
    const columns = takeColumns(trail)
    const flows = {
      calls: [flowOf(trail, { id, tool: name, arguments: args })],
      ...(columns.length > 0 && { columns }),
      ...(trail.request !== null && { request: trail.request }),
    }
    sawCall(trail, name, args)
    if (result !== undefined) sawResult(trail, name, result, { arguments: args })
    return {
      capture_id: randomUUID(),
      schema_version: '1.0',
      capture_level: 'redacted',
      agent,
      conversation_id: conversation,
      timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
      provider: 'openai',
      model_id: 'gpt-4o',
      primary_tool_name: name,
      tool_names: [name],
      request: { tools: [{ name, schema: { type: 'object' } }] },
      response: {
        tool_calls: [{ id, name, arguments: JSON.stringify(args) }],
        content: null,
        finish_reason: 'tool_calls',
      },
      latency_ms: 12,
      flows,
      ...given,
    }
  })
}

/** A desk that looks people up and writes to them; `name` tells the conversations apart. */
export const mailConversation = (agent: string, name: string, given: Partial<CaptureItem> = {}): CaptureItem[] =>
  capturesOf(
    agent,
    `Write to ${name} that lunch is ready`,
    [
      { name: 'find_person', args: { name }, result: [{ name, email: `${name.toLowerCase()}@example.com` }] },
      {
        name: 'send_mail',
        args: { to: `${name.toLowerCase()}@example.com`, body: 'Lunch is ready, come over please.' },
      },
    ],
    given,
  )

/** Captures as the body of a batch. */
export const batchOf = (captures: readonly unknown[]): { body: { captures: JsonValue[] } } => ({
  body: { captures: captures as JsonValue[] },
})
