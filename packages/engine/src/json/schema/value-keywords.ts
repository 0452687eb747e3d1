import type { JsonObject, JsonValue } from '@countersign/protocol'
import { canonicalJson } from '../canonical-json.js'
import { isMultipleOf } from '../decimal.js'
import { equalValues } from '../equal-values.js'
import { valueSet } from '../value-set.js'
import { FORMATS } from './formats.js'
import { type Keyword, TAKES } from './keyword.js'
import { type Check, fail, isObject, property } from './schema-run.js'

/** The keywords that look at a value itself, not at schemas of its parts. */
export const VALUE_KEYWORDS = {
  type: {
    takes: {
      name: `one of ${Object.keys(typeTests()).join(', ')}, or a list of them`,
      accepts: (operand) => {
        const types = [operand].flat()
        const isKnown = types.every((type) => typeof type === 'string' && Object.hasOwn(TYPES, type))
        return types.length > 0 && isKnown && new Set(types).size === types.length
      },
    },
    build: (operand, { schema }) => checkType(operand, schema),
  },
  maximum: bound('maximum', (value, limit) => value <= limit, '<='),
  minimum: bound('minimum', (value, limit) => value >= limit, '>='),
  exclusiveMaximum: bound('exclusiveMaximum', (value, limit) => value < limit, '<'),
  exclusiveMinimum: bound('exclusiveMinimum', (value, limit) => value > limit, '>'),
  multipleOf: {
    takes: TAKES.divisor,
    build: (operand) => {
      const divisor = operand as number
      return checkOf('multipleOf', operand, `must be a multiple of ${divisor}`, (value) => {
        return typeof value !== 'number' || isMultipleOf(value, divisor)
      })
    },
  },
  maxLength: {
    takes: TAKES.count,
    build: (operand) => {
      const most = operand as number
      // A character is one code unit or two, so most texts need no counting.
      return checkOf('maxLength', operand, `must NOT have more than ${most} characters`, (value) => {
        return (
          typeof value !== 'string' || value.length <= most || (value.length <= 2 * most && charactersOf(value) <= most)
        )
      })
    },
  },
  minLength: {
    takes: TAKES.count,
    build: (operand) => {
      const least = operand as number
      return checkOf('minLength', operand, `must NOT have fewer than ${least} characters`, (value) => {
        return (
          typeof value !== 'string' ||
          value.length >= 2 * least ||
          (value.length >= least && charactersOf(value) >= least)
        )
      })
    },
  },
  pattern: {
    takes: TAKES.string,
    build: (operand, { compilePattern }) => {
      const matches = compilePattern(operand as string)
      const message = `must match pattern "${operand}"`
      return checkOf('pattern', operand, message, (value) => typeof value !== 'string' || matches(value))
    },
  },
  format: {
    takes: TAKES.string,
    build: (operand) => {
      // Unknown formats are annotations, as the standard says.
      const isValid = FORMATS.get(operand as string)
      if (isValid === undefined) return null
      const test: Test = (value) => typeof value !== 'string' || isValid(value)
      return checkOf('format', operand, `must be a valid ${operand}`, test)
    },
  },
  const: {
    takes: TAKES.anything,
    build: (operand) => checkOf('const', operand, 'must be equal to constant', (value) => equalValues(value, operand)),
  },
  enum: {
    takes: TAKES.values,
    build: (operand) => {
      const allowed = valueSet(operand as JsonValue[])
      return checkOf('enum', operand, 'must be equal to one of the allowed values', (value) => allowed.has(value))
    },
  },
  maxItems: size('maxItems', 'items', (value) => (Array.isArray(value) ? value.length : null)),
  minItems: size('minItems', 'items', (value) => (Array.isArray(value) ? value.length : null)),
  uniqueItems: {
    takes: TAKES.boolean,
    build: (operand) =>
      operand === true
        ? checkOf(
            'uniqueItems',
            operand,
            'must not have duplicate items',
            (value) => !Array.isArray(value) || hasUniqueItems(value),
          )
        : null,
  },
  maxProperties: size('maxProperties', 'properties', (value) => (isObject(value) ? Object.keys(value).length : null)),
  minProperties: size('minProperties', 'properties', (value) => (isObject(value) ? Object.keys(value).length : null)),
  required: {
    takes: TAKES.strings,
    build: (operand) => {
      const names = operand as string[]
      return (value, run, place) => {
        if (!isObject(value)) return true
        let isValid = true
        for (const name of names) {
          if (property(value, name) !== undefined) continue
          const message = () => `must have required property '${name}'`
          isValid = fail(run, place, () => missing('required', message()), name)
          if (run.problems === null) return false
        }
        return isValid
      }
    },
  },
  dependentRequired: {
    takes: TAKES.namedStrings,
    build: (operand) => checkDependentRequired('dependentRequired', operand as Record<string, string[]>),
  },
} as const satisfies Record<string, Keyword>

