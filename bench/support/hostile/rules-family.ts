import { type Contract, type Invariant, type JsonObject, LIMITS } from '@countersign/protocol'
import { collidingNumbers } from '../../../test/support/hostile/colliding-numbers.js'
import type { Family } from '../../../test/support/hostile/request.js'
import { callsOf, FIXED, gene, oneOf, TOOL, VALUES } from '../../../test/support/hostile/values.js'

export const PATHS: readonly string[] = [
  '$.v',
  '$..a',
  '$..*',
  '$.v[*]',
  '$.v[*].a',
  '$..[?@.a>1]',
  '$.v[?@.a!=$.w].a',
  "$.v[?search(@.a,'[ab]*c')]",
  '$.v[0:100000:1]',
  `$..[${Array.from({ length: 30 }, (_, at) => at).join(',')}]`,
  '$.v[?count(@.*)>1]',
  '$.v[?length(@)>1]',
  '$..v..a',
  '$.v.*[*]',
  '$.v[::-1]',
  '$.v[?@<"y"]',
  '$.v[?@==$.v[0]]',
  '$.v[?!@.a]',
  "$.v[?match(@,'[a-z0-9]*q')]",
  '$.v[?value(@..a)==1]',
  `$.v[?${Array.from({ length: 30 }, (_, at) => `@.a==${at}`).join('||')}]`,
]

const operandObject = (size: number, index: number): JsonObject =>
  Object.fromEntries(Array.from({ length: Math.max(1, size) }, (_, at) => [`f${at}`, index]))

/** One rule of each kind. `size` is the size of what it is compared with. */
export const RULES: readonly ((size: number, index: number) => Partial<Invariant>)[] = [
  () => ({ exists: true }),
  () => ({ type: 'object' }),
  (size, index) => ({ equals: operandObject(size % 50, index) }),
  (size) => ({ one_of: Array.from({ length: size }, (_, at) => operandObject(1, at)) }),
  (size) => ({ not_one_of: Array.from({ length: size }, (_, at) => ({ a: at + 10 })) }),
  (size) => ({ not_one_of: Array.from({ length: size }, (_, at) => [at, [at]]) }),
  (size) => ({ not_regex: `[ab]*a[ab]{${size % 300}}[cd]` }),
  (size) => ({ not_regex: `(a|b|é|x|y){1,${(size % 200) + 1}}z` }),
  (size) => ({ contains: operandObject(size % 20, 1) }),
  () => ({ contains: 'ab' }),
  (size) => ({ starts_with: 'a'.repeat(size) }),
  () => ({ length_gte: 1 }),
  (size) => ({ schema: { anyOf: Array.from({ length: (size % 200) + 1 }, (_, at) => ({ const: `n${at}` })) } }),
  () => ({ schema: { uniqueItems: true } }),
  (size) => ({ not_equals: Array.from({ length: size }, () => 1) }),
  (size) => ({ not_equals: 'x'.repeat(size) }),
  () => ({ gt: 1e15 }),
  () => ({ gte: 1e15 }),
  () => ({ lt: 1e-15 }),
  () => ({ lte: 1e-15 }),
  (size, index) => ({ regex: `(?i)secret${index}|\\bkey${size}\\b` }),
  () => ({ not_regex: '(.*)(.*)(.*)(.*)q' }),
  () => ({ regex: '^\\p{L}*\\p{N}' }),
  (size) => ({ contains: `${'x'.repeat(Math.min(size, 500))}q` }),
  () => ({ contains: 7 }),
  (size) => ({ ends_with: 'x'.repeat(Math.min(size, 500)) }),
  () => ({ length_lte: 1e9 }),
  (size) => ({ not_one_of: [...collidingNumbers(Math.min(size, 8_000)), 8] }),
]

/** Where a rule can stand. */
export const PLACES: readonly ((rules: Invariant[]) => Partial<Contract>)[] = [
  (rules) => ({ argument_value_invariants: rules }),
  (rules) => ({ checkpoint: { when: rules, reason: 'asked' } }),
  (rules) => ({ checkpoint: rules.map((rule) => ({ when: [rule], reason: 'asked' })) }),
  (rules) => ({
    assertions: {
      output_invariants: rules.map((rule) => ({ ...rule, path: rule.path.replace('$', '$.tool_calls[*].arguments') })),
    },
  }),
  (rules) => ({ aggregates: rules.map(({ path }, at) => ({ name: `s${at}`, path, function: 'sum', lte: 1e9 })) }),
  (rules) => ({ refs: rules.map(({ path }) => ({ path, ref: 'bound' })), binds: [{ name: 'bound', path: '$.x' }] }),
  (rules) => ({
    envelopes: rules.map(({ path }) => ({ name: 'most', path, direction: 'at_most' })),
    establishes: [{ name: 'most', path: '$.x' }],
  }),
  (rules) => ({ resources: rules.map(({ path }) => ({ key: `r:{${path}}`, mode: 'shared' })) }),
  (rules) => ({ aggregates: rules.map(({ path }, at) => ({ name: `s${at}`, path, function: 'max', lte: 1e9 })) }),
  (rules) => ({ aggregates: rules.map(({ path }, at) => ({ name: `s${at}`, path, function: 'count', lte: 1e9 })) }),
  (rules) => ({
    aggregates: rules.map(({ path }, at) => ({ name: `s${at}`, key: path, function: 'count', lte: 1e9 })),
  }),
  (rules) => ({
    checkpoint: {
      when: [],
      reason: 'asked',
      context: rules.map(({ path }, at) => ({ label: `l${at}`, path })),
    },
  }),
  (rules) => ({ binds: rules.map(({ path }, at) => ({ name: `b${at}`, path, from: 'argument' })) }),
  (rules) => ({ establishes: rules.map(({ path }, at) => ({ name: `b${at}`, path, from: 'argument' })) }),
  (rules) => ({ preconditions: rules.map(({ path }) => ({ requires_prior_tool: TOOL, same: [{ path, as: path }] })) }),
  (rules) => ({
    sources: rules.map(({ path }) => ({ path, role: 'content', from: ['user'], dictated: 'note', quoted: 'note' })),
  }),
]

export const rules: Family = {
  name: 'rules',
  genes: {
    place: [0, PLACES.length - 1],
    path: [0, PATHS.length - 1],
    rule: [0, RULES.length - 1],
    value: [0, VALUES.length - 1],
    count: [1, LIMITS.entriesPerList],
    size: [1, 64_000],
    operand: [1, 8_000],
    calls: [1, 24],
  },
  build: (genes) => {
    const list = Array.from({ length: gene(genes, 'count') }, (_, index) => ({
      path: oneOf(PATHS, genes.path),
      ...oneOf(RULES, genes.rule)(gene(genes, 'operand'), index),
    })) as Invariant[]
    return { contracts: [{ tool: TOOL, ...FIXED, ...oneOf(PLACES, genes.place)(list) }], calls: callsOf(genes) }
  },
}
