import { preparePlan } from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { planOf } from '../../../../test/support/runtime/plans.js'
import { planCost } from './plan-cost.js'

function costOf(contract: object): number {
  const { compiled_session } = planOf([{ tool: 'act', side_effect: 'read', ...contract }])
  const prepared = preparePlan(compiled_session)
  if (!prepared.ok) throw new Error(prepared.problems.join())
  return planCost(prepared.plan)
}

const TEXT = { type: 'string' }

proves('isolation.cost', 'a plan of schemas, patterns and sums costs about as much as it has rules', () => {
  const properties = { id: { ...TEXT, pattern: '^[A-Z]-[0-9]{1,4}$' }, amount: { type: 'number', minimum: 0 } }
  const cost = costOf({
    arguments: { type: 'object', properties, required: ['id'] },
    argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500 }],
  })
  expect(cost).toBeGreaterThan(5)
  expect(cost).toBeLessThan(120)
})

proves('isolation.cost', 'a reference costs what it refers to, each time', () => {
  const doubling = (depth: number): JsonObject => {
    const $defs: JsonObject = { d0: TEXT }
    for (let at = 1; at <= depth; at++) {
      const before = { $ref: `#/$defs/d${at - 1}` }
      $defs[`d${at}`] = { allOf: [before, { allOf: [before] }] }
    }
    return { $defs, $ref: `#/$defs/d${depth}` }
  }
  expect(costOf({ arguments: doubling(3) })).toBeLessThan(200)
  expect(costOf({ arguments: doubling(16) })).toBe(Infinity)
})

/** Ways to write what is costly so that it might be overlooked. */
const COSTLY: Readonly<Record<string, object>> = {
  'a reference to itself': { arguments: { $defs: { a: { items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' } },
  'an escaped reference': { arguments: { $defs: { 'a/b': TEXT }, $ref: '#/$defs/a~1b' } },
  'an encoded reference': { arguments: { $defs: { 'a b': TEXT }, $ref: '#/$defs/a%20b' } },
  'another base': { arguments: { properties: { x: { $id: 'https://x.test/a', type: 'string' } } } },
  'a keyword below a property named as a table': { arguments: { properties: { pricing: { contains: TEXT } } } },
  'a keyword below a property named properties': { arguments: { properties: { properties: { uniqueItems: true } } } },
  'a descent': { argument_value_invariants: [{ path: '$..a', exists: true }] },
  'a filter': { argument_value_invariants: [{ path: '$.a[?@.b == 1]', exists: true }] },
  'a policy': { policy: { cedar: 'permit(principal, action, resource);' } },
  'a counted pattern': { argument_value_invariants: [{ path: '$.a', regex: '(a{1,50}b){1,20}' }] },
}

for (const [what, contract] of Object.entries(COSTLY))
  proves('isolation.cost', `${what} is not judged in place`, () => {
    expect(costOf(contract) * 256).toBeGreaterThan(262_144)
  })

proves('isolation.cost', 'a root that a property named schema would replace stays the root', () => {
  const $defs: JsonObject = { deep: { allOf: Array.from({ length: 500 }, () => TEXT) } }
  const properties = { schema: { type: 'object' }, x: { $ref: '#/$defs/deep' } }
  expect(costOf({ arguments: { $defs, properties } })).toBeGreaterThan(1_000)
})

proves('condition.cost', 'conditions cost what they look at', () => {
  const under = (when: readonly object[]) =>
    costOf({ argument_value_invariants: [{ path: '$.amount', lte: 5, message: '$5 at most', when }] })
  const plain = costOf({ argument_value_invariants: [{ path: '$.amount', lte: 5, message: '$5 at most' }] })
  expect(plain).toBeLessThan(20)
  expect(under([{ path: '$.to', regex: '^[a-z]{1,9}$' }]) - plain).toBeGreaterThan(60)
  expect(under([{ path: '$..to', exists: true }])).toBe(Infinity)
  expect(under([{ path: '$.to', contains: { a: 1 } }])).toBe(Infinity)
})
