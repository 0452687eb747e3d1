import type { SessionEvent } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { preparePlan } from '../compile/prepare-plan.js'
import type { Plan } from '../contract/plan.js'
import { applyEvent } from '../state/apply-event.js'
import { initialState } from '../state/session-start.js'
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
  return countProviderRuns(proposal as unknown as Proposal).calls[0]?.amounts.spent
}

test('an amount of a tool that the provider ran is added', () => {
  expect(spentBy(3)).toBe('3')
})

/** Runs of a search that many contracts cover. */
function manyRuns(contracts: object[]) {
  const made = compilePlan({ contracts: contracts.map((value, at) => ({ file: `${at}.yaml`, value })) })
  const prepared = made.ok ? preparePlan(made.compiled_session) : null
  if (prepared?.ok !== true) throw new Error('the plan cannot be used')
  const run = { name: 'web_search', type: 'web_search_call', arguments: { n: 1, text: 'x'.repeat(70_000) } }
  const providerRun = Array.from({ length: 64 }, (_, at) => ({ ...run, id: `ws_${at}` }))
  const state = stateOf(prepared.plan)
  return { plan: prepared.plan, state, response: { providerRun }, salt: 's' } as unknown as Proposal
}

test('labels that many runs add are recorded once', () => {
  const labels = Array.from({ length: 128 }, (_, at) => `label_${at}`)
  const contracts = Array.from({ length: 16 }, (_, at) => ({
    tool: `web_search_${20250101 + at}`,
    side_effect: 'read',
    labels: { adds: labels },
    aggregates: Array.from({ length: 16 }, (_, of) => ({
      name: `sum${at * 16 + of}`,
      path: '$.n',
      function: 'sum',
      lte: 9,
    })),
  }))
  const { calls, tally } = countProviderRuns(manyRuns(contracts))
  expect(calls).toHaveLength(64)
  expect(calls[63]?.tool_names).toHaveLength(16)
  expect(calls.flatMap(({ adds_labels }) => adds_labels).sort()).toEqual([...labels].sort())
  expect([...tally.aggregates.values()].filter((total) => Number(total) < 9)).toEqual([])
})

test.each([
  ['web_search', true],
  ['web_search_preview', true],
  ['web_search_20250305', true],
  ['web_search_preview_2025_03_11', true],
  ['web_search_2', false],
  ['web_search_tool', false],
])('a search of the provider counts for a contract of %s: %s', (tool, counts) => {
  const { calls } = countProviderRuns(manyRuns([{ tool, side_effect: 'read' }]))
  expect(calls[0]?.tool_names).toEqual(counts ? [tool] : [])
})

proves('condition.latest', 'a run of the provider undoes what was proved, since nobody sees its result', () => {
  const made = compilePlan({
    contracts: [
      { tool: 'code_tests', side_effect: 'read' as const },
      { tool: 'deploy', preconditions: [{ requires_prior_tool: 'code_tests', latest: true }] },
    ].map((value) => ({ file: value.tool, value })),
  })
  if (!made.ok) throw new Error('the plan cannot be used')
  const { plan } = made
  const [key = ''] = plan.contracts.get('code_tests')?.provides.map((provision) => provision.key) ?? []
  const state = { ...stateOf(plan), satisfied: { [key]: true as const, other: true as const } }
  const run = { id: 'r', name: 'code_tests', type: 'code_tests_call', arguments: null }
  const counted = countProviderRuns({ plan, state, response: { providerRun: [run] }, salt: 's' } as unknown as Proposal)
  expect(counted.calls[0]?.undoes).toEqual([{ key, witness: null }])
  expect([...counted.tally.reruns]).toHaveLength(1)
  const body = { cost: '0', outcome: 'no_calls', calls: [], provider_calls: counted.calls }
  const next = applyEvent(state, { type: 'proposal', at: state.startedAt, body } as unknown as SessionEvent, plan)
  expect(next.satisfied).toEqual({ other: true })
})
