import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { analyzePlan } from '../explain/analyze-plan.js'
import { describeContract } from '../explain/describe-contract.js'
import { diffPlans } from '../explain/diff-plans.js'
import { compilePlan } from './compile-plan.js'
import { describeNote } from './report/compile-note.js'

const compile = (contracts: readonly string[], session?: string) =>
  compilePlan({
    contracts: contracts.map((text, at) => ({ file: `${at}.yaml`, text })),
    session: session === undefined ? undefined : { file: 'session.yaml', text: session },
  })

function errorsOf(contracts: readonly string[], session?: string): string[] {
  const result = compile(contracts, session)
  return result.ok ? [] : result.errors.map(describeNote)
}

function planOf(...contracts: readonly string[]) {
  const result = compile(contracts)
  if (!result.ok) throw new Error(result.errors.map(describeNote).join('\n'))
  return result.compiled_session
}

const SCHEMA =
  'arguments: { type: object, properties: { env: { enum: [staging, prod] }, n: { type: number } }, required: [env], additionalProperties: false }\n'
const limited = (when: string, rest = SCHEMA) =>
  `tool: x\n${rest}argument_value_invariants: [{ path: $.n, lte: 1, when: ${when} }]\n`
const LIMIT = '{ name: l, per: tenant, max_calls: 1, window: 1d'

const REFUSED: Record<string, { contracts: string[]; session?: string; says: string }> = {
  'a contradiction': {
    contracts: [limited('[{ path: $.n, gt: 3 }, { path: $.n, lt: 2 }]')],
    says: 'the conditions on $.n can never hold together, so the rule would never apply (remove one)',
  },
  'a label that is there and is not': {
    contracts: [limited('[{ label: a }, { label: a, exists: false }]')],
    says: 'the conditions on the label "a" can never hold together',
  },
  'a value that the schema does not list': {
    contracts: [limited('[{ path: $.env, equals: production }]')],
    says: '$.env is only "staging" or "prod", so the rule would never apply (use a value that the schema lists)',
  },
  'a value that is misspelt': {
    contracts: [limited('[{ path: $.env, equals: prd }]')],
    says: '(did you mean "prod"?)',
  },
  'an argument that cannot exist': {
    contracts: [limited('[{ path: $.emv, equals: prod }]')],
    says: '$.emv cannot exist (did you mean "env"?)',
  },
  'no condition': { contracts: [limited('[]')], says: 'an empty condition always holds (remove it)' },
  'no subject': { contracts: [limited('[{ equals: 3 }]')], says: 'needs one subject: path, label, bound, principal' },
  'two subjects': { contracts: [limited('[{ path: $.env, label: a }]')], says: 'needs one subject' },
  'no operator': { contracts: [limited('[{ path: $.env }]')], says: 'needs at least one operator: exists, type' },
  'a ref': {
    contracts: [limited('[{ path: $.env, ref: a }]')],
    says: '`ref` cannot be used in a condition (write { bound: a })',
  },
  'a message': {
    contracts: [limited('[{ path: $.env, equals: prod, message: m }]')],
    says: 'a condition has no message',
  },
  'a label that is compared': { contracts: [limited('[{ label: a, equals: b }]')], says: 'a label is there or not' },
  'a key without a binding': {
    contracts: [limited('[{ path: $.env, equals: prod, key: $.n }]')],
    says: '`key` belongs to `bound`',
  },
  'an undeclared binding': {
    contracts: [limited('[{ bound: risc, gt: 1 }]'), 'tool: y\nbinds: [{ name: risk, path: $.risk }]\n'],
    says: 'the binding "risc" is not declared (did you mean "risk"?)',
  },
  'a missing key': {
    contracts: [limited('[{ bound: risk, gt: 1 }]'), 'tool: y\nbinds: [{ name: risk, key: $.id, path: $.risk }]\n'],
    says: 'the binding "risk" is kept per key, and none is given here',
  },
  'a key too many': {
    contracts: [limited('[{ bound: risk, key: $.n, gt: 1 }]'), 'tool: y\nbinds: [{ name: risk, path: $.risk }]\n'],
    says: 'the binding "risk" is not kept per key',
  },
  'a pattern for a bound value': {
    contracts: [limited('[{ bound: risk, regex: a }]'), 'tool: y\nbinds: [{ name: risk, path: $.risk }]\n'],
    says: 'of a bound value only a hash is kept (use exists, equals',
  },
  'arguments in the hours of the session': {
    contracts: ['tool: x\n'],
    session: 'hours: { time_zone: UTC, allow: [{ from: "08:00", to: "09:00" }], when: [{ path: $.n, gt: 1 }] }\n',
    says: 'reads arguments (name the tool',
  },
  'arguments in a limit without a tool': {
    contracts: ['tool: x\n'],
    session: `shared_limits: [${LIMIT}, when: [{ path: $.n, gt: 1 }] }]\n`,
    says: 'reads arguments: name the `tool`',
  },
  'conditions on a cost': {
    contracts: ['tool: x\n'],
    session: `pricing: { "*": { input: 1, output: 1 } }\nshared_limits: [{ name: l, per: tenant, cost: true, lte: 1, window: 1d, when: [{ label: a }] }]\n`,
    says: 'the cost is that of model calls: remove `when`',
  },
  'conditions on what opens': {
    contracts: ['tool: x\nbinds: [{ name: a, path: $.a, when: [{ label: a }] }]\n'],
    says: 'unknown key "when": it stands on rules that restrict',
  },
  'rows without a key': {
    contracts: ['tool: x\nbinds: [{ name: a, each: "$.rows[*]", path: $.a }]\n'],
    says: '`each` reads rows of a result (add `key`)',
  },
  'one row': {
    contracts: ['tool: x\nbinds: [{ name: a, each: $.rows, key: $.id, path: $.a }]\n'],
    says: '`each` reads rows of a result (write $.rows[*])',
  },
  'rows of the arguments': {
    contracts: ['tool: x\nestablishes: [{ name: a, each: "$.rows[*]", key: $.id, from: argument, path: $.a }]\n'],
    says: '`each` reads rows of a result (remove `from`)',
  },
  'the latest that is used up': {
    contracts: ['tool: x\npreconditions: [{ requires_prior_tool: y, latest: true, consumes: true }]\n', 'tool: y\n'],
    says: '`latest` looks at one call, `consumes` counts calls (keep one of them)',
  },
  'seventeen conditions': {
    contracts: [limited(`[${Array.from({ length: 17 }, (_, at) => `{ label: l${at} }`).join(', ')}]`)],
    says: 'argument_value_invariants[0].when',
  },
}

