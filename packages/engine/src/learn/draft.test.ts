import type { JsonObject } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { flowOf } from '../flows/flows.js'
import { newTrail, sawCall, sawResult, sawUser, takeColumns } from '../flows/trail.js'
import { type Draft, draftContracts } from './draft.js'
import { addCall, addColumns, newSummary, readSummary, type ToolSummary } from './summary.js'

/** `requests` people each ask for a token and use it; `sessions` of them for each request. */
function learned({ requests, sessions = 1 }: { requests: number; sessions?: number }): ToolSummary[] {
  const [get, use] = [newSummary('get_token'), newSummary('send_form')]
  for (let at = 0; at < requests * sessions; at++) {
    const user = `Send form number ${at % requests}`
    const trail = newTrail()
    sawUser(trail, user)
    const observe = (summary: ToolSummary, given: JsonObject) => {
      const flow = flowOf(trail, { id: '', tool: summary.tool, arguments: given })
      addCall(summary, { session: `s${at}`, request: user, tool: summary.tool, arguments: given, flow }, 'salt')
      sawCall(trail, summary.tool, given)
    }
    observe(get, {})
    sawResult(trail, 'get_token', { token: `tok-${at}99` })
    addColumns(get, `s${at}`, takeColumns(trail))
    observe(use, { token: `tok-${at}99`, kind: 'plain', count: at % 9 })
  }
  return [get, use]
}

const draftOf = (summaries: ToolSummary[], schema?: unknown) =>
  draftContracts(summaries, { salt: 'salt', otherwise: 'ask', offered: [{ name: 'send_form', schema }] }).find(
    ({ contract }) => contract.tool === 'send_form',
  )

const fieldsOf = (draft: Draft | undefined) => (draft?.contract.arguments as JsonObject | undefined)?.properties

proves(
  ['learn.from-captures', 'learn.generates-contracts', 'learn.scores-confidence', 'learn.updates-confidence'],
  'a tool that was called has a contract of what was seen, and more calls make it surer',
  () => {
    const drafts = [4, 8, 12].map((requests) =>
      draftContracts(learned({ requests }), { salt: 'salt', otherwise: 'ask' }).find(
        ({ contract }) => contract.tool === 'send_form',
      ),
    )
    expect(drafts.map((draft) => [draft?.samples, draft?.confidence])).toEqual([
      [4, 'low'],
      [8, 'medium'],
      [12, 'high'],
    ])
    expect(drafts[1]?.contract.arguments).toMatchObject({
      required: ['count', 'kind', 'token'],
      properties: { count: { type: 'number' }, kind: { type: 'string' }, token: { type: 'string' } },
      additionalProperties: false,
    })
  },
)

test('an agent of many tools', () => {
  const [get, use] = learned({ requests: 60 }) as [ToolSummary, ToolSummary]
  const many = Array.from({ length: 200 }, (_, at) => ({ ...use, tool: `send_form_${at}` }))
  const drafts = draftContracts([get, ...many], { salt: 'salt', otherwise: 'ask' })
  expect(drafts).toHaveLength(many.length + 1)
  expect(drafts.filter(({ contract }) => contract.refs !== undefined)).toHaveLength(many.length)
})

describe('what is enforced unasked', () => {
  test('counts in distinct requests: the same thing asked again proves nothing', () => {
    expect(draftOf(learned({ requests: 60 }))?.contract.refs).toEqual([{ path: '$.token', ref: 'get_token.token' }])
    expect(draftOf(learned({ requests: 20, sessions: 20 }))?.contract.refs).toBeUndefined()
    expect(fieldsOf(draftOf(learned({ requests: 400 })))).toMatchObject({ kind: { type: 'string', enum: ['plain'] } })
    expect(fieldsOf(draftOf(learned({ requests: 20, sessions: 20 })))).toHaveProperty('kind', { type: 'string' })
  })

  test('lists what the author of a tool listed, unless no contract could hold it', () => {
    const kindIn = (choices: unknown[]) =>
      fieldsOf(draftOf(learned({ requests: 10 }), { properties: { kind: { enum: choices } } }))
    expect(kindIn(['plain', 'fancy'])).toHaveProperty('kind', { enum: ['fancy', 'plain'] })
    for (const odd of ['x'.repeat(300), '\ud800', 2 ** 64]) expect(kindIn(['plain', odd])).toHaveProperty('kind.type')
  })

  test('leaves a ref that held too seldom for a person to decide, with what it may cost', () => {
    expect(draftOf(learned({ requests: 12 }))?.suggestions).toContainEqual({
      rule: { ref: '$.token', result: 'get_token', path: '$.token' },
      seen: 12,
      falseBlockBound: expect.closeTo(0.22, 2),
    })
  })

  test('does not count what an older version did not: its summaries are read as knowing no requests', () => {
    const [, use] = learned({ requests: 3 })
    const { requests: _, ...old } = use as ToolSummary
    const entries = old.flows.entries.map(([path, { requests: __, ...flow }]) => [path, flow])
    const stored = JSON.parse(JSON.stringify({ ...old, version: 1, flows: { ...old.flows, entries } }))
    expect(readSummary(stored)).toMatchObject({ version: 3, requests: [], samples: 3 })
    expect(readSummary(stored).flows.entries[0]?.[1].requests).toEqual([])
  })
})

describe('the tool’s own schema', () => {
  const schema = {
    type: 'object',
    properties: {
      token: { type: 'string' },
      kind: { anyOf: [{ $ref: '#/$defs/Kind' }, { type: 'null' }] },
      ticket_id: { type: 'integer' },
      to: { type: 'string', example: 'ann' },
      count: { type: 'integer' },
    },
    required: ['token'],
    $defs: { Kind: { enum: ['plain', 'rich'], title: 'Kind' } },
  }
  const draft = draftOf(learned({ requests: 8 }), schema)
  const sources = draft?.contract.sources

  test('stays the list of what may be chosen, and a choice needs no source', () => {
    expect(fieldsOf(draft)).toMatchObject({ kind: { enum: ['plain', 'rich', null] }, to: { type: 'string' } })
    expect(draft?.contract.arguments).toMatchObject({ required: ['token'] })
    expect(sources?.map(({ path, role }) => [path, role])).toEqual([
      ['$.count', undefined],
      ['$.kind', 'choice'],
      ['$.ticket_id', undefined],
      ['$.to', undefined],
      ['$.token', undefined],
      ['$', undefined],
    ])
  })

  test('says which numbers name something', () => {
    expect(sources?.filter(({ numbers }) => numbers === true).map(({ path }) => path)).toEqual(['$.ticket_id'])
  })
})
