import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { preparePlan } from './prepare-plan.js'

const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** About as long as a name may be, and unlike the others only where it begins. */
const long = (name: string) => name.padEnd(120, 'x')

const FIXED = { side_effect: 'read', evidence_class: 'unverifiable', commit_requirement: 'reported' }
const planOf = (contracts: readonly object[], session: object = {}) => ({
  plan_version: 1,
  session,
  contracts: contracts.map((contract) => ({ ...FIXED, ...contract })),
})

function problemsOf(plan: unknown): string[] {
  const prepared = preparePlan(plan)
  return prepared.ok ? [] : prepared.problems
}

const PHASES = many(256, (at) => ({ name: `p${at}`, initial: at === 0, terminal: at === 255 }))

// To compare every unknown name with every known one, each of these took between 2 and 20 seconds.
test.each([
  [
    'unknown tools required first',
    planOf(
      many(700, (at) => ({
        tool: long(`t${at}`),
        preconditions: many(3, (item) => ({ requires_prior_tool: long(`u${at}_${item}`) })),
      })),
    ),
    2_100,
  ],
  [
    'unknown forbidden tools',
    planOf(many(300, (at) => ({ tool: long(`t${at}`), forbids_after: many(10, (item) => long(`u${at}_${item}`)) }))),
    3_000,
  ],
  [
    'unknown limits of tools',
    planOf(
      many(1_000, (at) => ({ tool: long(`t${at}`) })),
      { session_limits: { max_calls_per_tool: Object.fromEntries(many(256, (at) => [long(`u${at}`), 1])) } },
    ),
    256,
  ],
  [
    'unknown targets of phases',
    planOf([{ tool: 'a' }], {
      phases: PHASES,
      transitions: Object.fromEntries(many(256, (at) => [`p${at}`, [long(`u${at}`)]])),
    }),
    256,
  ],
  [
    'phases that never end',
    planOf([{ tool: 'a' }], {
      phases: PHASES,
      transitions: Object.fromEntries(
        many(255, (at) => [`p${at}`, many(20, (step) => `p${(at * 7 + step * 131) % 255}`)]),
      ),
    }),
    256,
  ],
])('%s: the first fifty are named, and the others counted', (_, plan, count) => {
  const problems = problemsOf(plan)
  expect(problems).toHaveLength(51)
  expect(problems.at(-1)).toBe(`session: ${count - 50} more problems are not listed (correct the others first)`)
})

proves('limit.plan-problems', 'fifty problems are all named', () => {
  const problems = problemsOf(planOf(many(50, (at) => ({ tool: `t${at}`, forbids_after: ['lok'] }))))
  expect(problems).toHaveLength(50)
  expect(problems[49]).toContain('the tool "lok" is not declared')
})

proves('limit.entries-per-list', () => {
  const most = 256
  const path = '$.a'
  const lists: Record<string, (at: number) => object> = {
    binds: () => ({ name: 'x', path }),
    refs: () => ({ path, ref: 'x' }),
    envelopes: () => ({ name: 'y', path, direction: 'at_most' }),
    establishes: () => ({ name: 'y', path }),
    aggregates: (at) => ({ name: `a${at}`, path, lte: 1 }),
    sources: () => ({ path, from: ['user'] }),
    resources: (at) => ({ key: `r${at}:{${path}}` }),
    preconditions: (at) => ({ requires_prior_tool: 'u', same: [{ path, as: `$.b${at}` }] }),
    argument_value_invariants: () => ({ path, exists: true }),
    checkpoint: () => ({ reason: 'r' }),
  }
  for (const [list, rule] of Object.entries(lists)) {
    const planWith = (count: number) => planOf([{ tool: 't', [list]: many(count, rule) }, { tool: 'u' }])
    expect(problemsOf(planWith(most + 1))).toEqual([expect.stringContaining(`contracts.0.${list}: `)])
    expect(problemsOf(planWith(most)).filter((problem) => problem.startsWith(`contracts.0.${list}: `))).toEqual([])
  }
})

proves('limit.terms-per-plan', () => {
  const required = (count: number, from = 0) =>
    many(count, (at) => ({ requires_prior_tool: 'u', same: [{ path: '$.a', as: `$.b${from + at}` }] }))
  const planWith = (count: number) =>
    planOf([
      { tool: 's', preconditions: [...required(200), { requires_prior_tool: 'u' }] },
      { tool: 't', preconditions: required(count - 100, 100) },
      { tool: 'u' },
    ])
  const prepared = preparePlan(planWith(256))
  expect(prepared.ok && prepared.plan.contracts.get('u')?.provides).toHaveLength(257)
  const problem = (count: number) => [expect.stringContaining(`${count} different terms; the limit is 256`)]
  expect(problemsOf(planWith(257))).toEqual(problem(257))
  // To look for each of them among all before it took more than five seconds.
  const all = many(12, (at) => ({ tool: `t${at}`, preconditions: required(250, at * 250) }))
  expect(problemsOf(planOf([...all, { tool: 'u' }]))).toEqual(problem(3_000))
})

proves('limit.versions-per-tool', () => {
  const planWith = (count: number) =>
    planOf([{ tool: 'search' }, ...many(count - 1, (at) => ({ tool: `search_${20250101 + at}` }))])
  expect(preparePlan(planWith(16)).ok).toBe(true)
  const problem = '17 contracts are for versions of the tool "search"; the limit is 16'
  expect(problemsOf(planWith(17))).toEqual([expect.stringContaining(problem)])
  expect(preparePlan(planOf(many(100, (at) => ({ tool: `search_${at}` })))).ok).toBe(true)
})

proves('limit.labels-per-plan', () => {
  const planWith = (count: number) =>
    planOf([
      { tool: 's', labels: { adds: many(100, (at) => `l${at}`) } },
      { tool: 't', labels: { adds: many(count - 50, (at) => `l${at + 50}`) } },
    ])
  expect(preparePlan(planWith(128)).ok).toBe(true)
  expect(problemsOf(planWith(129))).toEqual([
    expect.stringContaining('the contracts add 129 different labels; the limit is 128'),
  ])
})

test('of a plan that is too large nothing else is said', () => {
  const plan = planOf(many(20_000, (at) => ({ tool: `t${at}`, forbids_after: ['lok'] })))
  expect(problemsOf(plan)).toEqual(['session: the plan is larger than 524288 bytes (split it across several agents)'])
})
