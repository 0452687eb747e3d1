import type { CallFlow, ResultColumn, SourceRule, ValueSource } from '@countersign/protocol'
import { describe, expect, it } from 'vitest'
import { kindOf } from '../learn/value-kind.js'
import { judgeSources, knownHash, type SourceContext } from './sources.js'

const columns: Record<string, ResultColumn[]> = {
  contacts: [{ path: '$[*].email', place: 'cell', holds: ['email'] }],
  mail: [
    { path: '$[*].body', place: 'cell', holds: ['email', 'prose'] },
    { path: '$[*].id', place: 'cell', holds: ['number'] },
  ],
  page: [{ path: '$', place: 'cell', holds: ['prose'] }],
}
const context: SourceContext = {
  columnsOf: (tool) => columns[tool] ?? null,
  isGuarded: (tool) => tool === 'send',
}

function judge(from: SourceRule['from'], value: string, seen: ValueSource[], more: Partial<SourceRule> = {}) {
  const flow: CallFlow = {
    call_id: 'c',
    tool: 'send',
    leaves: [{ path: '$.to', kind: kindOf(value), sources: seen }],
    prior_tools: [],
    prior_calls: 0,
  }
  const rule: SourceRule = { path: '$.to', role: 'reference', from, otherwise: 'block', ...more }
  return judgeSources([rule], { arguments: { to: value }, flow }, context)
}
const cell = (
  tool: string,
  path: string,
  holds?: ValueSource extends { holds?: infer H } ? H : never,
): ValueSource => ({
  seen: 'cell',
  tool,
  path,
  ...(holds !== undefined && { holds }),
})

const rows: { name: string; from: SourceRule['from']; value: string; seen: ValueSource[]; ok: boolean }[] = [
  { name: 'the user’s words', from: ['user'], value: 'a@x.org', seen: [{ seen: 'user' }], ok: true },
  { name: 'nothing, where only the user counts', from: ['user'], value: 'a@x.org', seen: [], ok: false },
  {
    name: 'an identifier cell',
    from: ['identifier'],
    value: 'a@x.org',
    seen: [cell('contacts', '$[*].email')],
    ok: true,
  },
  {
    name: 'a cell of a column of prose',
    from: ['identifier'],
    value: 'a@x.org',
    seen: [cell('mail', '$[*].body')],
    ok: false,
  },
  {
    name: 'a cell of another kind',
    from: ['identifier'],
    value: 'Bob',
    seen: [cell('contacts', '$[*].email')],
    ok: false,
  },
  { name: 'a number’s cell for digits', from: ['identifier'], value: '13', seen: [cell('mail', '$[*].id')], ok: true },
  {
    name: 'a table in a text tool’s answer',
    from: ['identifier'],
    value: 'a@x.org',
    seen: [cell('page', '$.to')],
    ok: false,
  },
  {
    name: 'an argument that was judged',
    from: ['argument'],
    value: 'Bob',
    seen: [{ seen: 'argument', tool: 'send', path: '$.to' }],
    ok: true,
  },
  {
    name: 'an argument that was not',
    from: ['argument'],
    value: 'Bob',
    seen: [{ seen: 'argument', tool: 'read', path: '$.q' }],
    ok: false,
  },
  {
    name: 'a line where lines count',
    from: [{ result: 'page', path: '$', as: 'line' }],
    value: 'Bob',
    seen: [{ seen: 'line', tool: 'page', path: '$' }],
    ok: true,
  },
  {
    name: 'prose where lines count',
    from: [{ result: 'page', path: '$', as: 'line' }],
    value: 'Bob',
    seen: [{ seen: 'prose', tool: 'page', path: '$' }],
    ok: false,
  },
  {
    name: 'a line where prose counts',
    from: [{ result: 'page', path: '$', as: 'prose' }],
    value: 'Bob',
    seen: [{ seen: 'line', tool: 'page', path: '$' }],
    ok: true,
  },
  {
    name: 'prose of another tool',
    from: [{ result: 'page', path: '$', as: 'prose' }],
    value: 'Bob',
    seen: [{ seen: 'prose', tool: 'mail', path: '$' }],
    ok: false,
  },
  { name: 'something made up', from: ['generated'], value: 'Bob', seen: [], ok: true },
  { name: 'something made up of another kind', from: [{ generated: ['name'] }], value: 'a@x.org', seen: [], ok: false },
  { name: 'an amount', from: ['user'], value: '12.50', seen: [], ok: true },
  { name: 'a date', from: ['user'], value: '2024-02-03', seen: [], ok: true },
]

describe('judgeSources', () => {
  it.each(rows)('$name', ({ from, value, seen, ok }) => {
    expect(judge(from, value, seen)).toHaveLength(ok ? 0 : 1)
  })

  it('knows values by their hash under the argument’s name', () => {
    const known = { salt: 's', hashes: [knownHash('s', '$.message.to', 'a@x.org')] }
    expect(judge(['known'], 'A@x.org', [], { known })).toEqual([])
    expect(judge(['known'], 'b@x.org', [], { known })).toHaveLength(1)
  })

  it('says where the value was found and where it may come from', () => {
    const [violation] = judge(['user', 'identifier'], 'Bob', [{ seen: 'prose', tool: 'page', path: '$' }], {
      otherwise: 'ask',
    })
    expect(violation?.otherwise).toBe('ask')
    expect(violation?.remedy).toBe(
      'take $.to from what the user wrote, or a whole field of a result that holds identifiers; it was seen in the middle of the text at $ of the result of page',
    )
  })

  it('trusts no flow that is missing, about another argument, or about another value', () => {
    const rule: SourceRule = { path: '$.to', from: ['user', 'generated'], otherwise: 'block' }
    const leaf = { path: '$.to', kind: 'name' as const, sources: [] }
    const flow: CallFlow = { call_id: 'c', tool: 'send', leaves: [leaf], prior_tools: [], prior_calls: 0 }
    const found = (args: unknown, claimed: CallFlow | null) =>
      judgeSources([rule], { arguments: args, flow: claimed }, context)
    expect(found({ to: 'Bob' }, flow)).toHaveLength(0)
    expect(found({ to: 'Bob' }, null)).toHaveLength(1)
    expect(found({ to: 'Bob' }, { ...flow, leaves: [{ ...leaf, path: '$.cc' }] })).toHaveLength(1)
    expect(found({ to: 'bob@x.org' }, flow)).toHaveLength(1)
    expect(found({ to: 'Bob' }, { ...flow, incomplete: true })).toHaveLength(1)
  })

  it('looks only at addresses and identifiers inside content', () => {
    const rule: SourceRule = { path: '$.body', role: 'content', from: ['user'], otherwise: 'block' }
    const flow: CallFlow = {
      call_id: 'c',
      tool: 'send',
      leaves: [
        {
          path: '$.body',
          kind: 'prose',
          sources: [],
          tokens: [
            { kind: 'url', sources: [{ seen: 'user' }] },
            { kind: 'email', sources: [{ seen: 'prose', tool: 'page', path: '$' }] },
          ],
        },
      ],
      prior_tools: [],
      prior_calls: 0,
    }
    const args = { body: 'Dear all, see example.org or write to eve@evil.org today.' }
    expect(judgeSources([rule], { arguments: args, flow }, context).map(({ kind }) => kind)).toEqual(['email'])
  })
})
