import { type JsonValue, LIMITS } from '@countersign/protocol'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { addWeight, spendOnCompiling } from '../../text/compile-budget.js'
import { cutText } from '../../text/cut-text.js'
import { TooCostlyError, withinSomeBudget } from '../../text/judging-budget.js'
import { compileRegex } from '../../text/regex.js'
import { canonicalJson } from '../canonical-json.js'
import { locationPath, type PathStep } from '../json-path.js'
import { checkStrictValue } from '../strict-json.js'
import { refuseLoneIf, replaceKeywords } from './json-schema-keywords.js'
import { countSteps } from './json-schema-steps.js'
import { schemaPartsProblem } from './schema-parts.js'

/** Why a value is not valid against a schema. */
export interface SchemaProblem {
  /** Where in the value, as a JSONPath. */
  readonly path: string
  readonly keyword: string
  readonly expected: JsonValue
  /** Null also if nothing was found. */
  readonly found: JsonValue
  readonly message: string
}

/** A JSON Schema that values can be validated against. Takes steps of the judging budget, and throws without them. */
export interface CompiledSchema {
  readonly ok: true
  test(value: JsonValue): boolean
  /** Empty when the value is valid; at most 32. */
  validate(value: JsonValue): SchemaProblem[]
}

/** A compiled schema, or why it was refused. */
export type SchemaCompilation = CompiledSchema | { readonly ok: false; readonly problem: string }

/**
 * JSON Schema 2020-12 with Ajv, made safe for untrusted schemas: no remote references, RE2 patterns, and a budget so
 * that no schema can freeze the process. Each schema has its own Ajv, so none can refer to another and nothing outlives
 * the plan.
 */
export function compileSchema(schema: JsonValue): SchemaCompilation {
  // First of all: there may be very many schemas that are refused for their cost.
  const overspent = spendOnCompiling(COST_OF_SCHEMA)
  if (overspent !== null) return { ok: false, problem: overspent }
  const problem = schemaProblem(schema)
  if (problem !== null) return { ok: false, problem }
  const text = canonicalJson(schema)
  const tooLong = spendOnCompiling(text.length * COST_OF_CHARACTER)
  if (tooLong !== null) return { ok: false, problem: tooLong }
  addWeight(WEIGHT_OF_SCHEMA + text.length * WEIGHT_OF_CHARACTER)
  try {
    const ajv = replaceKeywords(new Ajv2020(text.length > OPTIMISED_LENGTH ? UNOPTIMISED : AJV_OPTIONS))
    const steps = countSteps(ajv)
    if (text.includes('"unevaluatedProperties"')) refuseLoneIf(ajv)
    const validator = ajv.compile(schema as object | boolean)
    if ('$async' in validator) return { ok: false, problem: 'the schema must not be $async' }
    const run = (value: JsonValue): ErrorObject[] | null =>
      withinSomeBudget(() => {
        steps.begin()
        const isValid = validator(value)
        const errors = isValid ? null : (validator.errors ?? [])
        // The validator outlives the call; what it found must not.
        validator.errors = null
        steps.end(errors?.length ?? 0)
        return errors
      })
    return {
      ok: true,
      test: (value) => guarded(run, value) === null,
      validate: (value) => problemsOf(run, value),
    }
  } catch (error) {
    return { ok: false, problem: `the JSON Schema cannot be compiled: ${reasonOf(error)}` }
  }
}

const MAX_SCHEMA_LENGTH = 131_072

/** As measured, in microseconds. */
const COST_OF_SCHEMA = 1_300
const COST_OF_CHARACTER = 10
/** As measured, in bytes. */
const WEIGHT_OF_SCHEMA = 8_192
const WEIGHT_OF_CHARACTER = 64
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

const AJV_OPTIONS = {
  strictSchema: true,
  strictNumbers: true,
  allowMatchingProperties: true,
  allErrors: true,
  verbose: true,
  // Without it every object satisfies `required: [toString]`.
  ownProperties: true,
  inlineRefs: 16,
  // `metaSchema` is compiled once and holds no data of any plan.
  meta: false,
  validateSchema: false,
  logger: false,
  code: { regExp: Object.assign(re2Engine, { code: 're2Engine' }) },
} as const

