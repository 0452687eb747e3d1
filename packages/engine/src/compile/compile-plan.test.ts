import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createPolicyEvaluator } from '../contract/cedar.js'
import { compilePlan } from './compile-plan.js'
import { preparePlan } from './prepare-plan.js'
import type { ContractSource } from './read-source.js'
import { describeNote } from './report/compile-note.js'

const policy = createPolicyEvaluator(cedar)

/** `compile(contract, ...)`: YAML texts; one that starts with `# session` is the session's. */
function compile(...texts: string[]) {
  const isSession = (text: string) => text.startsWith('# session')
  const session = texts.find(isSession)
  return compilePlan(
    {
      contracts: texts.filter((text) => !isSession(text)).map((text, at) => ({ file: `${at}.yaml`, text })),
      session: session === undefined ? undefined : { file: 'session.yaml', text: session },
    },
    { policy },
  )
}

function errorsOf(...texts: string[]): string[] {
  const result = compile(...texts)
  return result.ok ? [] : result.errors.map(describeNote)
}

const PHASES = 'phases: [{ name: a, initial: true }, { name: b }, { name: c, terminal: true }]'
const REFUSED: Record<string, { texts: string[]; says: string }> = {
  'an unknown key': {
    texts: ['tool: x\npreconditon: []\n'],
    says: '0.yaml:2 preconditon: unknown key "preconditon" (did you mean "preconditions"?)',
  },
  'an unknown key deep inside': {
    texts: ['tool: x\nassertions:\n  output_invariants:\n    - path: $.a\n      equal: 1\n'],
    says: '0.yaml:5 assertions.output_invariants[0].equal: unknown key "equal" (did you mean "equals"?)',
  },
  'an unknown key in one branch of a choice': {
    texts: ['tool: x\npreconditions:\n  - requires_prior_tool: y\n    with_outputs: []\n', 'tool: y\n'],
    says: '0.yaml:4 preconditions[0].with_outputs: unknown key "with_outputs" (did you mean "with_output"?)',
  },
  'an unknown key of the session': {
    texts: ['tool: x\n', '# session\nsession_limit: {}\n'],
    says: 'session.yaml:2 session_limit: unknown key "session_limit" (did you mean "session_limits"?)',
  },
  'a value outside its list': {
    texts: ['tool: x\nside_effect: raed\n'],
    says: '0.yaml:2 side_effect: the value is not one of "read", "egress_read"',
  },
  'a missing tool': { texts: ['side_effect: read\n'], says: '0.yaml:1 tool: the key "tool" is missing' },
  'two contracts for one tool': {
    texts: ['tool: x\n', 'tool: x\n'],
    says: '1.yaml:1 tool: a second contract for the tool "x"; the first is in 0.yaml',
  },
  'no initial phase': { texts: ['# session\nphases: [{ name: a, terminal: true }]\n'], says: 'no phase is initial' },
  'two initial phases': {
    texts: ['# session\nphases: [{ name: a, initial: true, terminal: true }, { name: b, initial: true }]\n'],
    says: '2 phases are initial',
  },
  'no terminal phase': { texts: ['# session\nphases: [{ name: a, initial: true }]\n'], says: 'no phase is terminal' },
  'a phase twice': {
    texts: ['# session\nphases: [{ name: a, initial: true, terminal: true }, { name: a }]\n'],
    says: 'the phase "a" is declared twice',
  },
  'transitions without phases': {
    texts: ['# session\ntransitions: { a: [b] }\n'],
    says: '`transitions` needs `phases`',
  },
  'a circle without a way to the end': {
    texts: [`# session\n${PHASES}\ntransitions: { a: [b, c], b: [b] }\n`],
    says: 'the phase "b" is part of a cycle that never reaches a terminal phase',
  },
  'a dead end': {
    texts: [`# session\n${PHASES}\ntransitions: { a: [b, c] }\n`],
    says: 'no terminal phase can be reached from "b"',
  },
  'an unreachable phase': {
    texts: [`# session\n${PHASES}\ntransitions: { a: [c], b: [c] }\n`],
    says: 'the phase "b" cannot be reached from "a"',
  },
  'an undeclared phase in transitions': {
    texts: [`# session\n${PHASES}\ntransitions: { a: [b], b: [c, d] }\n`],
    says: 'session.yaml:3 transitions.b[1]: the phase "d" is not declared',
  },
  'an undeclared phase in a contract': {
    texts: [
      'tool: x\ntransitions:\n  valid_in_phases: [aa]\n',
      `# session\n${PHASES}\ntransitions: { a: [b], b: [c] }\n`,
    ],
    says: '0.yaml:3 transitions.valid_in_phases[0]: the phase "aa" is not declared (did you mean "a"?)',
  },
  'a phase without any session': {
    texts: ['tool: x\ntransitions: { advances_to: b }\n'],
    says: 'the phase "b" is not declared (none is declared)',
  },
  'an undeclared prior tool': {
    texts: ['tool: x\npreconditions: [{ requires_prior_tool: verfy }]\n', 'tool: verify\n'],
    says: 'the tool "verfy" is not declared (did you mean "verify"?)',
  },
  'an undeclared forbidden tool': { texts: ['tool: x\nforbids_after: [y]\n'], says: 'the tool "y" is not declared' },
  'an undeclared tool with a limit': {
    texts: ['tool: x\n', '# session\nsession_limits: { max_calls_per_tool: { y: 1 } }\n'],
    says: 'the tool "y" is not declared (did you mean "x"?)',
  },
  'an undeclared binding in refs': {
    texts: ['tool: x\nrefs: [{ path: $.a, ref: b }]\n'],
    says: 'the binding "b" is not declared',
  },
  'an undeclared binding in an invariant': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, ref: b }]\n'],
    says: 'the binding "b" is not declared',
  },
  'an undeclared envelope': {
    texts: ['tool: x\nenvelopes: [{ name: q, path: $.a, direction: at_most }]\n'],
    says: 'the envelope "q" is not declared',
  },
  'a tool that requires itself': {
    texts: ['tool: x\npreconditions: [{ requires_prior_tool: x }]\n'],
    says: 'requires itself',
  },
  'a range without values': {
    texts: ['tool: x\nargument_value_invariants:\n  - { path: $.a, gt: 5, lt: 3 }\n'],
    says: '0.yaml:3 argument_value_invariants[0]: no value can pass this rule: `gt: 5` and `lt: 3` contradict each other',
  },
  'a range that its open end empties': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, gte: 5, lt: 5 }]\n'],
    says: '`gte: 5` and `lt: 5` contradict each other',
  },
  'lengths without values': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, length_gte: 2, length_lte: 1 }]\n'],
    says: '`length_gte: 2` and `length_lte: 1` contradict each other',
  },
  'absence with a value': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, exists: false, equals: 1 }]\n'],
    says: '`exists: false` contradicts a rule about the value',
  },
  'a value that the other operators reject': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, equals: 7, lte: 5 }]\n'],
    says: '`equals` names a value that the other operators reject',
  },
  'a list of which nothing is left': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, one_of: [1, 2], not_one_of: [1, 2, 3] }]\n'],
    says: '`one_of` names only values that the other operators reject',
  },
  'a type that an operator cannot take': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, type: string, gt: 1 }]\n'],
    says: '`type: string` and `gt` contradict each other',
  },
  'a sum that no call can stay below': {
    texts: ['tool: x\naggregates: [{ name: n, path: $.a, function: sum, lt: 0 }]\n'],
    says: 'no call can pass this rule',
  },
  'a count below one': {
    texts: ['tool: x\naggregates: [{ name: n, function: count, lt: 1 }]\n'],
    says: 'no call can pass this rule',
  },
  'an aggregate without bound': {
    texts: ['tool: x\naggregates: [{ name: n, function: count }]\n'],
    says: 'needs a bound',
  },
  'one aggregate with two functions': {
    texts: [
      'tool: x\naggregates: [{ name: n, path: $.a, function: sum, lte: 1 }]\n',
      'tool: y\naggregates: [{ name: n, function: count, lte: 1 }]\n',
    ],
    says: 'the aggregate "n" is a sum in another contract',
  },
  'a name that is none': {
    texts: ['tool: x\nbinds: [{ name: __proto__, path: $.a }]\n'],
    says: '"__proto__" is a reserved name',
  },
  'a binding twice': {
    texts: ['tool: x\nbinds: [{ name: n, path: $.a }, { name: n, path: $.b }]\n'],
    says: '"n" occurs twice under binds',
  },
  'a binding of several values': {
    texts: ['tool: x\nbinds: [{ name: n, path: "$.a[*]" }]\n'],
    says: 'a binding holds only one',
  },
  'a regular expression beyond RE2': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, regex: "(?=x)" }]\n'],
    says: 'RE2 does not accept the regular expression',
  },
  'a pattern beyond RE2 in a schema': {
    texts: ['tool: x\narguments: { type: object, properties: { a: { type: string, pattern: "(?<=x)y" } } }\n'],
    says: '0.yaml:2 arguments: the JSON Schema is invalid: RE2 does not accept',
  },
  'a pattern beyond RE2 in a schema operator': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, schema: { pattern: "(a)\\\\1" } }]\n'],
    says: 'RE2 does not accept',
  },
  'a schema with a remote reference': {
    texts: ['tool: x\narguments: { $ref: "https://example.com/x.json" }\n'],
    says: 'leads to no schema of this document',
  },
  'a path outside RFC 9535': {
    texts: ['tool: x\nargument_value_invariants: [{ path: "a.b", exists: true }]\n'],
    says: 'not RFC 9535',
  },
  'a path that would be evaluated': {
    texts: ['tool: x\nargument_value_invariants: [{ path: "$[?(process.exit())]", exists: true }]\n'],
    says: 'not RFC 9535',
  },
  'two descents': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $..a..b, exists: true }]\n'],
    says: 'more than one `..`',
  },
  'a source that names no argument': {
    texts: ['tool: x\nsources: [{ path: "$.to[?@.x]", from: [user] }]\n'],
    says: 'a source path can only name arguments',
  },
  'a pattern in a path that matches nothing': {
    texts: ['tool: x\nargument_value_invariants: [{ path: "$.a[?match(@, \'(?i)x\')]", exists: false }]\n'],
    says: 'can match nothing',
  },
  'a broken resource key': {
    texts: ['tool: x\nresources: [{ key: "order:{$.id" }]\n'],
    says: 'the key has a `{` without a matching `}`',
  },
  'a ref where no session is': {
    texts: [
      'tool: x\nbinds: [{ name: n, path: $.a }]\nexecution_constraints: { arguments: [{ path: $.a, ref: n }] }\n',
    ],
    says: '`ref` cannot be used here',
  },
  'a policy that does not parse': {
    texts: ['tool: x\npolicy: { cedar: "permit (principal, action" }\n'],
    says: '0.yaml:2 policy.cedar: the policy cannot be used',
  },
  'a session policy that does not parse': {
    texts: ['tool: x\n', '# session\npolicy: { cedar: "permit when" }\n'],
    says: 'session.yaml:2 policy.cedar: the policy cannot be used',
  },
  'YAML that is none': { texts: ['tool: [x\n'], says: '0.yaml:2: ' },
  'a key twice': { texts: ['tool: x\ntool: y\n'], says: 'a key occurs twice in the same map' },
  'a tag': { texts: ['tool: !!js/function x\n'], says: 'Unresolved tag' },
  'a number beyond doubles': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, equals: 9007199254740993 }]\n'],
    says: 'beyond 2^53 - 1',
  },
  'not a number': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, lte: .nan }]\n'],
    says: 'beyond what a double can hold',
  },
  'a list instead of a contract': { texts: ['- tool: x\n'], says: 'expected object' },
  'nothing at all': { texts: [''], says: '0.yaml: the file is empty (write a contract, or remove the file)' },
  'a comment alone': { texts: ['# pay\n'], says: 'the file is empty' },
  'two documents': {
    texts: ['tool: x\n---\ntool: y\n'],
    says: '0.yaml:2: the file holds more than one document (write one document per file; split it at ---)',
  },
  'a key that is near none': { texts: ['tool: x\nname: y\n'], says: 'unknown key "name" (remove it, or use' },
  'two letters swapped': { texts: ['tool: x\ngtae: allow\n'], says: 'did you mean "gate"?' },
  'no tool': { texts: ['side_effect: read\n'], says: 'the key "tool" is missing (add it: text)' },
  'a value instead of a list': { texts: ['tool: x\nforbids_after: x\n'], says: '(write a list: each item' },
  'a number in quotes': {
    texts: ['tool: x\nargument_value_invariants: [{ path: $.a, lte: "5" }]\n'],
    says: 'expected number, received string (write a number without quotes)',
  },
}

