import { expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { preparePlan } from '../compile/prepare-plan.js'
import type { Plan } from '../contract/plan.js'
import { initialState } from '../state/session-start.js'
import { runToEnd } from '../text/steps.js'
import type { Proposal } from './proposal.js'
import { countProviderRuns } from './provider-run.js'

const compiled = compilePlan({
  contracts: [
    {
      file: 'web_search.yaml',
      value: {
        tool: 'web_search',
        side_effect: 'read',
        aggregates: [{ name: 'spent', path: '$..price', function: 'sum', lte: 500 }],
      },
    },
  ],
})

const stateOf = (plan: Plan) =>
  initialState(plan, { type: 'created', at: '2026-01-01T00:00:00.000Z', body: { labels: [], fence: 1 } } as never)

const spentBy = (items: number): string | undefined => {
  const prepared = compiled.ok ? preparePlan(compiled.compiled_session) : null
  if (prepared?.ok !== true) throw new Error('the plan cannot be used')
  const run = {
    id: 'ws_1',
    name: 'web_search',
    type: 'web_search_call',
    arguments: { items: Array(items).fill({ price: 1 }) },
  }
  const proposal = {
    plan: prepared.plan,
    state: stateOf(prepared.plan),
    response: { providerRun: [run] },
    salt: 's',
  }
  return runToEnd(countProviderRuns(proposal as unknown as Proposal)).calls[0]?.amounts.spent
}

test('an amount of a tool that the provider ran is added', () => {
  expect(spentBy(3)).toBe('3')
})

test('one that is too costly to find takes all that the bound allows', () => {
  expect(spentBy(200_000)).toBe('500')
})