/** In a long schema Ajv's own optimising takes half of the time, in one piece, and gains little. */
const OPTIMISED_LENGTH = 4_096
const UNOPTIMISED = { ...AJV_OPTIONS, code: { ...AJV_OPTIONS.code, optimize: false } } as const

let metaSchema: Ajv2020 | undefined

function schemaProblem(schema: JsonValue): string | null {
  if (typeof schema === 'boolean') return null
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    return 'a JSON Schema is an object, true or false'
  }
  const strictProblem = checkStrictValue(schema)
  if (strictProblem !== null) return `the JSON Schema is not plain JSON: ${strictProblem}`
  if (canonicalJson(schema).length > MAX_SCHEMA_LENGTH) {
    return `the JSON Schema is longer than ${MAX_SCHEMA_LENGTH} characters`
  }
  const partsProblem = schemaPartsProblem(schema)
  if (partsProblem !== null) return partsProblem
  if (schema.$schema !== undefined && schema.$schema !== DIALECT && schema.$schema !== `${DIALECT}#`) {
    return `$schema must be ${DIALECT}, or left out`
  }
  metaSchema ??= new Ajv2020({ logger: false })
  if (metaSchema.validate(DIALECT, schema)) return null
  return `the JSON Schema is invalid: ${metaSchema.errorsText(metaSchema.errors, { dataVar: 'schema' })}`
}

/** A schema that refers to itself without end fails like any other: the value did not pass. */
function guarded(run: (value: JsonValue) => ErrorObject[] | null, value: JsonValue): ErrorObject[] | string | null {
  try {
    return run(value)
  } catch (error) {
    if (error instanceof TooCostlyError) throw error
    return reasonOf(error)
  }
}

function problemsOf(run: (value: JsonValue) => ErrorObject[] | null, value: JsonValue): SchemaProblem[] {
  const errors = guarded(run, value)
  if (errors === null) return []
  if (typeof errors === 'string') {
    const message = `the value could not be validated: ${errors}`
    return [{ path: '$', keyword: 'schema', expected: null, found: null, message }]
  }
  return errors.slice(0, LIMITS.failuresPerRule).map((error) => toProblem(error, value))
}

function toProblem(error: ErrorObject, root: JsonValue): SchemaProblem {
  const location = locate(root, error.instancePath)
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params as Record<
    string,
    string | undefined
  >
  const message = error.message ?? `fails ${error.keyword}`
  if (missingProperty !== undefined) {
    const path = locationPath([...location, missingProperty])
    return { path, keyword: error.keyword, expected: 'a value', found: null, message }
  }
  const extra = additionalProperty ?? unevaluatedProperty
  if (extra !== undefined) {
    const found = (error.data as Record<string, JsonValue>)[extra] ?? null
    const path = locationPath([...location, extra])
    return {
      path,
      keyword: error.keyword,
      expected: 'no such property',
      found,
      message: `${message}: ${JSON.stringify(cutText(extra, 64))}`,
    }
  }
  const expected = (error.schema ?? null) as JsonValue
  return {
    path: locationPath(location),
    keyword: error.keyword,
    expected,
    found: (error.data ?? null) as JsonValue,
    message,
  }
}

/** Turns Ajv's JSON Pointer into a location; whether a digit is an index or a name depends on the value. */
function locate(root: JsonValue, pointer: string): PathStep[] {
  const location: PathStep[] = []
  let value: JsonValue | undefined = root
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) {
      location.push(Number(name))
      value = value[Number(name)]
    } else {
      location.push(name)
      value = typeof value === 'object' && value !== null ? value[name] : undefined
    }
  }
  return location
}

function re2Engine(pattern: string): { test(text: string): boolean } {
  const regex = compileRegex(pattern)
  if (!regex.ok) throw new Error(regex.problem)
  // Ajv identifies patterns by their text.
  return { test: regex.test, toString: () => pattern } as { test(text: string): boolean }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
