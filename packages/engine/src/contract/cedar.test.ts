import { createRequire } from 'node:module'
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createPolicyEvaluator } from './cedar.js'
import { type CedarModule, loadCedar } from './cedar-module.js'

const evaluator = createPolicyEvaluator(cedar)

/** A Monday, 09:30 in UTC. */
const AT = Date.parse('2026-11-16T09:30:05.000Z')

function decide(policy: string, args: JsonObject | null, principal: JsonValue = { id: 'ann', role: 'agent_l2' }) {
  return evaluator
    .prepare(policy)
    .decide({ principal, tool: 'issue_refund', agent: 'support', arguments: args, atMs: AT })
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
    ['long alternatives', when(Array(500).fill('context.a == 1').join(' || ')), 'deeply'],
    ['long conjunctions', when(Array(400).fill('context.a == 1').join(' && ')), 'deeply'],
    ['many clauses', `permit (principal, action, resource) ${'unless { false } '.repeat(400)};`, 'deeply'],
    ['long chains of indexes', when(`context${'["a"]'.repeat(300)} == 1`), 'deeply'],
    ['brackets after a comment that ends', when(`//\r${'('.repeat(300)}true${')'.repeat(300)}`), 'deeply'],
    ['long chains of calls', when(`context${'.a.contains(1)'.repeat(300)}`), 'deeply'],
  ])('refuses %s', (_name, policy, problem) => {
    expect(evaluator.check(policy).join()).toContain(problem)
    expect(() => evaluator.prepare(policy)).toThrow()
  })

  test('takes long policies that do not nest, whatever their strings hold', () => {
    const conditions = Array.from({ length: 50 }, (_, at) => `principal.name != "((((${at}.a.b"`).join(' && ')
    expect(evaluator.check(when(conditions).repeat(3))).toEqual([])
    expect(decide(when(conditions).repeat(3), {}, { id: 'ann', name: 'Ann' }).decision).toBe('allow')
    expect(evaluator.check(`${when('true')}\n`.repeat(100))).toEqual([])
  })

  test('after all these refusals Cedar still answers', () => expect(decide(when('true'), {}).decision).toBe('allow'))
})

test('more policies than Cedar may cache still get their own answers', () => {
  const policies = Array.from({ length: 300 }, (_, limit) => evaluator.prepare(when(`context.arguments.n == ${limit}`)))
  const ask = (at: number, n: number) =>
    policies[at]?.decide({ principal: 'ann', tool: 't', agent: 'a', arguments: { n }, atMs: AT }).decision
  for (const at of [0, 150, 299, 0, 299]) {
    expect(ask(at, at)).toBe('allow')
    expect(ask(at, at + 1)).toBe('deny')
  }
  for (let at = 0; at < policies.length; at++) expect(ask(at, at)).toBe('allow')
})

describe('the time', () => {
  for (const [condition, decision] of [
    ['context.time.hour == 9 && context.time.minute == 30', 'allow'],
    ['context.time.weekday == "mon"', 'allow'],
    [`context.time.epoch == ${Math.floor(AT / 1_000)}`, 'allow'],
    ['["sat", "sun"].contains(context.time.weekday)', 'deny'],
    ['context has time && context.time.hour > 9', 'deny'],
  ] as const) {
    proves('contract.time-in-policies', `${condition}: ${decision}`, () => {
      expect(decide(when(condition), {}).decision).toBe(decision)
      expect(decide(when(condition), null).decision).toBe(decision)
    })
  }
})

