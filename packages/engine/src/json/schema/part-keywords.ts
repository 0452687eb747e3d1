import type { JsonObject, JsonValue } from '@countersign/protocol'
import { cutText } from '../../text/cut-text.js'
import { type Keyword, type SchemaNode, TAKES } from './keyword.js'
import {
  below,
  branchOf,
  type Check,
  type Evaluated,
  fail,
  isObject,
  merge,
  nothingEvaluated,
  type Place,
  property,
  quietly,
  type Run,
} from './schema-run.js'
import { checkDependentRequired } from './value-keywords.js'

/** A list of names, where a schema may stand as well. */
const isNames = (needed: JsonValue | undefined): needed is string[] => Array.isArray(needed)

/** The keywords that check the parts of a value against schemas of their own. */
export const PART_KEYWORDS = {
  prefixItems: {
    takes: TAKES.schemas,
    build: (operand, { compile }) => {
      const checks = (operand as JsonValue[]).map(compile)
      return (value, run, place, seen) => {
        if (!Array.isArray(value)) return true
        const count = Math.min(checks.length, value.length)
        if (seen !== null) seen.items = Math.max(seen.items, count)
        return everyItem(value, run, place, { from: 0, to: count, checkAt: (at) => checks[at] as Check, seen })
      }
    },
  },
  items: {
    takes: TAKES.schema,
    build: (operand, { schema, compile }) => {
      const check = compile(operand)
      const from = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0
      return (value, run, place, seen) => {
        if (!Array.isArray(value)) return true
        if (seen !== null) seen.items = Math.max(seen.items, value.length)
        if (operand === false && from > 0) {
          const message = `must NOT have more than ${from} items`
          return (
            value.length <= from ||
            fail(run, place, () => ({ keyword: 'items', expected: false, found: value, message }))
          )
        }
        return everyItem(value, run, place, { from, to: value.length, checkAt: () => check, seen })
      }
    },
  },
  contains: { takes: TAKES.schema, build: checkContains },
  propertyNames: {
    takes: TAKES.schema,
    build: (operand, { compile }) => {
      const check = compile(operand)
      return (value, run, place) => {
        if (!isObject(value)) return true
        return everyKey(value, run, (name) => {
          if (check(name, run, place, null)) return true
          const message = 'property name must be valid'
          return fail(run, place, () => ({ keyword: 'propertyNames', expected: operand, found: value, message }))
        })
      }
    },
  },
  additionalProperties: {
    takes: TAKES.schema,
    build: (operand, node) => {
      const check = operand === false ? null : node.compile(operand)
      const isNamed = namedBy(node)
      return (value, run, place, seen) => {
        if (!isObject(value)) return true
        return everyKey(value, run, (name) => {
          if (isNamed(name)) return true
          seen?.names.add(name)
          return checkExtra('additionalProperties', check, { value, name, run, place, seen })
        })
      }
    },
  },
  dependencies: {
    takes: TAKES.namedEither,
    build: (operand, { compile }) => {
      const entries = Object.entries(operand as JsonObject)
      const lists = entries.filter((entry): entry is [string, string[]] => isNames(entry[1]))
      const schemas = entries.filter(([, needed]) => !isNames(needed))
      const checkLists = checkDependentRequired('dependencies', Object.fromEntries(lists))
      const checkSchemas = checkDependents(schemas, compile)
      return (...given) => {
        const isValid = checkLists(...given)
        return isValid || given[1].problems !== null ? checkSchemas(...given) && isValid : false
      }
    },
  },
  dependentSchemas: {
    takes: TAKES.namedSchemas,
    build: (operand, { compile }) => checkDependents(Object.entries(operand as JsonObject), compile),
  },
  properties: {
    takes: TAKES.namedSchemas,
    build: (operand, { compile }) => {
      const checks = Object.entries(operand as JsonObject).map(([name, schema]) => ({ name, check: compile(schema) }))
      return (value, run, place, seen) => {
        if (!isObject(value)) return true
        let isValid = true
        for (const { name, check } of checks) {
          const part = property(value, name)
          if (part === undefined) continue
          seen?.names.add(name)
          if (check(part, run, below(run, place, name), branchOf(seen))) continue
          isValid = false
          if (run.problems === null) return false
        }
        return isValid
      }
    },
  },
  patternProperties: {
    takes: TAKES.namedSchemas,
    build: (operand, { compile, compilePattern }) => {
      const checks = Object.entries(operand as JsonObject).map(([pattern, schema]) => ({
        matches: compilePattern(pattern),
        check: compile(schema),
      }))
      return (value, run, place, seen) => {
        if (!isObject(value)) return true
        return everyKey(value, run, (name) => {
          let isValid = true
          for (const { matches, check } of checks) {
            if (!matches(name)) continue
            seen?.names.add(name)
            if (!check(value[name] as JsonValue, run, below(run, place, name), branchOf(seen))) isValid = false
          }
          return isValid
        })
      }
    },
  },
} as const satisfies Record<string, Keyword>

