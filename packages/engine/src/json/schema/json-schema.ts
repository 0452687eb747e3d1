import type { JsonValue } from '@countersign/protocol'
import { canonicalJson } from '../canonical-json.js'
import { checkStrictValue } from '../strict-json.js'
import { compileDocument, MOST_REFERENCES } from './compile-document.js'
import { readDocument } from './schema-document.js'
import { type Check, type Noted, nothingEvaluated, type SchemaProblem, written } from './schema-run.js'

export type { SchemaProblem } from './schema-run.js'

/** A JSON Schema that values can be validated against. */
export interface CompiledSchema {
  readonly ok: true
  test(value: JsonValue): boolean
  /** Empty when the value is valid; at most 32. */
  validate(value: JsonValue): SchemaProblem[]
}

/** A compiled schema, or why it was refused. */
export type SchemaCompilation = CompiledSchema | { readonly ok: false; readonly problem: string }

/**
 * JSON Schema 2020-12 for untrusted schemas: nothing is fetched, patterns are RE2, and nothing is generated or
 * evaluated as code (docs/decisions/0025-own-json-code.md).
 */
export function compileSchema(schema: JsonValue): SchemaCompilation {
  const problem = formProblem(schema)
  if (problem !== null) return { ok: false, problem }
  const text = canonicalJson(schema)
  if (text.length > MAX_SCHEMA_LENGTH) {
    return { ok: false, problem: `the JSON Schema is longer than ${MAX_SCHEMA_LENGTH} characters` }
  }
  try {
    return compiledSchema(compileDocument(readDocument(schema)), text.includes('"unevaluated'))
  } catch (error) {
    return { ok: false, problem: `the JSON Schema is invalid: ${error instanceof Error ? error.message : error}` }
  }
}

function compiledSchema(check: Check, asksWhatWasEvaluated: boolean): CompiledSchema {
  const run = (value: JsonValue, problems: Noted[] | null): boolean => {
    const followed = { count: 0 }
    const isValid = check(
      value,
      { problems, depth: 0, followed },
      null,
      asksWhatWasEvaluated ? nothingEvaluated() : null,
    )
    if (followed.count <= MOST_REFERENCES) return isValid
    // Nothing that was found is sure, not even what was found to be invalid: it may stand below a "not".
    if (problems !== null) problems.splice(0, problems.length, { place: null, finding: () => tooManyReferences(value) })
    return false
  }
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

const tooManyReferences = (found: JsonValue) => ({
  keyword: '$ref',
  expected: `at most ${MOST_REFERENCES} references to follow`,
  found,
  message: 'the schema refers to itself too often for this value',
})

const NONE: SchemaProblem[] = []
const MAX_SCHEMA_LENGTH = 131_072
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

function formProblem(schema: JsonValue): string | null {
  if (typeof schema === 'boolean') return null
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    return 'a JSON Schema is an object, true or false'
  }
  const strictProblem = checkStrictValue(schema)
  if (strictProblem !== null) return `the JSON Schema is not plain JSON: ${strictProblem}`
  if (schema.$schema !== undefined && schema.$schema !== DIALECT && schema.$schema !== `${DIALECT}#`) {
    return `$schema must be ${DIALECT}, or left out`
  }
  return null
}
