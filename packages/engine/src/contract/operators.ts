import type { JsonValue } from '@countersign/protocol'
import { equalValues } from '../json/equal-values.js'
import { compileSchema } from '../json/schema/json-schema.js'
import { checkStrictValue } from '../json/strict-json.js'
import { valueSet } from '../json/value-set.js'
import { codePoints } from '../text/code-points.js'
import { finder } from '../text/find-text.js'
import { compileRegex } from '../text/regex.js'

/** Judges the value a path found; `undefined` means that the path found none. */
export type OperatorTest = (found: JsonValue | undefined) => boolean

/** True for a value that the operator cannot judge because it is of another type. */
export type CannotJudge = (found: JsonValue) => boolean

/** `test` is null only for `ref`, which needs the session's bindings. */
export type PreparedOperator =
  | { ok: true; test: OperatorTest | null; cannotJudge: CannotJudge }
  | { ok: false; problem: string }

/** One row of the table of operators. */
export interface Operator {
  /** What the operand must be, for messages and docs. */
  readonly operand: string
  readonly meaning: string
  /** What a value must be, for remedies and failures. `shown` is the operand as JSON, cut if long. */
  requirement(shown: string): string
  /** The types that the operator can judge, if it cannot judge all. */
  readonly types?: readonly string[]
  prepare(operand: JsonValue): PreparedOperator
}

const NUMBERS = ['number', 'integer'] as const
const TEXT = ['string'] as const
const TEXT_OR_LIST = ['string', 'array'] as const

/**
 * Every comparison a contract can make. An absent value passes `exists: false` and fails all others, even the negative
 * ones: a rule about a value requires the value. A value of another type fails as well, except that it is indeed not
 * equal. No case folding, no Unicode folding, no conversion of strings to numbers.
 */
export const OPERATORS = {
  exists: {
    operand: 'true or false',
    meaning: '`true`: the path finds a value, which may be null; `false`: it finds none',
    requirement: (shown) => (shown === 'true' ? 'must be present' : 'must be absent'),
    prepare: (operand) =>
      typeof operand === 'boolean' ? ready((found) => (found !== undefined) === operand) : wrong('true or false'),
  },
  type: {
    operand: 'string, number, integer, boolean, object, array or null',
    meaning: 'the value has this type; 1.0 is an integer',
    requirement: (shown) => `must be of type ${shown}`,
    prepare: prepareType,
  },
  equals: {
    operand: 'any value',
    meaning: 'equal as JSON; 1 equals 1.0, and the order of keys does not matter',
    requirement: (shown) => `must be ${shown}`,
    prepare: (operand) => ready(present((found) => equalValues(found, operand))),
  },
  not_equals: {
    operand: 'any value',
    meaning: 'present, and not equal as JSON',
    requirement: (shown) => `must be present and not be ${shown}`,
    prepare: (operand) => ready(present((found) => !equalValues(found, operand))),
  },
  one_of: {
    operand: 'a list of at least one value',
    meaning: 'equals one of the values',
    requirement: (shown) => `must be one of ${shown}`,
    prepare: (operand) => withList(operand, (contains) => contains),
  },
  not_one_of: {
    operand: 'a list of at least one value',
    meaning: 'present, and equals none of the values',
    requirement: (shown) => `must be present and be none of ${shown}`,
    prepare: (operand) => withList(operand, (contains) => (found) => !contains(found)),
  },
  gt: {
    operand: 'a number',
    meaning: 'a number greater than this',
    requirement: (shown) => `must be a number greater than ${shown}`,
    types: NUMBERS,
    prepare: numeric((found, bound) => found > bound),
  },
  gte: {
    operand: 'a number',
    meaning: 'a number greater than or equal to this',
    requirement: (shown) => `must be a number of at least ${shown}`,
    types: NUMBERS,
    prepare: numeric((found, bound) => found >= bound),
  },
  lt: {
    operand: 'a number',
    meaning: 'a number less than this',
    requirement: (shown) => `must be a number less than ${shown}`,
    types: NUMBERS,
    prepare: numeric((found, bound) => found < bound),
  },
  lte: {
    operand: 'a number',
    meaning: 'a number less than or equal to this',
    requirement: (shown) => `must be a number of at most ${shown}`,
    types: NUMBERS,
    prepare: numeric((found, bound) => found <= bound),
  },
  regex: {
    operand: 'an RE2 regular expression',
    meaning: 'a string that contains a match; anchor with ^ and $ to match the whole string',
    requirement: (shown) => `must match ${shown}`,
    types: TEXT,
    prepare: (operand) => withRegex(operand, true),
  },
  not_regex: {
    operand: 'an RE2 regular expression',
    meaning: 'a string that contains no match',
    requirement: (shown) => `must be text that does not match ${shown}`,
    types: TEXT,
    prepare: (operand) => withRegex(operand, false),
  },
  contains: {
    operand: 'any value',
    meaning: 'a string that contains this, or an array with an item equal to this',
    requirement: (shown) => `must contain ${shown}`,
    types: TEXT_OR_LIST,
    prepare: prepareContains,
  },
  starts_with: {
    operand: 'a string of at least one character',
    meaning: 'a string that starts with this',
    requirement: (shown) => `must start with ${shown}`,
    types: TEXT,
    prepare: textual((found, part) => found.startsWith(part)),
  },
  ends_with: {
    operand: 'a string of at least one character',
    meaning: 'a string that ends with this',
    requirement: (shown) => `must end with ${shown}`,
    types: TEXT,
    prepare: textual((found, part) => found.endsWith(part)),
  },
  length_gte: {
    operand: 'a whole number, 0 or more',
    meaning: 'a string of at least this many characters (code points), or an array of at least this many items',
    requirement: (shown) => `must have a length of at least ${shown}`,
    types: TEXT_OR_LIST,
    prepare: sized((length, bound) => length >= bound),
  },
  length_lte: {
    operand: 'a whole number, 0 or more',
    meaning: 'a string of at most this many characters (code points), or an array of at most this many items',
    requirement: (shown) => `must have a length of at most ${shown}`,
    types: TEXT_OR_LIST,
    prepare: sized((length, bound) => length <= bound),
  },
  schema: {
    operand: 'a JSON Schema (2020-12)',
    meaning: 'valid against the schema',
    requirement: (shown) => `must be valid against the schema ${shown}`,
    prepare: prepareSchema,
  },
  ref: {
    operand: 'the name of a binding',
    meaning: 'equals the value that the session bound to this name',
    requirement: (shown) => `must equal the value bound as ${shown}`,
    prepare: (operand) =>
      typeof operand === 'string' && BINDING_NAME.test(operand)
        ? { ok: true, test: null, cannotJudge: NEVER }
        : wrong('the name of a binding'),
  },
} as const satisfies Record<string, Operator>