describe('compilation refuses', () => {
  test.each(Object.entries(REFUSED))('%s', (_, { texts, says }) => {
    expect(errorsOf(...texts).join('\n')).toContain(says)
  })

  test('an alias bomb', () => {
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x, x]',
      ...'bcdefghi'.split('').map((name, at) => {
        const before = 'abcdefghi'[at]
        return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`
      }),
    ].join('\n')
    expect(errorsOf(`tool: x\nretries:\n${bomb.replaceAll(/^/gm, '  ')}\n`).join()).toContain('cannot be read')
  })

  test('nesting without end', () => {
    expect(errorsOf(`tool: x\nretries: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`).length).toBeGreaterThan(0)
  })

  test('a plan larger than the limit', () => {
    const big = (name: string) =>
      `tool: ${name}\narguments: { type: object, properties: { a: { enum: [${'"'}${'x'.repeat(120_000)}${'"'}] } } }\n`
    expect(errorsOf(...Array.from({ length: 10 }, (_, at) => big(`t${at}`))).join()).toContain(
      'the plan is larger than',
    )
  })

  test('everything at once, by file and line', () => {
    const errors = errorsOf(
      'tool: b\nforbids_after: [q]\n',
      'tool: a\nrefs: [{ path: $.a, ref: r }]\nforbids_after: [q]\n',
    )
    expect(errors.map((line) => line.split(' ')[0])).toEqual(['0.yaml:2', '1.yaml:2', '1.yaml:3'])
  })

  const IRREVERSIBLE = ['destructive', 'admin', 'financial']
  test.each(IRREVERSIBLE)('weak evidence for a tool that is %s', (effect) => {
    expect(errorsOf(`tool: x\nside_effect: ${effect}\nevidence_class: ack_only\n`).join()).toContain(
      `\`evidence_class: ack_only\` is too weak for \`side_effect: ${effect}\``,
    )
    const asks = (onTimeout: string) =>
      `tool: x\nside_effect: ${effect}\ncheckpoint: { reason: r, on_timeout: ${onTimeout} }\n`
    expect(errorsOf(asks('allow')).join()).toContain(
      `\`on_timeout: allow\` is not permitted with \`side_effect: ${effect}\``,
    )
    expect(errorsOf(asks('deny'))).toEqual([])
  })

  test('nothing weak for a tool that writes', () => {
    expect(
      errorsOf('tool: x\nside_effect: write\nevidence_class: ack_only\ncheckpoint: { reason: r, on_timeout: allow }\n'),
    ).toEqual([])
  })
})

