import type { Contract, JsonObject, JsonValue, SessionDefinition } from '@countersign/protocol'

/** A plan and a response within every size limit that keeps a judge busy for long. */
export interface HostileShape {
  readonly name: string
  readonly contracts: readonly Contract[]
  readonly session?: SessionDefinition
  /** The calls of the response; all are of the first contract's tool. */
  readonly calls: readonly JsonObject[]
  readonly content?: string
}

const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const TOOL = 'act'

const shape = (
  name: string,
  contract: Omit<Contract, 'tool'>,
  args: JsonObject | JsonObject[],
  more: Partial<HostileShape> = {},
): HostileShape => ({
  name,
  contracts: [{ tool: TOOL, ...contract } as Contract],
  calls: Array.isArray(args) ? args : [args],
  ...more,
})

const rules = (count: number, rule: (index: number) => JsonObject): Contract['argument_value_invariants'] =>
  range(count, rule) as unknown as Contract['argument_value_invariants']

/** About 25,000 nodes in 120 kB. */
const MANY_NODES: JsonObject = { items: range(12_000, (at) => ({ k: at % 10 })) }
const MANY_NUMBERS: JsonObject = { items: range(60_000, () => 1) }
const MANY_KEYS: JsonObject = Object.fromEntries(range(12_000, (at) => [`k${at}`, 1]))
const DEEP: JsonObject = { a: JSON.parse(`${'[[1],'.repeat(50)}1${']'.repeat(50)}`) as JsonValue }
const LONG_TEXT = 'ab'.repeat(60_000)
const ONE_LETTER = 'a'.repeat(120_000)
const RECORDS: JsonObject = {
  items: range(1_500, (at) => ({ id: at, name: `name ${at}`, tags: ['a', 'b'], to: null })),
}

const doubling = (levels: number): JsonObject => {
  const $defs: Record<string, JsonValue> = { d0: { type: 'string' } }
  for (let at = 1; at <= levels; at++) {
    const previous = { $ref: `#/$defs/d${at - 1}` }
    $defs[`d${at}`] = { allOf: [previous, previous] }
  }
  return { $defs, properties: { a: { $ref: `#/$defs/d${levels}` } } }
}

