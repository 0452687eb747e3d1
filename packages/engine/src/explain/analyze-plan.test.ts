import type { Contract } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { analyzePlan } from './analyze-plan.js'
import { diffPlans } from './diff-plans.js'

function compiled(contracts: readonly Contract[], session: object = {}) {
  const result = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: session },
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  return result.compiled_session
}

describe('analyzePlan', () => {
  const needs = (tool: string) => [{ requires_prior_tool: tool }]
  const rows: { name: string; contracts: Contract[]; session?: object; found: string[] }[] = [
    { name: 'nothing odd', contracts: [{ tool: 'a' }, { tool: 'b', preconditions: needs('a') }], found: [] },
    {
      name: 'a precondition that is gated',
      contracts: [
        { tool: 'a', gate: 'block' },
        { tool: 'b', preconditions: needs('a') },
      ],
      found: ['b never_callable'],
    },
    {
      name: 'a precondition, through another, that forbids it',
      contracts: [
        { tool: 'a', forbids_after: ['c'] },
        { tool: 'b', preconditions: needs('a') },
        { tool: 'c', preconditions: needs('b') },
      ],
      found: ['c never_callable'],
    },
    {
      name: 'a precondition whose label denies it',
      contracts: [
        { tool: 'a', labels: { adds: ['seen'] } },
        { tool: 'b', preconditions: needs('a'), labels: { deny_when: ['seen'] } },
      ],
      found: ['b never_callable'],
    },
    {
      name: 'a precondition that the report of the program meets',
      contracts: [
        { tool: 'a', side_effect: 'read' },
        { tool: 'b', preconditions: needs('a') },
        { tool: 'c', side_effect: 'read', commit_requirement: 'executed' },
        { tool: 'd', preconditions: needs('c') },
      ],
      found: ['b opens_on_report'],
    },
    {
      name: 'a limit of none',
      contracts: [{ tool: 'a' }],
      session: { session_limits: { max_calls_per_tool: { a: 0 } } },
      found: ['a never_callable'],
    },
    {
      name: 'rules behind a gate',
      contracts: [{ tool: 'a', gate: 'block', arguments: { type: 'object' } }],
      found: ['a never_fires'],
    },
    {
      name: 'a rule on an argument that the schema does not allow',
      contracts: [
        {
          tool: 'a',
          arguments: { type: 'object', properties: { x: {} }, additionalProperties: false },
          sources: [{ path: '$.y', from: ['user'] }],
        },
      ],
      found: ['a never_fires'],
    },
  ]
  test.each(rows)('finds $name', ({ contracts, session, found }) => {
    expect(analyzePlan(compiled(contracts, session)).map(({ tool, code }) => `${tool} ${code}`)).toEqual(found)
  })
})

describe('diffPlans', () => {
  const before: Contract = {
    tool: 'pay',
    arguments: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    sources: [{ path: '$.to', from: ['user', { result: 'page', path: '$', as: 'line' }], otherwise: 'ask' }],
  }
  const words = (after: Contract[], was: Contract[] | null = [before]) =>
    diffPlans(was === null ? null : compiled(was), compiled(after)).map(({ effect, text }) => `${effect}: ${text}`)

  test('says nothing of equal plans', () => {
    expect(words([before])).toEqual([])
  })

  test('tells what a first plan allows, and what a removed contract blocks', () => {
    expect(words([before], null)).toEqual(['allows: pay has a contract now'])
    expect(words([{ tool: 'other' }])).toEqual([
      'allows: other has a contract now',
      'blocks: pay no longer has a contract',
    ])
  })

  test('tells sources, arguments, bounds and gates apart', () => {
    const after: Contract = {
      ...before,
      gate: 'block',
      arguments: { type: 'object', properties: { to: { type: 'string' }, memo: {} }, required: [] },
      sources: [{ path: '$.to', from: ['user', 'known'], otherwise: 'block' }],
      argument_value_invariants: [{ path: '$.to', regex: '^A' }],
    }
    expect(words([after])).toEqual([
      'blocks: pay: gated: every call is blocked',
      'allows: pay: argument to may be left out',
      'allows: pay: argument memo is now accepted',
      'allows: pay: $.to may come from the values known from earlier sessions',
      'blocks: pay: $.to may not come from a line of $ of the result of page',
      'blocks: pay: any other source of $.to blocks',
      'blocks: pay: new bound: $.to matches ^A',
    ])
  })
})
