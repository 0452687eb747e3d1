import type { CompiledSession } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { PolicyEvaluator } from '../contract/cedar.js'
import { preparePlan } from './prepare-plan.js'

/** An evaluator that takes everything. */
const taking: PolicyEvaluator = {
  check: () => [],
  prepare: () => ({
    decide: () => ({ decision: 'allow', errors: [] }),
    authorize: () => ({ decision: 'allow', errors: [], reasons: [] }),
  }),
  keptBytes: () => 0,
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

proves('limit.policy-memory', 'the policies of a plan count in its weight, each text once', () => {
  const weightOf = (policies: readonly string[]) => {
    const prepared = preparePlan(planOf(policies), { policy: taking })
    if (!prepared.ok) throw new Error(prepared.problems.join())
    return prepared.plan.weight
  }
  const one = weightOf([policyOf(1)])
  expect(one).toBeGreaterThan(3_800 * 400)
  expect(weightOf([policyOf(1), policyOf(1)])).toBeLessThan(1.5 * one)
  expect(weightOf([policyOf(1), policyOf(2)])).toBeGreaterThan(1.8 * one)
})
