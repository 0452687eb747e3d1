import type { JsonValue } from '@countersign/protocol'
import { _, type Ajv2020, type KeywordCxt } from 'ajv/dist/2020.js'
import { canonicalJson } from './canonical-json.js'
import { isMultipleOf } from './decimal.js'
import { FORMATS } from './formats.js'

export interface StepBudget {
  reset(): void
  /** Throws if one validation followed too many references. */
  step(): void
}

/**
 * References are the only way for a schema to cost more than its own size times the value's: definitions that use
 * one another twice double the work at each level.
 */
export function createStepBudget(): StepBudget {
  let steps = 0
  return {
    reset() {
      steps = 0
    },
    step() {
      if (++steps > MAX_REFERENCES) throw new Error(`the schema follows more than ${MAX_REFERENCES} references`)
    },
  }
}

const MAX_REFERENCES = 100_000

/** Replaces keywords of Ajv that are inexact, quadratic or unbounded. */
export function replaceKeywords(ajv: Ajv2020, budget: StepBudget): Ajv2020 {
  ajv.removeKeyword('uniqueItems').removeKeyword('multipleOf').removeKeyword('format')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (wanted: boolean) => (wanted ? hasUniqueItems : () => true),
    error: { message: 'must not have duplicate items' },
  })
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    compile: (divisor: number) => (value: number) => isMultipleOf(value, divisor),
    error: { message: ({ schemaCode }) => _`"must be a multiple of " + ${schemaCode}` },
  })
  // Unknown formats are annotations, as the standard says.
  ajv.addKeyword({
    keyword: 'format',
    type: 'string',
    schemaType: 'string',
    compile: (name: string) => FORMATS.get(name) ?? (() => true),
    error: { message: ({ schemaCode }) => _`"must be a valid " + ${schemaCode}` },
  })
  // Ajv follows $anchor without knowing it.
  ajv.addKeyword('$anchor')
  // Ajv gives these another meaning than the standard, so a schema that uses them is refused.
  ajv.removeKeyword('$dynamicRef').removeKeyword('$dynamicAnchor').removeKeyword('unevaluatedItems')
  precede(ajv, '$ref', ({ gen }) => {
    gen.code(_`${gen.scopeValue('func', { ref: budget.step })}()`)
  })
  return ajv
}

/** With `unevaluatedProperties`, Ajv forgets what an `if` without `then` has evaluated. */
export function refuseLoneIf(ajv: Ajv2020): void {
  precede(ajv, 'if', ({ parentSchema }) => {
    if (parentSchema.then === undefined) throw new Error('"if" needs "then" here: write "then": true')
  })
}

/** Runs something before a keyword's own code. The definition itself is shared by every Ajv of the process. */
function precede(ajv: Ajv2020, keyword: string, before: (cxt: KeywordCxt) => void): void {
  const original = ajv.getKeyword(keyword)
  if (typeof original !== 'object' || !('code' in original)) throw new Error(`Ajv has no keyword ${keyword}`)
  ajv.removeKeyword(keyword).addKeyword({
    ...original,
    code(cxt: KeywordCxt) {
      before(cxt)
      original.code(cxt)
    },
  })
}

function hasUniqueItems(items: JsonValue[]): boolean {
  const seen = new Set<string>()
  for (const item of items) seen.add(canonicalJson(item))
  return seen.size === items.length
}
