import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { askLess, type DecidedCall } from './ask-less.js'

const PAY = `# Payments.
tool: pay
side_effect: financial
checkpoint:
  - when: [{ path: $.amount, gt: 200 }]
    reason: large payment # as agreed
  - reason: always
`
const said = (approved: readonly number[], denied: readonly number[] = []): DecidedCall[] => [
  ...approved.map((amount) => ({ arguments: { amount }, approved: true })),
  ...denied.map((amount) => ({ arguments: { amount }, approved: false })),
]
const less = (decided: readonly DecidedCall[], text = PAY, at = 0) => askLess({ file: 'pay.yaml', text }, at, decided)

describe('a checkpoint that asks less', () => {
  proves('question.ask-less', 'its bound is the furthest number approved, and comments stay', () => {
    const found = less(said([300, 450, 210]))
    expect(found).toMatchObject({ stillAsked: 0, was: '$.amount is above 200', is: '$.amount is above 450' })
    expect('text' in found && found.text).toContain('gt: 450')
    expect('text' in found && found.text).toContain('# Payments.')
    expect('text' in found && found.text).toContain('# as agreed')
    const compiled = compilePlan({ contracts: [{ file: 'pay.yaml', text: 'text' in found ? found.text : '' }] })
    expect(compiled).toMatchObject({ ok: true })
  })

  proves('question.ask-less', 'every call that was denied is still asked about', () => {
    expect(less(said([300, 450, 900], [500, 5_000]))).toMatchObject({ stillAsked: 3, is: '$.amount is above 450' })
    // The same number was denied once.
    expect(less(said([300, 450], [450]))).toMatchObject({ stillAsked: 2, is: '$.amount is above 300' })
    expect(less(said([300, 450], [250]))).toEqual({
      problem: 'no bound would ask about fewer of the calls that people decided, and still about all that they denied',
    })
  })

  test('what is no number is still asked about', () => {
    const odd = [{ arguments: { amount: '300' }, approved: true }]
    expect(less([...said([400]), ...odd])).toMatchObject({ stillAsked: 1, is: '$.amount is above 400' })
    expect(less(odd)).toHaveProperty('problem')
  })

  proves('question.ask-less', 'of many values the one furthest out counts', () => {
    const of = (approved: boolean, ...amounts: number[]) => ({
      arguments: { lines: amounts.map((amount) => ({ amount })) },
      approved,
    })
    const text = 'tool: pay\ncheckpoint:\n  when: [{ path: "$.lines[*].amount", gt: 200 }]\n  reason: large\n'
    expect(less([of(true, 300), of(true, 5, 450), of(false, 10, 400)], text)).toMatchObject({
      stillAsked: 2,
      is: '$.lines[*].amount is above 300',
    })
  })

  test.each([
    ['gte', 'when: { path: $.amount, gte: 300 }', said([300, 350]), '$.amount is above 350'],
    ['lt', 'when: [{ path: $.amount, lt: 50 }]', said([40, 20], [10]), '$.amount is below 20'],
    ['lte', 'when: [{ path: $.amount, lte: 50 }]', said([50, 20]), '$.amount is below 20'],
  ])('%s, in a list or alone', (_, when, decided, is) => {
    const text = `tool: pay\ncheckpoint:\n  ${when}\n  reason: odd\n`
    expect(less(decided, text)).toMatchObject({ is })
  })

  test('of several bounds the one that spares most; JSON stays JSON', () => {
    const value = {
      tool: 'pay',
      checkpoint: {
        when: [
          { path: '$.amount', gt: 1 },
          { path: '$.days', lt: 10 },
        ],
        reason: 'soon',
      },
    }
    const decided = [
      { arguments: { amount: 5, days: 3 }, approved: true },
      { arguments: { amount: 9, days: 1 }, approved: true },
      { arguments: { amount: 4, days: 2 }, approved: false },
    ]
    const found = askLess({ file: 'pay.json', text: JSON.stringify(value) }, 0, decided)
    expect(found).toMatchObject({ stillAsked: 2, is: '$.days is below 3' })
    expect(JSON.parse('text' in found ? found.text : '')).toMatchObject({
      checkpoint: {
        when: [
          { path: '$.amount', gt: 1 },
          { path: '$.days', lt: 3 },
        ],
      },
    })
  })

  test('a rule without a number, and a checkpoint that is gone', () => {
    expect(less(said([1]), PAY, 1)).toEqual({
      problem: 'none of its conditions compares one number with a bound: change the rule by hand',
    })
    expect(less(said([1]), PAY, 7)).toEqual({ problem: 'the plan in force no longer has this checkpoint' })
  })
})