describe('an attribute that cannot exist', () => {
  test.each([
    ['context.tiem.hour == 9', 'context.tiem cannot exist: it has arguments, time'],
    ['context.time.day == 1', 'context.time.day cannot exist: it has hour, minute, weekday, epoch'],
    ['context has user', 'context.user cannot exist'],
    ['resource.owner == principal', 'resource.owner cannot exist: it has no attributes'],
    ['action.kind == "write"', 'action.kind cannot exist'],
    ['if principal.id == "a" then context["args"].n == 1 else true', 'context.args cannot exist'],
    ['[context.argument].contains(1)', 'context.argument cannot exist'],
    ['context has time.zone', 'context.time.zone cannot exist'],
  ])('%s', (condition, problem) => {
    expect(evaluator.check(when(condition))).toEqual([expect.stringContaining(problem)])
  })

  test('an argument that the closed schema of the tool does not have', () => {
    const policy = when('context.arguments.amout < 5')
    expect(evaluator.check(policy, ['amount'])).toEqual(['context.arguments.amout cannot exist: it has amount'])
    expect(evaluator.check(policy)).toEqual([])
  })

  proves('limit.plan-problems', 'of many the first twenty are told, each with the first forty names', () => {
    const read = Array.from({ length: 150 }, (_, at) => `context.arguments.b${at} == 1`)
    const policy = read.map((condition) => `permit(principal, action, resource) when { ${condition} };`).join('\n')
    const names = Array.from({ length: 2_000 }, (_, at) => `a${at}`)
    const problems = evaluator.check(policy, names)
    expect(problems).toHaveLength(20)
    expect(problems[0]).toMatch(/^context\.arguments\.b0 cannot exist: it has a0, a1, .*, a39 and 1960 more$/)
  })

  test('what the principal has is for the program to say', () => {
    expect(evaluator.check(when('principal.team.name == "a" && principal has level'))).toEqual([])
  })
})

describe('after a trap', () => {
  const require = createRequire(import.meta.url)
  const deep = `permit (principal, action, resource) when { ${Array(500).fill('context.a == 1').join(' || ')} };`
  const question = { principal: 'ann', tool: 't', agent: 'a', arguments: {}, atMs: AT }

  /** Cedar that really overflows for one policy, as an unknown shape of policy might make it. */
  function trappingCedar(): { loads: number; load: () => CedarModule } {
    const counted = {
      loads: 0,
      load(): CedarModule {
        counted.loads++
        const instance = loadCedar(require)
        return {
          preparsePolicySet: (id, policies) =>
            instance.preparsePolicySet(
              id,
              policies.staticPolicies.includes('trap') ? { staticPolicies: deep } : policies,
            ),
          statefulIsAuthorized: instance.statefulIsAuthorized,
        }
      },
    }
    return counted
  }

  proves('isolation.policy-trap', 'the policy that trapped is an error, and those of others still decide', () => {
    const counted = trappingCedar()
    const policies = createPolicyEvaluator(counted.load)
    const other = policies.prepare(when('principal == Principal::"ann"'))
    const trapping = policies.prepare(when('"trap" != ""'))
    expect(other.decide(question).decision).toBe('allow')
    for (let time = 0; time < 3; time++) {
      expect(trapping.decide(question)).toEqual({ decision: 'error', errors: [expect.stringContaining('split')] })
      expect(other.decide(question).decision).toBe('allow')
    }
    expect(policies.check(when('"trap" != ""')).join()).toContain('split')
    // One to begin with, one to try again, one after that: the policy that trapped is not asked again.
    expect(counted.loads).toBe(3)
  })

  test('a name whose policy could not be parsed is not given to two policies', () => {
    let failing = ''
    const names = new Map<string, string>()
    const policies = createPolicyEvaluator({
      preparsePolicySet(id, { staticPolicies }) {
        if (staticPolicies === failing) return { type: 'failure', errors: [{ message: 'no' }] }
        names.set(id, staticPolicies)
        return { type: 'success' }
      },
      statefulIsAuthorized: ({ preparsedPolicySetId }) => ({
        type: 'success',
        response: { decision: 'allow', diagnostics: { reason: [names.get(preparsedPolicySetId) ?? ''], errors: [] } },
      }),
    })
    const texts = Array.from({ length: 300 }, (_, at) => `permit ${at}`)
    const request = { principal: P, action: P, resource: P, context: {}, entities: [] }
    texts.forEach((text, at) => {
      failing = at % 3 === 0 ? text : ''
      if (failing === '') policies.prepare(text).authorize(request)
      else expect(() => policies.prepare(text)).toThrow('no')
    })
    failing = ''
    for (const text of texts) expect(policies.prepare(text).authorize(request).reasons).toEqual([text])
  })
})

const P = { type: 'Principal', id: 'ann' }

test('what a policy cannot read is not shown to it', () => {
  const large = { amount: 1, body: 'x'.repeat(100_000), rows: Array.from({ length: 9_000 }, (_, at) => ({ at })) }
  expect(decide(when('context.arguments.amount < 2'), large).decision).toBe('allow')
  expect(decide(when('context.arguments has amount && context.arguments["amount"] == 1'), large).decision).toBe('allow')
  expect(decide(when('context.arguments has rows'), large).decision).toBe('allow')
})