describe('refuses', () => {
  for (const [name, { contracts, session, says }] of Object.entries(REFUSED)) {
    proves('condition.refused', name, () => {
      expect(errorsOf(contracts, session).join('\n')).toContain(says)
    })
  }
})

test('accepts sixteen conditions, and a value that the schema lists', () => {
  expect(errorsOf([limited(`[${Array.from({ length: 16 }, (_, at) => `{ label: l${at} }`).join(', ')}]`)])).toEqual([])
  expect(errorsOf([limited('[{ path: $.env, equals: prod }, { principal: $.role, equals: owner }]')])).toEqual([])
})

const remarksOf = (...contracts: string[]) =>
  analyzePlan(planOf(...contracts)).map(({ code, message }) => `${code}: ${message}`)

proves('condition.remarks', 'conditions that do less than they seem to', () => {
  const open = remarksOf(limited('[{ path: $.city, equals: Rome }]', ''))
  expect(open).toEqual([expect.stringContaining('condition_avoidable: x: $.city is open text')])
  expect(remarksOf(limited('[{ path: $.city, not_one_of: [Rome] }]', ''))).toEqual([])
  expect(remarksOf(limited('[{ path: $.env, equals: prod }]'))).toEqual([])
  expect(remarksOf(limited('[{ path: $.env, exists: true }]'))).toEqual([expect.stringContaining('always_holds: x:')])
  expect(remarksOf(limited('[{ label: l }]'))).toEqual([expect.stringContaining('label_never_added: x: no tool adds')])
  const lifting = remarksOf(limited('[{ label: l, exists: false }]'), 'tool: y\nlabels: { adds: [l] }\n')
  expect(lifting).toEqual([expect.stringContaining('label_lifts_rule: x: a call of y lifts')])
  expect(remarksOf(limited('[{ label: l }]'), 'tool: y\nlabels: { adds: [l] }\n')).toEqual([])
  const asks = (required: string) =>
    `tool: x\narguments: { type: object, properties: { n: { type: number } }${required} }\ncheckpoint: { when: [{ path: $.n, gt: 1 }], reason: r }\n`
  expect(remarksOf(asks(''))).toEqual([expect.stringContaining('not_asked_when_missing: x: no person is asked')])
  expect(remarksOf(asks(', required: [n]'))).toEqual([])
  const asksAbout = (when: string, required: string, to = '{}') =>
    `tool: x\narguments: { type: object, properties: { to: ${to} }, required: [${required}] }\ncheckpoint: { when: [${when}], reason: r }\n`
  const each = '{ path: "$.to[*]", not_regex: "@example.com$" }'
  expect(remarksOf(asksAbout(each, ''))).toEqual([
    expect.stringContaining('no person is asked about a call without $.to:'),
  ])
  expect(remarksOf(asksAbout(each, 'to'))).toEqual([
    expect.stringContaining('no person is asked where $.to is of another'),
  ])
  expect(remarksOf(asksAbout(each, 'to', '{ type: array }'))).toEqual([])
  const one = '{ path: $.to, equals: eve }'
  expect(remarksOf(asksAbout(one, 'to'))).toEqual([
    expect.stringContaining('no person is asked where $.to is of another'),
  ])
  expect(remarksOf(asksAbout(one, 'to', '{ type: string }'))).toEqual([])
})

proves('condition.remarks', 'only rules that always apply make a tool uncallable', () => {
  const needs = (when: string) => `tool: x\npreconditions: [{ requires_prior_tool: y${when} }]\n`
  const gated = 'tool: y\ngate: block\n'
  expect(remarksOf(needs(''), gated).join()).toContain('never_callable')
  expect(remarksOf(needs(', when: [{ path: $.n, gt: 1 }]'), gated).join()).not.toContain('never_callable')
})