/** The name of an operator, such as `one_of`. */
export type OperatorName = keyof typeof OPERATORS

/** Whether a name is that of an operator. */
export function isOperatorName(name: string): name is OperatorName {
  return Object.hasOwn(OPERATORS, name)
}

/** Checks an operand and builds its test, once per compiled contract. */
export function prepareOperator(name: OperatorName, operand: JsonValue): PreparedOperator {
  const problem = checkStrictValue(operand)
  if (problem !== null) return { ok: false, problem }
  const { prepare, types }: Operator = OPERATORS[name]
  const prepared = prepare(operand)
  if (!prepared.ok || types === undefined) return prepared
  const { test, cannotJudge } = prepared
  return { ok: true, test, cannotJudge: (found) => !types.includes(typeName(found)) || cannotJudge(found) }
}

const typeName = (value: JsonValue): string => (Array.isArray(value) ? 'array' : typeof value)

const BINDING_NAME = /^[A-Za-z0-9_.:-]{1,128}$/

const NEVER: CannotJudge = () => false

const ready = (test: OperatorTest, cannotJudge: CannotJudge = NEVER): PreparedOperator => ({
  ok: true,
  test,
  cannotJudge,
})

const wrong = (expected: string): PreparedOperator => ({ ok: false, problem: `the operand must be ${expected}` })

function present(test: (found: JsonValue) => boolean): OperatorTest {
  return (found) => found !== undefined && test(found)
}

function prepareSchema(operand: JsonValue): PreparedOperator {
  const schema = compileSchema(operand)
  return schema.ok ? ready(present(schema.test)) : schema
}

const TYPE_TESTS: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  ['string', (value: JsonValue) => typeof value === 'string'],
  ['number', (value: JsonValue) => typeof value === 'number'],
  ['integer', (value: JsonValue) => Number.isInteger(value)],
  ['boolean', (value: JsonValue) => typeof value === 'boolean'],
  ['object', (value: JsonValue) => typeof value === 'object' && value !== null && !Array.isArray(value)],
  ['array', (value: JsonValue) => Array.isArray(value)],
  ['null', (value: JsonValue) => value === null],
])

function prepareType(operand: JsonValue): PreparedOperator {
  const test = typeof operand === 'string' ? TYPE_TESTS.get(operand) : undefined
  return test === undefined ? wrong(OPERATORS.type.operand) : ready(present(test))
}

function withList(
  operand: JsonValue,
  decide: (contains: (found: JsonValue) => boolean) => (found: JsonValue) => boolean,
): PreparedOperator {
  if (!Array.isArray(operand) || operand.length === 0) return wrong('a list of at least one value')
  const values = valueSet(operand)
  return ready(present(decide((found) => values.has(found))))
}

function prepareContains(operand: JsonValue): PreparedOperator {
  const find = typeof operand === 'string' ? finder(operand) : null
  return ready(
    (found) => {
      if (typeof found === 'string') return find?.(found) === true
      return Array.isArray(found) && found.some((item) => equalValues(item, operand))
    },
    (found) => typeof found === 'string' && typeof operand !== 'string',
  )
}

function numeric(compare: (found: number, bound: number) => boolean): Operator['prepare'] {
  return (operand) =>
    typeof operand === 'number'
      ? ready((found) => typeof found === 'number' && compare(found, operand))
      : wrong('a number')
}

function textual(compare: (found: string, part: string) => boolean): Operator['prepare'] {
  return (operand) =>
    typeof operand === 'string' && operand !== ''
      ? ready((found) => typeof found === 'string' && compare(found, operand))
      : wrong('a string of at least one character')
}

function withRegex(operand: JsonValue, expected: boolean): PreparedOperator {
  if (typeof operand !== 'string') return wrong('an RE2 regular expression')
  const regex = compileRegex(operand)
  if (!regex.ok) return regex
  return ready((found) => typeof found === 'string' && regex.test(found) === expected)
}

function sized(compare: (length: number, bound: number) => boolean): Operator['prepare'] {
  return (operand) =>
    Number.isInteger(operand) && (operand as number) >= 0
      ? ready((found) => {
          if (Array.isArray(found)) return compare(found.length, operand as number)
          return typeof found === 'string' && compare(codePoints(found), operand as number)
        })
      : wrong('a whole number, 0 or more')
}
