import { type JsonObject, LIMITS } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { judge, judgeInSteps, planOf } from '../../../../test/support/hostile/judge-shape.js'
import { type HostileShape, JUDGING_SHAPES } from '../../../../test/support/hostile/judging-shapes.js'
import { proves } from '../../../../test/support/proves.js'
import { toCedarRecord } from '../contract/cedar-values.js'
import { saltedHash } from '../json/hash.js'
import {
  JUDGING_STEPS,
  judgingStepsTaken,
  spendOnJudging,
  TooCostlyError,
  withinJudgingBudget,
} from '../text/judging-budget.js'

describe('a response that would take long to judge', () => {
  for (const shape of JUDGING_SHAPES) {
    proves('limit.judging.steps', shape.name, () => {
      const plan = planOf(shape)
      const [taken, verdict] = judgingStepsTaken(() => judge(shape, plan))
      // The last spending may be larger than what was left.
      expect(taken).toBeLessThanOrEqual(JUDGING_STEPS.whole)
      expect(JSON.stringify(verdict.decisions).length).toBeLessThan(200_000)
      for (const { remedy } of verdict.decisions) expect(remedy?.length ?? 0).toBeLessThan(4_096)
      const [again] = judgingStepsTaken(() => judge(shape, plan))
      expect(again).toBe(taken)
    })
  }

  test.each<[string, (value: JsonObject) => unknown]>([
    ['hashed', (value) => saltedHash('salt', value)],
    ['shown to a policy', (value) => toCedarRecord(value, 'arguments')],
  ])('a list beyond the steps is refused before it is %s', (_way, work) => {
    let reads = 0
    const items = new Proxy(Array<number>(64_000).fill(1), {
      get: (target, name) => {
        if (name !== 'length') reads++
        return Reflect.get(target, name)
      },
    })
    expect(() => withinJudgingBudget(1_000, () => work({ items }))).toThrow(TooCostlyError)
    expect(reads).toBe(0)
  })

  test('takes steps for all keys of a large object, also where a walk ends at the first of them', () => {
    const many = Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`k${at}`, 0]))
    const shape: HostileShape = {
      name: 'conditions that hold at the first of many keys',
      contracts: [
        {
          tool: 'act',
          checkpoint: Array.from({ length: 100 }, () => ({
            when: [{ path: '$.v[*]', exists: true }],
            reason: 'asked',
          })),
        },
      ] as unknown as HostileShape['contracts'],
      calls: [{ v: many }],
    }
    const plan = planOf(shape)
    const [taken] = judgingStepsTaken(() => judge(shape, plan))
    expect(taken).toBeGreaterThan(150_000)
  })

  test('is blocked with the rule that took the last steps, and what to do', () => {
    const shape = JUDGING_SHAPES.find(({ name }) => name === 'descents × nodes') as HostileShape
    const { decisions } = judge(shape)
    expect(decisions).toMatchObject([{ decision: 'block', reason: 'response_format_invalid', pending_call_id: null }])
    expect(decisions[0]?.remedy).toContain('the one on $..x')
    expect(decisions[0]?.remedy).toContain('send less at once')
  })

  proves('limit.judging.steps', 'takes the same steps, whatever is judged between its calls', () => {
    const texts = ['abcabcab', 'bcabcabc', 'cabcabca', 'x1y2z3']
    const shape: HostileShape = {
      name: 'a pattern that learns from each text',
      contracts: [
        { tool: 'act', argument_value_invariants: [{ path: '$.text', regex: '(a|b|c|[x-z][0-9])*d?$' }] },
      ] as unknown as HostileShape['contracts'],
      calls: texts.map((text) => ({ text })),
    }
    const plan = planOf(shape)
    const stepsOf = (between: () => void): number => {
      const steps = judgeInSteps(shape, plan)
      for (let total = 0; ; between()) {
        const [taken, { done }] = judgingStepsTaken(() => steps.next())
        total += taken
        if (done === true) return total
      }
    }
    const alone = stepsOf(() => {})
    expect(alone).toBeGreaterThan(0)
    expect(stepsOf(() => void judge({ ...shape, calls: [...shape.calls].reverse() }, plan))).toBe(alone)
  })

  test('leaves steps to the calls after it', () => {
    const rules = Array.from({ length: 300 }, () => ({ path: '$..x', exists: false }))
    const costly = { items: Array.from({ length: 12_000 }, (_, k) => ({ k })) }
    const shape: HostileShape = {
      name: 'one costly call among others',
      contracts: [{ tool: 'act', argument_value_invariants: rules }] as unknown as HostileShape['contracts'],
      calls: [costly, { a: 1 }, costly, { a: 1 }],
    }
    expect(judge(shape).decisions.map(({ decision }) => decision)).toEqual(['block', 'allow', 'block', 'allow'])
  })
})

describe('ordinary rules on as much as a call may hold', () => {
  const row = (at: number) => ({ sku: `A-${at}`, amount: at, note: 'ordered by phone' })
  const rows = Array.from({ length: 2_300 }, (_, at) => row(at))
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(2_800)
  const schema = {
    type: 'object',
    properties: {
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            sku: { type: 'string', pattern: '^A-[0-9]+$' },
            amount: { type: 'number', minimum: 0 },
            note: { type: 'string', maxLength: 80 },
          },
          required: ['sku', 'amount'],
          additionalProperties: false,
        },
      },
    },
  }

  test.each<[string, object, object]>([
    ['a schema of rows', { arguments: schema }, { rows }],
    [
      'five rules on each row',
      {
        argument_value_invariants: [
          { path: '$.rows[*].amount', gte: 0, lte: 9_999 },
          { path: '$.rows[*].sku', regex: '^A-[0-9]+$' },
          { path: '$.rows[*].note', not_regex: '(?i)password|secret' },
          { path: '$..password', exists: false },
          { path: '$.rows[?@.amount > 10000]', exists: false },
        ],
        aggregates: [{ name: 'total', function: 'sum', path: '$.rows[*].amount', lte: 1e9 }],
      },
      { rows },
    ],
    [
      'five patterns on a long text',
      {
        argument_value_invariants: [
          { path: '$.text', not_regex: '(?i)password|secret|api[_-]?key' },
          { path: '$.text', not_regex: '\\b[0-9]{3}-[0-9]{2}-[0-9]{4}\\b' },
          { path: '$.text', not_regex: '[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}' },
          { path: '$.text', length_lte: 200_000 },
          { path: '$.text', contains: 'lazy dog' },
        ],
      },
      { text },
    ],
    [
      'a source rule on a long text',
      { sources: [{ path: '$.text', role: 'content', from: ['user'], otherwise: 'block' }] },
      { text },
    ],
  ])('%s', (_name, contract, args) => {
    expect(JSON.stringify(args).length).toBeGreaterThan(LIMITS.argumentBytesPerCall * 0.85)
    const contracts = [{ tool: 'act', ...contract }] as unknown as HostileShape['contracts']
    const shape = { name: '', contracts, calls: [args] } as unknown as HostileShape
    const [taken, { decisions }] = judgingStepsTaken(() => judge(shape))
    expect(decisions).toMatchObject([{ decision: 'allow' }])
    expect(taken).toBeLessThan(JUDGING_STEPS.whole)
  })
})

test('a budget inside another takes its steps from both, and outside of any nothing is counted', () => {
  const [taken] = judgingStepsTaken(() =>
    withinJudgingBudget(100, () => {
      spendOnJudging(10)
      withinJudgingBudget(50, () => spendOnJudging(20))
    }),
  )
  expect(taken).toBe(30)
  expect(() => spendOnJudging(1e12)).not.toThrow()
})
