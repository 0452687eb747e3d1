import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createPolicyEvaluator } from './cedar.js'
import { readArguments } from './cedar-cost.js'
import { policyCost, policyTextProblem, policyTokens } from './cedar-text.js'

const HEAD = 'permit(principal,action,resource)when{'

const cpuMs = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

describe('the size of a policy', () => {
  const listOf = (values: number) => `${HEAD}[${Array(values).fill('1').join(',')}]==1};`

  proves('limit.policy-size', 'is counted in words, values and signs', () => {
    expect(policyTokens(listOf(1_990))).toHaveLength(3_995)
    expect(policyTextProblem(listOf(1_990))).toBeNull()
    expect(policyTextProblem(listOf(2_000))).toContain('has 4015 words, values and signs, and may have 4000')
    expect(policyTextProblem(`${listOf(1_990)} // ${'1,'.repeat(9_000)}\n`)).toBeNull()
  })

  proves('limit.policy-size', 'not in spaces, which are read once', () => {
    const evaluator = createPolicyEvaluator(cedar)
    const spaced = `${HEAD} context.arguments${' '.repeat(60_000)}== 1 };`
    evaluator.prepare(`${HEAD} context.arguments == 1 };`)
    // It was five seconds.
    expect(cpuMs(() => evaluator.prepare(spaced))).toBeLessThan(500)
  })

  test('costs what is kept of it', () => {
    expect(policyCost(listOf(1_990)).bytes).toBeGreaterThan(3_995 * 400)
    expect(policyCost(`permit(principal,action,resource);//${'a'.repeat(60_000)}`).bytes).toBeLessThan(600_000)
  })
})

describe('which arguments a policy can read', () => {
  const readsOther = (condition: string) => readArguments(`${HEAD}${condition}};`)('other')

  test.each([
    'context.arguments.amount == 1',
    'context . arguments . amount == 1',
    'context.arguments["amount"] == 1',
    'context.arguments has amount',
    'context.arguments has "amount"',
    'context has arguments && context.arguments.amount == 1',
    '(context has arguments) || true',
    'context. // a comment\n arguments.amount == 1',
    '"context" == "context"',
  ])('%s: those that it names', (condition) => expect(readsOther(condition)).toBe(false))

  test.each([
    'context == {}',
    'context.arguments == {}',
    'context["arguments"].amount == 1',
    'context has arguments.amount',
    'context has arguments == true',
    '[context.arguments].contains(1)',
    'context.arguments["\\u{61}"] == 1',
    '//\r context == {}',
  ])('%s: all', (condition) => expect(readsOther(condition)).toBe(true))
})