const RULE = 'tool: x\npreconditions:\n- requires_prior_tool: y\n  with_output: [{ path: $.failed, equals: 0 }]\n'
const Y = 'tool: y\ncommit_requirement: executed\n'

proves('condition.words', 'a description says when a rule applies', () => {
  const [contract] = planOf(
    `${RULE}  when: [{ path: $.env, equals: production }, { label: night, exists: false }]\n`,
    Y,
  ).contracts
  expect(contract === undefined ? [] : describeContract(contract)).toContain(
    'If $.env equals “production” and the session is not labelled night, or that cannot be told: requires a call of y first, in whose result $.failed equals 0.',
  )
})

describe('a difference', () => {
  const changes = (was: string, is: string) =>
    diffPlans(planOf(was, Y), planOf(is, Y)).map(({ effect, text }) => [effect, text] as const)
  const withWhen = (when: string) => `${RULE}  when: [${when}]\n`

  proves('condition.words', 'a new condition allows, one that is gone blocks', () => {
    const prod = withWhen('{ path: $.env, equals: production }')
    expect(changes(RULE, prod)).toMatchObject([['allows', expect.stringContaining('If $.env equals')]])
    expect(changes(prod, RULE)).toMatchObject([['blocks', expect.stringContaining('was: If $.env equals')]])
    expect(changes(prod, prod)).toEqual([])
    expect(changes(RULE, `${RULE}  message: m\n`)).toMatchObject([['changes', expect.anything()]])
  })

  proves('condition.words', 'a rule that applies wherever the old one did is narrower', () => {
    const above = (n: number) => withWhen(`{ path: $.amount, gt: ${n} }`)
    expect(changes(above(5), above(3))[0]?.[0]).toBe('blocks')
    expect(changes(above(3), above(5))[0]?.[0]).toBe('allows')
    // What is missing fails where `exists: true` says so.
    const given = withWhen('{ path: $.amount, gt: 3, exists: true }')
    expect(changes(above(3), given)[0]?.[0]).toBe('allows')
    expect(changes(given, above(3))[0]?.[0]).toBe('blocks')
    // Text is compared with text only, so that neither applies wherever the other does.
    const text = withWhen('{ path: $.amount, equals: "9" }')
    expect(changes(above(3), text)[0]?.[0]).toBe('changes')
  })

  proves('condition.words', 'conditions of labels, bounds, hours and limits are compared as well', () => {
    const one = (rule: string) => changes('tool: x\n', `tool: x\n${rule}`)[0]?.[0]
    const between = (was: string, is: string) => changes(`tool: x\n${was}`, `tool: x\n${is}`).map(([effect]) => effect)
    const when = 'when: [{ path: $.n, gt: 1 }]'
    expect(one(`labels: { deny_when: [{ label: a, ${when} }] }\n`)).toBe('blocks')
    expect(between('labels: { deny_when: [a] }\n', `labels: { deny_when: [{ label: a, ${when} }] }\n`)).toEqual([
      'allows',
    ])
    expect(between(`labels: { deny_when: [{ label: a, ${when} }] }\n`, 'labels: { deny_when: [a] }\n')).toEqual([
      'blocks',
    ])
    const bound = (more: string) => `argument_value_invariants: [{ path: $.n, lte: 9${more} }]\n`
    expect(between(bound(''), bound(`, ${when}`))).toEqual(['allows'])
    expect(between(bound(`, ${when}`), bound(''))).toEqual(['blocks'])
    const hours = (more: string) => `hours: { time_zone: UTC, allow: [{ from: "08:00", to: "09:00" }]${more} }\n`
    expect(between(hours(''), hours(`, ${when}`))).toEqual(['allows'])
    expect(between(hours(`, ${when}`), hours(''))).toEqual(['blocks'])
  })
})

test('an old contract compiles to what it was, and one label or hours in a list to one', () => {
  const labels = (adds: string) => planOf(`tool: x\nlabels: { adds: ${adds} }\n`)
  expect(labels('[{ label: b }, a]')).toEqual(labels('[a, b]'))
  const hours = '{ time_zone: UTC, allow: [{ from: "08:00", to: "09:00" }] }'
  expect(planOf(`tool: x\nhours: [${hours}]\n`)).toEqual(planOf(`tool: x\nhours: ${hours}\n`))
})

test('a path with brackets outside of quotes is one mistake, and the message says what to write', () => {
  const binds = 'binds: [{ name: a, each: $.rows[*], key: $.id, path: $.a }]'
  expect(errorsOf([`tool: x\n${binds}\n`])).toEqual([
    expect.stringMatching(/^0.yaml:2: .*\(put the path into quotes, such as "\$\.items\[\*\]\.price"\)$/),
  ])
  expect(errorsOf(['tool: x\nbinds: [{ name: a ]\n'])[0]).toContain('(correct the YAML or JSON syntax here)')
})
