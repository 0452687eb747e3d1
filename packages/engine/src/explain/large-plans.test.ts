import type { CompiledContract, CompiledSession } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { analyzePlan } from './analyze-plan.js'
import { diffPlans } from './diff-plans.js'

const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

const plan = (contracts: Partial<CompiledContract>[], session: CompiledSession['session'] = {}) =>
  ({
    plan_version: 1,
    session,
    contracts: contracts.map((contract) => ({
      tool: 't',
      side_effect: 'read',
      evidence_class: 'unverifiable',
      commit_requirement: 'reported',
      ...contract,
    })),
  }) as CompiledSession

const words = (was: CompiledSession, is: CompiledSession) =>
  diffPlans(was, is).map(({ effect, text }) => `${effect}: ${text}`)

/** Each takes well below a second, and would take a minute or more if every rule were compared with every other. */
const MOST_MS = 60_000

proves(
  'limit.plan-review',
  'lists of thousands of rules are compared by looking them up',
  () => {
    const holds = (count: number) =>
      plan([{ resources: many(count, () => ({ key: 'k', mode: 'exclusive' as const })) }])
    expect(words(holds(5_000), holds(4_999))).toEqual([])
    const steps = (first: number) =>
      plan([
        {
          preconditions: many(5_000, (at) => ({
            requires_prior_tool: 'x',
            with_output: [{ path: '$.a', equals: first + at }],
          })),
        },
      ])
    expect(words(steps(0), steps(1))).toEqual([
      'blocks: t: new precondition: Requires a call of x first, in whose result $.a equals 5000',
      'allows: t: removed precondition: Requires a call of x first, in whose result $.a equals 0',
    ])
    const ways = (first: number) =>
      plan([], {
        phases: many(300, (at) => ({ name: `p${at}` })),
        transitions: Object.fromEntries(many(300, (at) => [`p${at}`, many(150, (to) => `q${first + to + at * 150}`)])),
      })
    expect(words(ways(0), ways(1))).toEqual([
      ...[expect.stringMatching(/^allows: new transitions: p0 to q150, p1 to q300, /)],
      ...[expect.stringMatching(/^blocks: no more transitions: p0 to q0, p1 to q150, /)],
    ])
    const sources = (name: string) =>
      plan([
        {
          sources: many(8_000, (at) => ({
            path: `$.${name}${at}`,
            from: ['user' as const],
            otherwise: 'block' as const,
          })),
        },
      ])
    expect(words(sources('a'), sources('b')).length).toBe(16_000)
  },
  MOST_MS,
)

proves(
  'limit.plan-review',
  'bounds on one path: equal ones are found, and a narrower one is known as such',
  () => {
    const lists = (count: number, last: number) =>
      plan([
        {
          argument_value_invariants: many(count, (at) => ({ path: '$.a', one_of: [...many(900, Number), last - at] })),
        },
      ])
    const reversed = (of: CompiledSession) =>
      plan([{ argument_value_invariants: of.contracts[0]?.argument_value_invariants?.toReversed() }])
    expect(words(lists(120, 2_000), reversed(lists(120, 2_000)))).toEqual([])
    const effects = (was: CompiledSession, is: CompiledSession) => diffPlans(was, is).map(({ effect }) => effect)
    expect(effects(lists(1, 2_000), plan([{ argument_value_invariants: [{ path: '$.a', one_of: [1] }] }]))).toEqual([
      'blocks',
    ])
    expect(effects(lists(120, 2_000), lists(120, 3_000))).toEqual(['changes'])
  },
  MOST_MS,
)

proves(
  'limit.plan-review',
  'thousands of arguments under one long schema do not each repeat it',
  () => {
    const others = plan([{ arguments: { additionalProperties: { enum: many(50_000, Number) } } }])
    const own = plan([
      { arguments: { properties: Object.fromEntries(many(10_000, (at) => [`p${at}`, { type: 'string' }])) } },
    ])
    const found = words(others, own)
    expect(found[0]).toBe('changes: t: argument p0 is text (was: p0 is what every other argument must be)')
    expect(found.length).toBe(10_000)
    const covering = plan([
      { sources: [{ path: '$', from: many(256, (at) => ({ result: `r${at}`, path: '$' })), otherwise: 'block' }] },
    ])
    const each = plan([
      { sources: many(10_000, (at) => ({ path: `$.a${at}`, from: ['user' as const], otherwise: 'block' as const })) },
    ])
    expect(words(covering, each).slice(1, 3)).toEqual([
      'allows: t: $.a0 may come from what the user wrote',
      'blocks: t: $.a0 may not come from 256 sources that are not listed here',
    ])
  },
  MOST_MS,
)

proves(
  'limit.plan-review',
  'what thousands of tools require of each other is walked once',
  () => {
    const chain = (contract: (at: number) => Partial<CompiledContract>) =>
      plan(
        many(6_000, (at) => ({
          tool: `t${at}`,
          commit_requirement: 'executed' as const,
          preconditions: at === 5_999 ? [] : [{ requires_prior_tool: `t${at + 1}` }],
          ...contract(at),
        })),
      )
    expect(analyzePlan(chain((at) => ({ gate: at === 5_999 ? 'block' : 'allow' }))).length).toBe(5_999 + 1)
    const bound = chain(() => ({
      refs: [{ path: '$.a', ref: 'b' }],
      binds: [{ name: 'b', path: '$.a', from: 'output' }],
    }))
    expect(analyzePlan(bound)).toEqual([])
    const labelled = chain((at) => ({ labels: at === 5_999 ? { adds: ['x'] } : { deny_when: ['x'] } }))
    expect(analyzePlan(labelled).length).toBe(5_999)
  },
  MOST_MS,
)

proves(
  'limit.plan-review',
  'of many tools that make one uncallable, five are named',
  () => {
    const gated = many(7, (at) => ({ tool: `g${at}`, gate: 'block' as const, commit_requirement: 'executed' as const }))
    const pay = { tool: 'pay', preconditions: gated.map(({ tool }) => ({ requires_prior_tool: tool })) }
    expect(analyzePlan(plan([...gated, pay])).map(({ message }) => message)).toEqual([
      ...many(5, (at) => `pay can never be called: it requires a call of g${at}, which is gated`),
      'pay can never be called: it requires calls of other tools that are gated',
    ])
    expect(analyzePlan(plan([...gated, { ...pay, preconditions: pay.preconditions.slice(2) }])).length).toBe(5)
  },
  MOST_MS,
)
