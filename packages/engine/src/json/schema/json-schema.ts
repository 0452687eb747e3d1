import type { JsonValue } from '@countersign/protocol'
import { addWeight, spendOnCompiling } from '../../text/compile-budget.js'
import { withinSomeBudget } from '../../text/judging-budget.js'
import { runToEnd, type Steps } from '../../text/steps.js'
import { checkStrictValueInSteps } from '../strict-json.js'
import { canonicalJsonInSteps } from '../write-in-steps.js'
import { compileDocument } from './compile-document.js'
import { readDocument } from './schema-document.js'
import { type Check, type Noted, nothingEvaluated, type SchemaProblem, written } from './schema-run.js'

export type { SchemaProblem } from './schema-run.js'

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
 * JSON Schema 2020-12 for untrusted schemas: nothing is fetched, patterns are RE2, every step is counted, and nothing is
 * generated or evaluated as code (docs/decisions/0086-own-json-schema.md).
 */
export const compileSchema = (schema: JsonValue): SchemaCompilation => runToEnd(compileSchemaInSteps(schema))

/** The same in steps, for a process that serves other requests meanwhile. */
export function* compileSchemaInSteps(schema: JsonValue): Steps<SchemaCompilation> {
  // First of all: there may be very many schemas that are refused for their cost.
  const overspent = spendOnCompiling(COST_OF_SCHEMA)
  if (overspent !== null) return { ok: false, problem: overspent }
  const problem = yield* formProblem(schema)
  if (problem !== null) return { ok: false, problem }
  const text = yield* canonicalJsonInSteps(schema)
  if (text.length > MAX_SCHEMA_LENGTH) {
    return { ok: false, problem: `the JSON Schema is longer than ${MAX_SCHEMA_LENGTH} characters` }
  }
  const tooLong = spendOnCompiling(text.length * COST_OF_CHARACTER)
  if (tooLong !== null) return { ok: false, problem: tooLong }
  addWeight(WEIGHT_OF_SCHEMA + text.length * WEIGHT_OF_CHARACTER)
  try {
    return compiledSchema(yield* compileDocument(readDocument(schema)), text.includes('"unevaluated'))
  } catch (error) {
    return { ok: false, problem: `the JSON Schema is invalid: ${error instanceof Error ? error.message : error}` }
  }
}

function compiledSchema(check: Check, asksWhatWasEvaluated: boolean): CompiledSchema {
  const run = (value: JsonValue, problems: Noted[] | null): boolean =>
    withinSomeBudget(() => check(value, { problems, depth: 0 }, null, asksWhatWasEvaluated ? nothingEvaluated() : null))
  const test = (value: JsonValue): boolean => run(value, null)
  return {
    ok: true,
    test,
    validate(value) {
      // Most values are valid, and finding that out needs no places.
      if (test(value)) return NONE
      const problems: Noted[] = []
      run(value, problems)
      return problems.map(written)
    },
  }
}

const NONE: SchemaProblem[] = []
const MAX_SCHEMA_LENGTH = 131_072

/** As measured, in microseconds. */
const COST_OF_SCHEMA = 50
const COST_OF_CHARACTER = 0.5
/** As measured, in bytes. */
const WEIGHT_OF_SCHEMA = 4_096
const WEIGHT_OF_CHARACTER = 40
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

function* formProblem(schema: JsonValue): Steps<string | null> {
  if (typeof schema === 'boolean') return null
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    return 'a JSON Schema is an object, true or false'
  }
  const strictProblem = yield* checkStrictValueInSteps(schema)
  if (strictProblem !== null) return `the JSON Schema is not plain JSON: ${strictProblem}`
  if (schema.$schema !== undefined && schema.$schema !== DIALECT && schema.$schema !== `${DIALECT}#`) {
    return `$schema must be ${DIALECT}, or left out`
  }
  return null
}
