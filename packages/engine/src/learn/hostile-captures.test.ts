import type { JsonValue } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { flowOf } from '../flows/flows.js'
import { newTrail, sawCall, sawResult, sawUser, takeColumns } from '../flows/trail.js'
import { draftContracts } from './draft.js'
import { addCall, addColumns, newSummary, type ToolSummary } from './summary.js'
import { writeContract } from './write-contract.js'

/** Whoever can make an agent call tools writes captures. Whatever they hold, a draft of them is a draft like any other. */
const key = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    "it's",
    'a"b',
    'a\\b',
    '',
    'x\u0000y',
    '$ref',
    '\ud800',
    'x'.repeat(5_000),
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('to', 'id', 'body'),
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    'a@x.org',
    '^(a+)+$',
    '# no comment',
    '\ud800',
    '\u202etxt',
    '1e999',
    'y'.repeat(3_000),
    '---\n- &a [*a, *a]',
  ),
)
const hostile: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value
const call = fc.record({
  tool: fc.constantFrom('send', 'get', '__proto__', 'constructor', 'навести'),
  given: fc.array(fc.tuple(key, hostile), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  result: hostile,
})
const schema = fc.oneof(
  hostile,
  fc.record({ type: hostile, properties: hostile, required: hostile, enum: hostile, anyOf: hostile, $ref: hostile }),
  fc.array(fc.tuple(key, hostile), { maxLength: 4 }).map((entries) => ({
    type: 'object',
    properties: Object.fromEntries(entries),
    $defs: { Loop: { $ref: '#/$defs/Loop' } },
    anyOf: [{ $ref: '#/$defs/Loop' }],
  })),
)

function learned(
  sessions: readonly { user: string; calls: readonly { tool: string; given: unknown; result: unknown }[] }[],
) {
  const byTool = new Map<string, ToolSummary>()
  const of = (tool: string) => {
    const summary = byTool.get(tool) ?? newSummary(tool)
    byTool.set(tool, summary)
    return summary
  }
  sessions.forEach(({ user, calls }, at) => {
    const trail = newTrail()
    sawUser(trail, user)
    for (const { tool, given, result } of calls) {
      const flow = flowOf(trail, { id: '', tool, arguments: given })
      addCall(of(tool), { session: `s${at}`, request: user, tool, arguments: given, flow }, 'salt')
      sawCall(trail, tool, given)
      sawResult(trail, tool, result, { arguments: given })
      for (const column of takeColumns(trail)) addColumns(of(column.tool), `s${at}`, [column])
    }
  })
  return [...byTool.values()]
}

describe('captures that somebody crafted', () => {
  test('always give drafts that compile, as data and as the files that a person reads', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ user: text, calls: fc.array(call, { maxLength: 4 }) }), { maxLength: 12 }),
        schema,
        (sessions, offered) => {
          const tools = ['send', 'get', 'never_called'].map((name) => ({ name, schema: offered }))
          const summaries = learned(sessions)
          const drafts = draftContracts(summaries, { salt: 'salt', otherwise: 'ask', offered: tools })
          const asData = compilePlan({
            contracts: drafts.map(({ contract }, at) => ({ file: `${at}.json`, value: contract as JsonValue })),
          })
          const asFiles = compilePlan({
            contracts: drafts.map((draft, at) => ({ file: `${at}.yaml`, text: writeContract(draft).text })),
          })
          if (!asData.ok) throw new Error(JSON.stringify(asData.errors))
          if (!asFiles.ok) throw new Error(JSON.stringify(asFiles.errors))
          expect(asFiles.compiled_hash).toBe(asData.compiled_hash)
          // As the database takes it: NUL has no place in its texts, written as a character or as an escape.
          expect(JSON.stringify(summaries).replaceAll('\\\\', '')).not.toContain('\\u0000')
        },
      ),
      { numRuns: 50 },
    )
  })
})