/** Shapes for one judgement each. What a shape is called says what multiplies. */
export const JUDGING_SHAPES: readonly HostileShape[] = [
  shape(
    'descents × nodes',
    { argument_value_invariants: rules(300, () => ({ path: '$..x', exists: false })) },
    MANY_NODES,
  ),
  shape(
    'wildcards × nodes, all found',
    { argument_value_invariants: rules(300, () => ({ path: '$.items[*].k', lte: 9 })) },
    MANY_NODES,
  ),
  shape(
    'filters that compare two large values for each item',
    { argument_value_invariants: rules(3, () => ({ path: '$.items[?$.big == $.same]', exists: true })) },
    { items: range(5_000, () => 1), big: range(15_000, () => 1), same: range(15_000, () => 1) },
  ),
  shape(
    'filters with many terms × items',
    {
      argument_value_invariants: rules(20, () => ({
        path: `$.items[?@.k == 11${' || @.k == 11'.repeat(70)}]`,
        exists: false,
      })),
    },
    MANY_NODES,
  ),
  shape(
    'selectors of a union × a descent × nodes',
    { argument_value_invariants: rules(100, () => ({ path: `$..[${range(60, () => '*').join(',')}]`, lte: 9 })) },
    DEEP,
  ),
  shape(
    'objects of one_of × objects found',
    {
      argument_value_invariants: [
        { path: '$.items[*]', not_one_of: range(8_000, (at) => ({ id: at, name: 'x', tags: ['a', 'b'], to: 1 })) },
      ],
    } as Omit<Contract, 'tool'>,
    RECORDS,
  ),
  shape(
    'branches of anyOf × items',
    { arguments: { properties: { items: { items: { anyOf: range(401, () => ({ type: 'string' })) } } } } },
    MANY_NUMBERS,
  ),
  shape(
    'branches of anyOf with objects as constants × items',
    {
      arguments: {
        properties: {
          items: { items: { anyOf: range(400, (at) => ({ const: { id: -at, name: 'x', tags: ['a', 'b'], to: 1 } })) } },
        },
      },
    },
    RECORDS,
  ),
  shape('a schema whose definitions double', { arguments: doubling(60) }, { a: 'x' }),
  shape(
    'items that are all wrong',
    { arguments: { properties: { items: { items: { type: 'string' } } } } },
    MANY_NUMBERS,
  ),
  shape(
    'patterns of properties × keys',
    { arguments: { patternProperties: Object.fromEntries(range(300, (at) => [`x${at}$`, { type: 'string' }])) } },
    MANY_KEYS,
  ),
  shape(
    'names of properties × keys × schemas',
    {
      argument_value_invariants: rules(100, () => ({
        path: '$',
        schema: { propertyNames: { maxLength: 9 }, additionalProperties: { type: 'number' } },
      })),
    },
    MANY_KEYS,
  ),
  shape(
    'unique items that are large',
    { arguments: { properties: { items: { allOf: range(200, () => ({ uniqueItems: true })) } } } },
    RECORDS,
  ),
  shape(
    'contains × schemas × items',
    { arguments: { properties: { items: { allOf: range(200, () => ({ contains: { const: 2 } })) } } } },
    MANY_NUMBERS,
  ),
  shape(
    'instructions of a pattern × characters',
    { argument_value_invariants: rules(30, (at) => ({ path: '$.a', not_regex: `a[ab]{${900 - at}}[cd]` })) },
    { a: ONE_LETTER },
  ),
  shape(
    'patterns × characters',
    { argument_value_invariants: rules(500, (at) => ({ path: '$.a', not_regex: `(?i)secret${at}|key ${at}` })) },
    { a: LONG_TEXT },
  ),
  shape(
    'a part that is nearly contained everywhere',
    {
      argument_value_invariants: rules(5, () => ({
        path: '$.a',
        contains: `${'a'.repeat(30_000)}b${'a'.repeat(30_000)}`,
      })),
    },
    { a: ONE_LETTER },
  ),
  shape(
    'lengths of long text',
    { argument_value_invariants: rules(2_000, () => ({ path: '$.a', length_lte: 200_000 })) },
    { a: LONG_TEXT },
  ),
  shape(
    'hashes of large values',
    {
      binds: [{ name: 'x', from: 'output', path: '$.x' }],
      refs: range(2_000, () => ({ path: '$.a', ref: 'x' })),
    } as Omit<Contract, 'tool'>,
    { a: MANY_KEYS },
  ),
  shape(
    'sources × values',
    { sources: range(2_000, (at) => ({ path: `$.items[*].x${at}`, from: ['user'], otherwise: 'block' })) } as Omit<
      Contract,
      'tool'
    >,
    MANY_NODES,
  ),
  shape(
    'a source rule on a run of marks',
    { sources: [{ path: '$.a', role: 'content', from: ['user'], otherwise: 'block' }] } as Omit<Contract, 'tool'>,
    { a: `see x${'!'.repeat(120_000)}x 1.1` },
  ),
  shape(
    'a source rule on many tokens',
    { sources: [{ path: '$.a', role: 'content', from: ['user'], otherwise: 'block' }] } as Omit<Contract, 'tool'>,
    { a: 'a.1-b '.repeat(20_000) },
  ),
  shape(
    'conditions of checkpoints',
    {
      checkpoint: range(200, () => ({
        when: [{ path: '$..x', exists: true }],
        reason: 'x',
        timeout_seconds: 60,
        on_timeout: 'deny',
      })),
    } as unknown as Omit<Contract, 'tool'>,
    MANY_NODES,
  ),
  shape(
    'output invariants × calls',
    { assertions: { output_invariants: rules(100, () => ({ path: '$..x', exists: false })) } } as Omit<
      Contract,
      'tool'
    >,
    range(8, () => MANY_NODES),
  ),
  shape(
    'aggregates of descents',
    {
      aggregates: range(60, (at) => ({ name: `n${at}`, function: 'sum', path: '$..k', lte: 1e9 })),
    } as Omit<Contract, 'tool'>,
    MANY_NODES,
  ),
  shape(
    'many calls, each of them costly',
    { argument_value_invariants: rules(60, () => ({ path: '$..x', exists: false })) },
    range(60, () => ({ items: range(2_000, (at) => ({ k: at % 10 })) })),
  ),
]
