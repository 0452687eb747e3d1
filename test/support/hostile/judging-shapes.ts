import type { Contract, JsonObject } from '@countersign/protocol'

/** A plan and a response within every size limit that keeps a judge busy for long. */
export interface HostileShape {
  readonly name: string
  readonly contracts: readonly Contract[]
  /** The calls of the response; all are of the first contract's tool. */
  readonly calls: readonly JsonObject[]
  readonly content?: string
}

const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const shape = (name: string, contract: Omit<Contract, 'tool'>, args: JsonObject): HostileShape => ({
  name,
  contracts: [{ tool: 'act', ...contract } as Contract],
  calls: [args],
})

const rules = (count: number, rule: (index: number) => JsonObject): Contract['argument_value_invariants'] =>
  range(count, rule) as unknown as Contract['argument_value_invariants']

/** About 25,000 nodes in 120 kB. */
const MANY_NODES: JsonObject = { items: range(12_000, (at) => ({ k: at % 10 })) }
const MANY_NUMBERS: JsonObject = { items: range(60_000, () => 1) }
const RECORDS: JsonObject = {
  items: range(1_500, (at) => ({ id: at, name: `name ${at}`, tags: ['a', 'b'], to: null })),
}

/** Shapes for one judgement each. What a shape is called says what multiplies. */
export const JUDGING_SHAPES: readonly HostileShape[] = [
  shape(
    'descents × nodes',
    { argument_value_invariants: rules(256, () => ({ path: '$..x', exists: false })) },
    MANY_NODES,
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
]
