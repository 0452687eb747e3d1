import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../test/support/cpu-ms.js'
import { proves } from '../../../../test/support/proves.js'
import { createPolicyEvaluator } from './cedar.js'
import { readArguments } from './cedar-reads.js'
import { policyTextProblem, policyTokens, policyWeight } from './cedar-text.js'

const HEAD = 'permit(principal,action,resource)when{'

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

  proves('limit.policy-size', 'nor in what is wrong in its strings, which never gets to Cedar', () => {
    const evaluator = createPolicyEvaluator(cedar)
    evaluator.prepare(`${HEAD} context.arguments == 1 };`)
    for (const wrong of ['\r', '\\q', '\\*', '\\xff', '\\u{d800}']) {
      const policy = `${HEAD} context.arguments == "${wrong.repeat(5_000)}" };`
      // Each was compared with all others: four seconds, and two minutes for 30,000.
      expect(cpuMs(() => evaluator.check(policy, null))).toBeLessThan(500)
      expect(evaluator.check(policy, null)).toEqual([expect.stringMatching(/in a string, which Cedar does not know$/)])
    }
  })

  test.each([
    ...[
      'r',
      'n',
      't',
      '\\',
      '0',
      "'",
      '"',
      'x7f',
      'x4A',
      'u{1f600}',
      'u{1_F600}',
      'u{1_}',
      'u{AB}',
      'u{10ffff}',
      'u{e000}',
    ],
    ...[
      'q',
      'N',
      'R',
      'X4a',
      '*',
      'xff',
      'x4',
      'u',
      'u{',
      'u{}',
      'u{_1}',
      'u{0000001}',
      'u{d800}',
      'u{dfff}',
      'u{110000}',
    ],
    ...['a', '\\\\q', '\\q', '\n', '\r'],
  ])('takes the escape %j in a string where Cedar does', (name) => takesWhereCedarDoes(`\\${name}`))

  test.each(['\r', '\r\n', '\n', '\t', 'é', '*'])('takes %j in a string where Cedar does', takesWhereCedarDoes)

  function takesWhereCedarDoes(written: string): void {
    for (const policy of [`${HEAD} context.a == "${written}" };`, `${HEAD} context.a like "${written}" };`]) {
      const taken = cedar.checkParsePolicySet({ staticPolicies: policy }).type === 'success'
      expect([policy, policyTextProblem(policy) === null]).toEqual([policy, taken])
    }
  }

  test('costs what is kept of it', () => {
    expect(policyWeight(listOf(1_990))).toBeGreaterThan(3_995 * 400)
    expect(policyWeight(`permit(principal,action,resource);//${'a'.repeat(60_000)}`)).toBeLessThan(600_000)
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

  test('a long name is looked up, not searched for', () => {
    const reads = readArguments(`${HEAD}context.arguments.amount == 1}; // ${'a'.repeat(65_000)}`)
    const name = `${'a'.repeat(10_000)}b${'a'.repeat(10_000)}`
    // Each took a third of a second.
    expect(cpuMs(() => [1, 2, 3, 4].map((at) => reads(`${name}${at}`)))).toBeLessThan(100)
    expect(['amount', 'amoun', 'a'].map(reads)).toEqual([true, false, false])
  })

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
