import { compilePlan, preparePlan } from '@countersign/engine'
import type { Contract } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { judgeablePlan } from './judgeable-plan.js'

const owner = [{ principal: '$.role', not_equals: 'owner' }]
const risky = [{ bound: 'risk', gt: 3 }]
const large = [{ path: '$.amount', gt: 3 }]

const CONTRACTS: readonly Contract[] = [
  { tool: 'score', side_effect: 'read', binds: [{ name: 'risk', path: '$.risk' }] },
  {
    tool: 'pay',
    preconditions: [{ requires_prior_tool: 'score', when: owner }],
    argument_value_invariants: [
      { path: '$.amount', lte: 9, when: risky },
      { path: '$.amount', lte: 99, when: large },
    ],
    labels: { adds: [{ label: 'a', when: owner }, 'b'], sticks_to: 'principal' },
    checkpoint: { when: [...owner, ...large], reason: 'r' },
    hours: { time_zone: 'UTC', allow: [{ from: '08:00', to: '09:00' }], when: risky },
  },
  { tool: 'look', argument_value_invariants: [{ path: '$.amount', lte: 9, when: [{ label: 'b' }] }] },
]

proves('condition.backtest', 'rules whose conditions read a principal or a result are left out and listed', () => {
  const result = compilePlan({ contracts: CONTRACTS.map((value) => ({ file: value.tool, value })) })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  const { compiled, unjudged } = judgeablePlan(result.compiled_session, { flows: true })
  expect(Object.fromEntries(unjudged)).toEqual({ pay: ['conditions', 'hours'] })
  const pay = compiled.contracts.find(({ tool }) => tool === 'pay')
  expect(pay).toMatchObject({ preconditions: [], argument_value_invariants: [{ lte: 99 }], labels: { adds: ['b'] } })
  expect(pay).not.toHaveProperty('checkpoint')
  expect(compiled.contracts.find(({ tool }) => tool === 'look')?.argument_value_invariants).toHaveLength(1)
  expect(preparePlan(compiled)).toMatchObject({ ok: true })
})