/** They come last: what the other keywords of the schema have evaluated is known then. */
export const UNEVALUATED_KEYWORDS = {
  unevaluatedItems: {
    takes: TAKES.schema,
    build: (operand, { compile }) => {
      const check = compile(operand)
      return (value, run, place, seen) => {
        if (!Array.isArray(value) || seen === null) return true
        const { items, others } = seen
        const checkAt = (at: number): Check => (at < items || others.has(at) ? anything : check)
        const isValid = everyItem(value, run, place, { from: 0, to: value.length, checkAt, seen })
        seen.items = value.length
        return isValid
      }
    },
  },
  unevaluatedProperties: {
    takes: TAKES.schema,
    build: (operand, { compile }) => {
      const check = operand === false ? null : compile(operand)
      return (value, run, place, seen) => {
        if (!isObject(value) || seen === null) return true
        return everyKey(value, run, (name) => {
          if (seen.names.has(name)) return true
          seen.names.add(name)
          return checkExtra('unevaluatedProperties', check, { value, name, run, place, seen })
        })
      }
    },
  },
} as const satisfies Record<string, Keyword>

const anything: Check = () => true

interface Items {
  readonly from: number
  readonly to: number
  readonly seen: Evaluated | null
  checkAt(index: number): Check
}

function everyItem(value: readonly JsonValue[], run: Run, place: Place, { from, to, checkAt, seen }: Items): boolean {
  let isValid = true
  for (let at = from; at < to; at++) {
    if (checkAt(at)(value[at] as JsonValue, run, below(run, place, at), branchOf(seen))) continue
    isValid = false
    if (run.problems === null) return false
  }
  return isValid
}

function everyKey(value: JsonObject, run: Run, test: (name: string) => boolean): boolean {
  let isValid = true
  for (const name of Object.keys(value)) {
    if (test(name)) continue
    isValid = false
    if (run.problems === null) return false
  }
  return isValid
}

interface Extra {
  readonly value: JsonObject
  readonly name: string
  readonly run: Run
  readonly place: Place
  readonly seen: Evaluated | null
}

/** A property that no other keyword names; without a check it must not be there. */
function checkExtra(keyword: string, check: Check | null, { value, name, run, place, seen }: Extra): boolean {
  const found = value[name] as JsonValue
  if (check !== null) return check(found, run, below(run, place, name), branchOf(seen))
  const what = keyword === 'additionalProperties' ? 'additional' : 'unevaluated'
  const message = () => `must NOT have ${what} properties: ${JSON.stringify(cutText(name, 64))}`
  return fail(run, place, () => ({ keyword, expected: 'no such property', found, message: message() }), name)
}

/** Whether `properties` or `patternProperties` of a schema name a property. */
function namedBy({ schema: { properties, patternProperties }, compilePattern }: SchemaNode): (name: string) => boolean {
  const names = new Set(properties === undefined ? [] : Object.keys(properties as JsonObject))
  const patterns = patternProperties === undefined ? [] : Object.keys(patternProperties as JsonObject)
  const matchers = patterns.map(compilePattern)
  return (name) => names.has(name) || matchers.some((matches) => matches(name))
}

function checkDependents(entries: readonly (readonly [string, JsonValue])[], compile: SchemaNode['compile']): Check {
  const checks = entries.map(([name, schema]) => ({ name, check: compile(schema) }))
  return (value, run, place, seen) => {
    if (!isObject(value)) return true
    let isValid = true
    for (const { name, check } of checks) {
      if (!Object.hasOwn(value, name)) continue
      const branch = branchOf(seen)
      if (check(value, run, place, branch)) merge(seen, branch)
      else isValid = false
      if (!isValid && run.problems === null) return false
    }
    return isValid
  }
}

function checkContains(operand: JsonValue, { schema, compile }: SchemaNode): Check {
  const check = compile(operand)
  const least = (schema.minContains as number | undefined) ?? 1
  const most = (schema.maxContains as number | undefined) ?? Number.POSITIVE_INFINITY
  const atLeast = `must contain at least ${least}`
  const message =
    most === Number.POSITIVE_INFINITY ? `${atLeast} valid item(s)` : `${atLeast} and no more than ${most} valid item(s)`
  return (value, run, place, seen) => {
    if (!Array.isArray(value)) return true
    const quiet = quietly(run)
    let count = 0
    for (const [at, item] of value.entries()) {
      if (!check(item, quiet, null, seen === null ? null : nothingEvaluated())) continue
      count++
      seen?.others.add(at)
      // Who asks what was evaluated must know all of them.
      if (seen === null && (count > most || (count >= least && most === Number.POSITIVE_INFINITY))) break
    }
    if (count >= least && count <= most) return true
    return fail(run, place, () => ({ keyword: 'contains', expected: operand, found: value, message }))
  }
}
