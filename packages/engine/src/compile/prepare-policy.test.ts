import type { CompiledSession } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { PolicyEvaluator } from '../contract/cedar.js'
import { preparePlan } from './prepare-plan.js'

/** An evaluator that takes everything, and notes what it was shown. */
function noting() {
  const checked: string[] = []
  const policy: PolicyEvaluator = {
    check(text) {
      checked.push(text)
      return []
    },
    prepare: () => ({
      decide: () => ({ decision: 'allow', errors: [] }),
      authorize: () => ({ decision: 'allow', errors: [], reasons: [] }),
    }),
    keptBytes: () => 0,
  }
  return { checked, policy }
}

const policyOf = (at: number) => `permit(principal,action,resource)when{[${at}${',1'.repeat(1_900)}]==1};`

const planOf = (policies: readonly string[]) =>
  ({
    plan_version: 1,
    session: { agent: 'a' },
    contracts: policies.map((cedar, at) => ({
      tool: `t${at}`,
      side_effect: 'read',
      commit_requirement: 'executed',
      evidence_class: 'unverifiable',
      policy: { cedar },
    })),
  }) as unknown as CompiledSession

proves('limit.policy-memory', 'the policies of a plan are bounded together, each text once', () => {
  const { checked, policy } = noting()
  const many = preparePlan(planOf(Array.from({ length: 100 }, (_, at) => policyOf(at))), { policy })
  expect(many.ok === false && many.problems.join()).toContain(
    'policies and regular expressions of the plan are too large',
  )
  expect(checked.length).toBeLessThan(50)
  const same = preparePlan(planOf(Array.from({ length: 100 }, () => policyOf(1))), { policy })
  const one = preparePlan(planOf([policyOf(1)]), { policy })
  expect([same.ok, one.ok]).toEqual([true, true])
  expect(one.ok && one.plan.weight).toBeGreaterThan(3_800 * 400)
})
