import { randomUUID } from 'node:crypto'
import { checkStrictValue, flowOf, newTrail, sawCall, sawResult, sawUser, takeColumns } from '@countersign/engine'
import type { CaptureItem, JsonObject, JsonValue, ValueSource } from '@countersign/protocol'
import fc from 'fast-check'

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

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }).map((text) => text.toWellFormed()),
  fc.constantFrom('__proto__', 'constructor', "it's", 'a\u0000b', '\u202e', 'a@x.org', 'x'.repeat(20_000), '^(a+)+$'),
)
const oddValue = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    oddText,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, 1e308),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(oddText, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value

/** What a body may hold: other bodies are refused whole, with everything in them. */
const isSendable = (value: JsonValue) => checkStrictValue(value) === null && !JSON.stringify(value).includes('\\u0000')
const sendable = oddValue.filter(isSendable)

/** A capture that somebody made to mislead: any arguments, any claims about them, any schema of any tool. */
export const hostileCapture = (agent: string): fc.Arbitrary<unknown> =>
  fc
    .record({
      name: fc.constantFrom('send_mail', 'find_person', 'wipe_disk', '__proto__', 'toString', 'отправить'),
      args: fc.oneof(oddValue, fc.constant({ to: 'mallory@evil.example', all: true })),
      raw: fc.option(oddText.filter(isSendable)),
      schema: sendable,
      claims: fc.constantFrom<ValueSource[]>(
        [{ seen: 'user' }],
        [{ seen: 'prose', tool: 'find_person', path: '$' }],
        [],
      ),
      broken: fc.option(sendable, { freq: 8 }),
    })
    .map(({ name, args, raw, schema, claims, broken }) => {
      const described = flowOf(newTrail(), { id: 'x', tool: name, arguments: args })
      const flow = { ...described, leaves: described.leaves.map((leaf) => ({ ...leaf, sources: claims })) }
      const [model] = mailConversation(agent, 'Ann')
      return {
        ...model,
        capture_id: randomUUID(),
        tool_names: [name],
        request: { tools: [{ name, schema }] },
        response: {
          tool_calls: [{ id: 'x', name, arguments: raw ?? JSON.stringify(args) }],
          content: null,
          finish_reason: 'tool_calls',
        },
        flows: { calls: [flow], columns: [{ tool: 'find_person', path: '$', place: 'cell', holds: ['name'] }] },
        ...(broken === null ? {} : { response: broken }),
      }
    })
