import { randomUUID } from 'node:crypto'
import { checkStrictValue, flowOf, newTrail } from '@countersign/engine'
import type { JsonValue, ValueSource } from '@countersign/protocol'
import fc from 'fast-check'
import { mailConversation } from './captures.js'

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
export const craftedCapture = (agent: string): fc.Arbitrary<unknown> =>
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