describe('compilation', () => {
  const compiled = (text: string) => {
    const result = compile(text)
    if (!result.ok) throw new Error(result.errors.map(describeNote).join('\n'))
    return result
  }

  proves('limit.checkpoint-timeout', 'clamps checkpoint timeouts to 30 and 3,600 seconds, and says so', () => {
    const result = compiled(
      'tool: x\ncheckpoint:\n  - { reason: r, timeout_seconds: 5 }\n  - { reason: s, timeout_seconds: 9999 }\n',
    )
    expect(result.plan.contracts.get('x')?.checkpoints.map(({ definition }) => definition.timeout_seconds)).toEqual([
      30, 3_600,
    ])
    expect(result.warnings.map(({ line, message }) => [line, message])).toEqual([
      [3, 'the timeout of 5 s becomes 30 s'],
      [4, 'the timeout of 9999 s becomes 3600 s'],
    ])
  })

  test.each([
    ['read', undefined, 'reported'],
    ['egress_read', undefined, 'reported'],
    ['write', undefined, 'executed'],
    ['financial', undefined, 'executed'],
    ['write', 'none', 'reported'],
    ['read', 'acknowledged', 'executed'],
    ['write', 'reported', 'reported'],
  ])('gives a tool that is %s, written %s, the level %s', (effect, written, level) => {
    const line = written === undefined ? '' : `commit_requirement: ${written}\n`
    expect(compiled(`tool: x\nside_effect: ${effect}\n${line}`).plan.contracts.get('x')?.commitRequirement).toBe(level)
  })

  proves('contract.no-decoration', 'refuses what would not be enforced, and says what to write instead', () => {
    const result = compile('tool: x\nretries: 3\nrate_limits: {}\ngolden_cases: []\nallowed_errors: []\n')
    expect(!result.ok && result.errors.map(({ path, line, message }) => [path, line, message])).toEqual([
      ['retries', 2, '`retries` would not be enforced'],
      ['rate_limits', 3, '`rate_limits` would not be enforced'],
      ['golden_cases', 4, '`golden_cases` would not be enforced'],
      ['allowed_errors', 5, '`allowed_errors` would not be enforced'],
    ])
    expect(!result.ok && result.errors[1]?.fix).toContain('max_calls_per_minute')
  })

  test('warns of what a schema of arguments does not check', () => {
    const { warnings } = compiled(`tool: x
arguments:
  properties:
    host: { type: string, format: ipv4 }
    mail: { type: string, format: email }
    data: { type: string, contentEncoding: base64 }
    amount: { maximum: 500 }
    count: { type: integer, maximum: 5 }
    format: { type: string, default: { format: ipv4, maximum: 1 } }
    either: { anyOf: [{ minimum: 1 }, { enum: [0], maximum: 5 }] }
`)
    expect(warnings.map(({ path, line }) => [path, line])).toEqual([
      ['arguments.properties.host.format', 4],
      ['arguments.properties.data.contentEncoding', 6],
      ['arguments.properties.amount.maximum', 7],
      ['arguments.properties.either.anyOf[0].minimum', 10],
    ])
  })

  test.each([
    [
      'tools that wait for each other',
      [
        'tool: x\npreconditions: [{ requires_prior_tool: y }]\n',
        'tool: y\npreconditions: [{ requires_prior_tool: x }]\n',
      ],
      'requires tools that in turn require it',
    ],
    [
      'a tool that what it requires forbids',
      ['tool: x\npreconditions: [{ requires_prior_tool: y }]\n', 'tool: y\nforbids_after: [x]\n'],
      'requires a call after which it is forbidden',
    ],
    [
      'a move that no phase allows',
      [
        'tool: x\ntransitions: { valid_in_phases: [c], advances_to: a }\n',
        `# session\n${PHASES}\ntransitions: { a: [b], b: [c] }\n`,
      ],
      'no phase that allows the tool leads to "a"',
    ],
    [
      'a label that denies its own tool',
      ['tool: x\nlabels: { adds: [l], deny_when: [l] }\n'],
      'which denies every later one',
    ],
    [
      'a source without contract',
      ['tool: x\nsources: [{ path: $.a, from: [{ result: z, path: $.b }] }]\n'],
      'no contract covers the tool "z"',
    ],
    [
      'a cost limit without prices',
      ['tool: x\n', '# session\nsession_limits: { max_cost_per_session: 5 }\n'],
      'blocks every model call',
    ],
  ])('advises against %s', (_, texts, says) => {
    const result = compile(...texts)
    expect(result.ok && result.warnings.map(({ message }) => message).join('\n')).toContain(says)
  })

  test('leaves out prose and keeps the rest', () => {
    const plain = compiled('tool: x\n').compiled_hash
    expect(compiled('schema_version: "1.0"\ntool: x\ndescription: d\nsource: customer\n').compiled_hash).toBe(plain)
    expect(compiled('tool: x\nside_effect: read\n').compiled_hash).not.toBe(plain)
  })

  test('gives the same plan whatever the order of files, keys and sets', () => {
    const files: ContractSource[] = [
      { file: 'a', value: { tool: 'a', side_effect: 'read', forbids_after: ['b', 'c'], labels: { adds: ['x', 'y'] } } },
      { file: 'b', value: { tool: 'b', argument_value_invariants: [{ path: '$.a', gt: 1, lt: 5 }] } },
      { file: 'c', value: { tool: 'c', transitions: { valid_in_phases: ['p', 'q'] } } },
    ]
    const session = {
      phases: [
        { name: 'p', initial: true },
        { name: 'q', terminal: true },
      ],
      transitions: { p: ['q'] },
      pricing: { 'b/*': { input: 1, output: 2 }, 'a/*': { input: 1, output: 2 } },
    }
    const hashOf = (contracts: ContractSource[], definition: unknown) => {
      const result = compilePlan({ contracts, session: { file: 's', value: definition } })
      return result.ok ? result.compiled_hash : result.errors.map(describeNote).join()
    }
    const expected = hashOf(files, session)
    expect(expected).toMatch(/^[0-9a-f]{64}$/)
    fc.assert(
      fc.property(fc.shuffledSubarray(files, { minLength: 3 }), fc.infiniteStream(fc.nat()), (order, numbers) => {
        const contracts = order.map(({ file, value }) => ({ file, value: shuffled(value, numbers) }))
        expect(hashOf(contracts, shuffled(session, numbers))).toBe(expected)
      }),
      { numRuns: 50 },
    )
  })

  test('makes what preparing accepts, with the same hash, and preparing refuses what compiling does', () => {
    const result = compiled('tool: x\ncheckpoint: { reason: r, timeout_seconds: 5 }\n')
    const prepared = preparePlan(JSON.parse(JSON.stringify(result.compiled_session)))
    expect(prepared.ok && prepared.plan.hash).toBe(result.compiled_hash)
    const [contract] = result.compiled_session.contracts
    for (const change of [
      { forbids_after: ['nobody'] },
      { checkpoint: [{ when: [], reason: 'r', timeout_seconds: 5, on_timeout: 'deny', context: [] }] },
      { argument_value_invariants: [{ path: '$.a', regex: '(?=x)' }] },
      { unknown: 1 },
      { side_effect: undefined },
    ]) {
      const changed = { ...result.compiled_session, contracts: [{ ...contract, ...change }] }
      expect(preparePlan(JSON.parse(JSON.stringify(changed))).ok).toBe(false)
    }
    expect(preparePlan({ ...result.compiled_session, contracts: [contract, contract] }).ok).toBe(false)
  })

  test('misspells no provider; a plan that was stored with one can still be used', () => {
    const session = {
      provider_constraints: { block_incompatible: ['OpenAI/*'] },
      pricing: { 'antropic/*': { input: 1, output: 1 } },
    }
    const result = compilePlan({ contracts: [], session: { file: 'session.yaml', value: session } })
    expect(!result.ok && result.errors.map(({ fix }) => fix)).toEqual([
      'did you mean "anthropic/*"?',
      'did you mean "openai/*"?',
    ])
    expect(preparePlan({ plan_version: 1, session, contracts: [] })).toMatchObject({ ok: true })
  })

  test('takes any value without throwing', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (contract, session) => {
        compilePlan({ contracts: [{ file: 'c', value: contract }], session: { file: 's', value: session } })
        preparePlan(contract)
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        compilePlan({ contracts: [{ file: 'c', text }] })
      }),
    )
  })
})

