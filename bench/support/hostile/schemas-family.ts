import type { JsonObject } from '@countersign/protocol'
import type { Family } from '../../../test/support/hostile/request.js'
import { callsOf, FIXED, gene, many, oneOf, TOOL, VALUES } from '../../../test/support/hostile/values.js'

/** Schemas whose work is a product of their own size and the value's. */
export const SCHEMAS: readonly ((width: number) => JsonObject)[] = [
  (width) => ({ type: 'array', items: { anyOf: many(width, (at) => ({ const: at + 10 })) } }),
  (width) => ({ type: 'array', items: { not: { anyOf: many(width, (at) => ({ required: [`x${at}`] })) } } }),
  (width) => ({ type: 'array', items: { oneOf: many(width, (at) => ({ multipleOf: at + 2 })) } }),
  (width) => ({ type: 'array', items: { allOf: many(width, (at) => ({ maximum: at + 10 })) } }),
  (width) => ({ allOf: many(width, (at) => ({ contains: { const: at + 10 }, minContains: 0 })) }),
  (width) => ({ patternProperties: Object.fromEntries(many(width, (at) => [`[ab]*${at}$`, true])) }),
  (width) => ({ propertyNames: { anyOf: many(width, (at) => ({ pattern: `${at}x$` })) } }),
  (width) => ({ allOf: many(width, () => ({ uniqueItems: true })) }),
  (width) => ({ items: { enum: many(width, (at) => ({ a: [at] })) } }),
  (width) => ({ items: { not: { enum: many(width, (at) => ({ a: at + 10 })) } } }),
  (width) => ({
    $defs: {
      n: {
        anyOf: [
          { properties: { a: { $ref: '#/$defs/n' }, b: { $ref: '#/$defs/n' } } },
          ...many(width % 20, () => ({ $ref: '#/$defs/n/anyOf/0' })),
        ],
      },
    },
    $ref: '#/$defs/n',
  }),
  (width) => ({ dependentSchemas: Object.fromEntries(many(width, (at) => [`k${at}`, { minProperties: 1 }])) }),
  (width) => ({ properties: Object.fromEntries(many(width, (at) => [`k${at}`, { pattern: `^a{${at % 300}}` }])) }),
  (width) => ({ items: { if: false, else: { not: { anyOf: many(width, (at) => ({ pattern: `a{${at % 60}}b` })) } } } }),
  (width) => ({
    additionalProperties: { type: 'number' },
    unevaluatedProperties: { anyOf: many(width, (at) => ({ const: at })) },
  }),
  // One of each of the others, on every item and property.
  (width) => onEach({ maxLength: width * 20, minLength: width }),
  () => onEach({ minimum: 1e-9, exclusiveMaximum: 1e9, exclusiveMinimum: 0, multipleOf: 1e-300 }),
  (width) => ({ maxItems: width, minItems: width, maxProperties: width, minProperties: width }),
  ...['date', 'date-time', 'email', 'uri', 'uuid'].map((format) => () => ({ ...onEach({ format }), format })),
  (width) => onEach({ dependentRequired: Object.fromEntries(many(width, (at) => [`k${at}`, ['a', 'b']])) }),
  (width) => ({
    dependencies: Object.fromEntries(many(width, (at) => [`k${at}`, at % 2 === 0 ? ['a'] : { required: ['a'] }])),
  }),
  (width) => ({ prefixItems: many(width, () => ({ type: 'string' })), unevaluatedItems: { type: 'number' } }),
  // A problem that does not count at each item, below whatever is above it.
  () => ({
    $defs: {
      n: {
        anyOf: [{ type: 'boolean' }, onEach({ anyOf: [{ type: 'string' }, { $ref: '#/$defs/n' }] })],
      },
    },
    $ref: '#/$defs/n',
  }),
  // URIs that others are resolved against.
  (width) => ({ $id: uriOf(width), $defs: Object.fromEntries(many(width, (at) => [`d${at}`, { $id: `?${at}` }])) }),
  (width) => ({
    $id: uriOf(width),
    $defs: Object.fromEntries(many(width, (at) => [`d${at}`, { $anchor: `a${at}` }])),
    $ref: '#a0',
  }),
  (width) => ({ $id: uriOf(width), properties: Object.fromEntries(many(width, (at) => [`k${at}`, { $ref: '#' }])) }),
  (width) => ({ not: chainOf(width % 60), allOf: many(width, () => ({ $ref: `#${'/not'.repeat(width % 60)}` })) }),
]

/** The more there are below it, the shorter it is. */
const uriOf = (width: number): string => `x:/${'é'.repeat(Math.max(1, 60_000 - width * 15))}`

/** Schemas within schemas, each with a URI. */
const chainOf = (depth: number): JsonObject => (depth === 0 ? {} : { $id: `${depth}/`, not: chainOf(depth - 1) })

const onEach = (schema: JsonObject): JsonObject => ({ items: schema, additionalProperties: schema })

export const schemas: Family = {
  name: 'schemas',
  genes: {
    schema: [0, SCHEMAS.length - 1],
    value: [0, VALUES.length - 1],
    width: [1, 4_000],
    size: [1, 64_000],
    calls: [1, 24],
  },
  build: (genes) => ({
    contracts: [
      {
        tool: TOOL,
        ...FIXED,
        arguments: { type: 'object', properties: { v: oneOf(SCHEMAS, genes.schema)(gene(genes, 'width')) } },
      },
    ],
    calls: callsOf(genes),
  }),
}
