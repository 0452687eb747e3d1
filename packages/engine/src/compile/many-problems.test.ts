import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { preparePlan, preparePlanInSteps } from './prepare-plan.js'

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

const PHASES = many(1_200, (at) => ({ name: `p${at}`, initial: at === 0, terminal: at === 1_199 }))

// To compare every unknown name with every known one, each of these took between 2 and 20 seconds.
test.each([
  [
    'unknown tools required first',
    planOf(
      many(1_200, (at) => ({
        tool: long(`t${at}`),
        preconditions: many(3, (item) => ({ requires_prior_tool: long(`u${at}_${item}`) })),
      })),
    ),
    3_600,
  ],
  [
    'unknown forbidden tools',
    planOf(many(500, (at) => ({ tool: long(`t${at}`), forbids_after: many(10, (item) => long(`u${at}_${item}`)) }))),
    5_000,
  ],
  [
    'unknown limits of tools',
    planOf(
      many(1_000, (at) => ({ tool: long(`t${at}`) })),
      { session_limits: { max_calls_per_tool: Object.fromEntries(many(3_000, (at) => [long(`u${at}`), 1])) } },
    ),
    3_000,
  ],
  [
    'unknown targets of phases',
    planOf([{ tool: 'a' }], {
      phases: PHASES,
      transitions: Object.fromEntries(many(1_200, (at) => [`p${at}`, [long(`u${at}`)]])),
    }),
    1_200,
  ],
  [
    'phases that never end',
    planOf([{ tool: 'a' }], {
      phases: PHASES,
      transitions: Object.fromEntries(
        many(1_199, (at) => [`p${at}`, many(20, (step) => `p${(at * 7 + step * 131) % 1_199}`)]),
      ),
    }),
    1_200,
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

proves('limit.plan-problems', 'names are looked up contract by contract, with other work in between', () => {
  const stepsOf = (count: number) => [...preparePlanInSteps(planOf(many(count, (at) => ({ tool: `t${at}` }))))].length
  // For each a step of its shape, two of its preparation, and one of the names that it uses.
  expect(stepsOf(20) - stepsOf(10)).toBe(40)
})