/** What is said of a property that is not there. */
export const missing = (keyword: string, message: string) => ({ keyword, expected: 'a value', found: null, message })

export function checkDependentRequired(
  keyword: string,
  dependents: Readonly<Record<string, readonly string[]>>,
): Check {
  const entries = Object.entries(dependents)
  return (value, run, place) => {
    if (!isObject(value)) return true
    let isValid = true
    for (const [name, needed] of entries) {
      if (!Object.hasOwn(value, name)) continue
      for (const other of needed) {
        if (Object.hasOwn(value, other)) continue
        const what = needed.length === 1 ? 'property' : 'properties'
        const message = () => `must have ${what} ${needed.join(', ')} when property ${name} is present`
        isValid = fail(run, place, () => missing(keyword, message()), other)
        if (run.problems === null) return false
      }
    }
    return isValid
  }
}

type Test = (value: JsonValue) => boolean

function checkOf(keyword: string, expected: JsonValue, message: string, test: Test): Check {
  return (value, run, place) => test(value) || fail(run, place, () => ({ keyword, expected, found: value, message }))
}

function typeTests() {
  return {
    string: (value: JsonValue) => typeof value === 'string',
    number: (value: JsonValue) => typeof value === 'number',
    integer: (value: JsonValue) => Number.isInteger(value),
    boolean: (value: JsonValue) => typeof value === 'boolean',
    object: isObject,
    array: (value: JsonValue) => Array.isArray(value),
    null: (value: JsonValue) => value === null,
  }
}

const TYPES: Readonly<Record<string, Test>> = typeTests()

/** With `nullable`, which tools described for OpenAPI have, null is one of the types. */
function checkType(operand: JsonValue, { nullable }: JsonObject): Check {
  const given = [operand].flat() as string[]
  const types = nullable === true && !given.includes('null') ? [...given, 'null'] : given
  const tests = types.map((type) => TYPES[type] as Test)
  const [first, ...others] = tests as [Test, ...Test[]]
  const test: Test = others.length === 0 ? first : (value) => tests.some((one) => one(value))
  return checkOf('type', operand, `must be ${types.join(',')}`, test)
}

function bound(keyword: string, holds: (value: number, limit: number) => boolean, sign: string): Keyword {
  return {
    takes: TAKES.number,
    build: (operand) => {
      const limit = operand as number
      const test: Test = (value) => typeof value !== 'number' || holds(value, limit)
      return checkOf(keyword, operand, `must be ${sign} ${limit}`, test)
    },
  }
}

function size(keyword: string, what: string, sizeOf: (value: JsonValue) => number | null): Keyword {
  const isMost = keyword.startsWith('max')
  return {
    takes: TAKES.count,
    build: (operand) => {
      const limit = operand as number
      const message = `must NOT have ${isMost ? 'more' : 'fewer'} than ${limit} ${what}`
      return checkOf(keyword, operand, message, (value) => {
        const actual = sizeOf(value)
        return actual === null || (isMost ? actual <= limit : actual >= limit)
      })
    },
  }
}

/** By code points. */
function charactersOf(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (isPair) {
      count--
      at++
    }
  }
  return count
}

const hasUniqueItems = (items: readonly JsonValue[]): boolean => new Set(items.map(canonicalJson)).size === items.length