/** The same value with the keys of objects, and the items of sets of names, in another order. */
function shuffled(value: unknown, numbers: fc.Stream<number>): unknown {
  const order = <T>(items: T[]) =>
    items
      .map((item) => ({ item, at: numbers.next().value ?? 0 }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  if (Array.isArray(value)) {
    const isSet = value.every((item) => typeof item === 'string' || (typeof item === 'object' && 'initial' in item))
    return (isSet ? order(value) : value).map((item) => shuffled(item, numbers))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(order(Object.entries(value)).map(([key, item]) => [key, shuffled(item, numbers)]))
}

test('a contract that the program changes after it was compiled changes nothing of the plan', () => {
  const allowed = ['a', 'b']
  const schema = { type: 'object', properties: { unit: { enum: allowed } } }
  const invariants = [
    { path: '$.unit', one_of: allowed },
    { path: '$.list', equals: allowed },
  ]
  const value = { tool: 'x', arguments: schema, argument_value_invariants: invariants }
  const result = compilePlan({ contracts: [{ file: 'x', value }] })
  if (!result.ok) throw new Error('it must compile')
  const before = JSON.stringify(result.compiled_session)
  allowed.push('c')
  invariants.pop()
  expect(JSON.stringify(result.compiled_session)).toBe(before)
})

describe('the weight of a plan', () => {
  const weightOf = (contract: Record<string, unknown>) => {
    const compiled = compilePlan({ contracts: [{ file: 'a.json', text: JSON.stringify({ tool: 'a', ...contract }) }] })
    if (!compiled.ok) throw new Error(compiled.errors.map(({ message }) => message).join('; '))
    return compiled.plan.weight
  }
  const rules = (count: number, rule: object) => ({
    argument_value_invariants: Array.from({ length: count }, () => ({ path: '$.a', ...rule })),
  })

  test('grows with its schemas, patterns and paths, and is the same for the same plan', () => {
    const small = weightOf({})
    const schemas = weightOf(rules(100, { schema: { type: 'string' } }))
    expect(schemas - small).toBeGreaterThan(100 * 4_096)
    expect(weightOf(rules(100, { schema: { type: 'string' } }))).toBe(schemas)
    expect(weightOf(rules(10, { regex: '[ab]{1000}' })) - small).toBeGreaterThan(10 * 76_000)
    expect(weightOf(rules(10, { path: '$..a', exists: true })) - small).toBeGreaterThan(10 * 4_400)
  })
})
