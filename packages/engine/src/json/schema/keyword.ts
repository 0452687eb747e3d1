import type { JsonObject, JsonValue } from '@countersign/protocol'
import { type Check, isObject } from './schema-run.js'

/** A keyword that says something about values. */
export interface Keyword {
  /** What its operand must be, such as "a number". */
  readonly takes: Operand
  /** Null where the operand allows everything. */
  build(operand: JsonValue, node: SchemaNode): Check | null
}

/** The schema in which a keyword stands. */
export interface SchemaNode {
  readonly schema: JsonObject
  compile(subschema: JsonValue): Check
  compileReference(reference: string): Check
  /** Whether a text matches an RE2 pattern. */
  compilePattern(pattern: string): (text: string) => boolean
}

export interface Operand {
  /** As the message says it. */
  readonly name: string
  accepts(operand: JsonValue): boolean
}

const isSchema = (operand: JsonValue): boolean => typeof operand === 'boolean' || isObject(operand)

const isStrings = (operand: JsonValue): boolean =>
  Array.isArray(operand) &&
  operand.every((item) => typeof item === 'string') &&
  new Set(operand).size === operand.length

const isNumber = (operand: JsonValue): operand is number => typeof operand === 'number'

export const TAKES = {
  anything: { name: 'any value', accepts: () => true },
  string: { name: 'a string', accepts: (operand) => typeof operand === 'string' },
  boolean: { name: 'true or false', accepts: (operand) => typeof operand === 'boolean' },
  number: { name: 'a number', accepts: isNumber },
  divisor: { name: 'a number above 0', accepts: (operand) => isNumber(operand) && operand > 0 },
  count: {
    name: 'a whole number of at least 0',
    accepts: (operand) => isNumber(operand) && Number.isInteger(operand) && operand >= 0,
  },
  strings: { name: 'a list of different strings', accepts: isStrings },
  list: { name: 'a list', accepts: (operand) => Array.isArray(operand) },
  values: {
    name: 'a list with at least one value',
    accepts: (operand) => Array.isArray(operand) && operand.length > 0,
  },
  schema: { name: 'a schema', accepts: isSchema },
  schemas: {
    name: 'a list with at least one schema',
    accepts: (operand) => Array.isArray(operand) && operand.length > 0 && operand.every(isSchema),
  },
  namedSchemas: {
    name: 'schemas by name',
    accepts: (operand) => isObject(operand) && Object.values(operand).every(isSchema),
  },
  namedStrings: {
    name: 'lists of different strings by name',
    accepts: (operand) => isObject(operand) && Object.values(operand).every(isStrings),
  },
  namedEither: {
    name: 'schemas, or lists of different strings, by name',
    accepts: (operand) =>
      isObject(operand) && Object.values(operand).every((item) => isSchema(item) || isStrings(item)),
  },
  namedFlags: {
    name: 'true or false by name',
    accepts: (operand) => isObject(operand) && Object.values(operand).every((item) => typeof item === 'boolean'),
  },
} as const satisfies Record<string, Operand>
