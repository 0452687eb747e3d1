import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { createPolicyEvaluator } from './cedar.js'

const evaluator = createPolicyEvaluator(cedar)

function decide(policy: string, args: JsonObject | null, principal: JsonValue = { id: 'ann', role: 'agent_l2' }) {
  return evaluator.prepare(policy).decide({ principal, tool: 'issue_refund', agent: 'support', arguments: args })
}

const when = (condition: string) => `permit (principal, action, resource) when { ${condition} };`

describe('a policy sees', () => {
  test.each([
    ['the principal by its id', 'principal == Principal::"ann"'],
    ['the fields of the principal', 'principal.role == "agent_l2"'],
    ['the tool as the action', 'action == Action::"issue_refund"'],
    ['the agent as the resource', 'resource == Agent::"support"'],
    ['an integer as Long', 'context.arguments.amount < 100'],
    ['another number as decimal', 'context.arguments.rate.lessThan(decimal("0.2"))'],
    ['an array as a set', 'context.arguments.tags.contains("b")'],
    ['an object as a record', 'context.arguments.to.city == "Bern"'],
    ['a null not at all', '!(context.arguments has nothing)'],
    ['a null in an array not at all', 'context.arguments.holes == [1]'],
  ])('%s', (_name, condition) => {
    const args = { amount: 50, rate: 0.1234, tags: ['a', 'b'], to: { city: 'Bern' }, nothing: null, holes: [null, 1] }
    expect(decide(when(condition), args)).toEqual({ decision: 'allow', errors: [] })
  })

  test('a principal that is only a text', () => {
    expect(decide(when('principal == Principal::"bob"'), {}, 'bob').decision).toBe('allow')
  })
})

test('what no statement permits is denied, and a forbid wins', () => {
  expect(decide(when('context.arguments.amount < 100'), { amount: 100 })).toEqual({ decision: 'deny', errors: [] })
  const forbid =
    'permit (principal, action, resource); forbid (principal, action, resource) when { principal.role == "agent_l2" };'
  expect(decide(forbid, {}).decision).toBe('deny')
})

describe('an error is no decision', () => {
  test('a forbid that errors does not fall away', () => {
    const policy =
      'permit (principal, action, resource); forbid (principal, action, resource) when { context.arguments.x > 1 };'
    expect(decide(policy, {})).toEqual({ decision: 'error', errors: [expect.stringContaining('policy1')] })
  })

  test.each<[string, JsonObject, string]>([
    ['five decimal places', { amount: 0.12345 }, 'places'],
    ['a decimal out of range', { amount: 4503599627370495.5 }, 'decimal'],
    ['an integer no double holds', { amount: 1e19 }, 'places'],
    ['an entity', { user: { __entity: { type: 'Principal', id: 'admin' } } }, '__entity'],
    ['an entity deep in an array', { a: [{ b: [{ __entity: { type: 'Principal', id: 'admin' } }] }] }, '__entity'],
    ['an extension value', { ip: { __extn: { fn: 'ip', arg: '10.0.0.1' } } }, '__extn'],
    ['an escape as an argument', { __extn: 'x' }, '__extn'],
    ['a value too deep', JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`), 'deeply'],
  ])('%s in the arguments', (_name, args, problem) => {
    const { decision, errors } = decide(when('true'), args)
    expect(decision).toBe('error')
    expect(errors.join()).toContain(problem)
  })

  test.each<[string, JsonValue, string]>([
    ['a forged entity', { id: 'ann', boss: { __entity: { type: 'Principal', id: 'root' } } }, '__entity'],
    ['no principal', null, 'principal'],
    ['a list', [], 'principal'],
    ['an id that is none', { id: {} }, 'id'],
  ])('%s as the principal', (_name, principal, problem) => {
    const { decision, errors } = decide(when('true'), {}, principal)
    expect(decision).toBe('error')
    expect(errors.join()).toContain(problem)
  })
})

test('unknown arguments make a policy that asks for them an error, never a deny', () => {
  const policy = when('context.arguments has amount && context.arguments.amount < 100')
  expect(decide(policy, null).decision).toBe('error')
  expect(decide(policy, {}).decision).toBe('deny')
  expect(decide(when('principal.role == "other"'), null)).toEqual({ decision: 'deny', errors: [] })
})

describe('check', () => {
  test.each([
    ['a syntax error, with its line', 'permit (principal,\naction resource);', 'line 2'],
    ['a template', 'permit (principal == ?principal, action, resource);', 'template'],
    ['no statement', '// nothing', 'no statement'],
    ['an unknown function', when('frobnicate(1)'), 'frobnicate'],
    ['any length', when(`"${'a'.repeat(70_000)}" == ""`), 'longer'],
    ['deep brackets', when(`${'('.repeat(500)}true${')'.repeat(500)}`), 'deeply'],
    ['deep conditionals', when(`${'if true then '.repeat(500)}true ${'else false '.repeat(500)}`), 'deeply'],
    ['long sums', when(`${'1 + '.repeat(500)}1 > 0`), 'deeply'],
    ['long chains of members', when(`context${'.a'.repeat(500)} == 1`), 'deeply'],
    ['long chains of calls', when(`context${'.a.contains(1)'.repeat(300)}`), 'deeply'],
  ])('refuses %s', (_name, policy, problem) => {
    expect(evaluator.check(policy).join()).toContain(problem)
    expect(() => evaluator.prepare(policy)).toThrow()
  })

  test('takes long policies that do not nest, whatever their strings hold', () => {
    const conditions = Array.from({ length: 300 }, (_, at) => `principal.name != "((((${at}.a.b"`).join(' && ')
    expect(evaluator.check(when(conditions))).toEqual([])
    expect(evaluator.check(`${when('true')}\n`.repeat(100))).toEqual([])
  })

  test('after all these refusals Cedar still answers', () => expect(decide(when('true'), {}).decision).toBe('allow'))
})

test('more policies than Cedar may cache still get their own answers', () => {
  const policies = Array.from({ length: 300 }, (_, limit) => evaluator.prepare(when(`context.arguments.n == ${limit}`)))
  const ask = (at: number, n: number) =>
    policies[at]?.decide({ principal: 'ann', tool: 't', agent: 'a', arguments: { n } }).decision
  for (const at of [0, 150, 299, 0, 299]) {
    expect(ask(at, at)).toBe('allow')
    expect(ask(at, at + 1)).toBe('deny')
  }
  for (let at = 0; at < policies.length; at++) expect(ask(at, at)).toBe('allow')
})
