import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { createPolicyEvaluator } from '../contract/cedar.js'
import { readResponse } from '../response/read-response.js'
import { initialState } from '../state/session-start.js'
import { evaluateProposal } from './evaluate-proposal.js'

const POLICY = 'permit (principal, action, resource) when { context.arguments.amount < 100 };'

proves(
  'block.policy-error',
  'a runtime error of a policy is told from a deny, in words that the model is not shown',
  () => {
    const result = compilePlan(
      { contracts: [{ file: 'pay.yaml', value: { tool: 'pay', policy: { cedar: POLICY } } }] },
      { policy: createPolicyEvaluator(cedar) },
    )
    if (!result.ok) throw new Error(JSON.stringify(result.errors))
    const { plan } = result
    const at = '2026-01-01T00:00:00.000Z'
    const state = initialState(plan, {
      type: 'created',
      at,
      body: {
        ...{ agent: 'a', environment: null, holder_id: 'h', compiled_hash: plan.hash, plan_source: 'client' },
        ...{ unmatched_policy: 'block', capture_level: 'redacted', labels: [], has_principal: true },
        ...{ initial_phase: null, fence: 1, workflow: null },
      },
    })
    const blockOf = (args: object) =>
      evaluateProposal({
        ...{
          plan,
          state,
          gate: 'reject_all',
          unmatchedPolicy: 'block',
          principal: { id: 'ann' },
          agent: 'a',
          salt: 's',
        },
        ...{ nowMs: Date.parse(at), offered: null, toolless: false },
        response: readResponse({ tool_calls: [{ id: 'c', name: 'pay', arguments: JSON.stringify(args) }] }),
        ids: { sessionId: 'S', proposalId: 'p', pendingCallId: (index) => `p.${index}` },
      }).decisions[0]?.reasons[0]
    const [denied, failed] = [blockOf({ amount: 200 }), blockOf({})]
    expect([denied?.reason, denied?.detail]).toEqual(['policy_denied', undefined])
    expect([failed?.reason, failed?.detail]).toEqual(['policy_denied', 'policy_error'])
    expect(failed?.remedy).toBe(denied?.remedy)
    expect(blockOf({ amount: 5 })).toBeUndefined()
  },
)
