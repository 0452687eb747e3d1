import type { Contract } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { analyzePlan } from './analyze-plan.js'

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
