import type { JsonValue } from '@countersign/protocol'
import { _, type Ajv2020, type FuncKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js'
import { spendOnJudging } from '../../text/judging-budget.js'
import { isMultipleOf } from '../decimal.js'
import { equalValues } from '../equal-values.js'
import { countedJson, valueSet } from '../value-set.js'
import { FORMATS } from './formats.js'

/** Replaces keywords of Ajv that are inexact, quadratic or cannot be counted. */
export function replaceKeywords(ajv: Ajv2020): Ajv2020 {
  for (const { keyword } of REPLACED) ajv.removeKeyword(keyword)
  for (const definition of REPLACED) ajv.addKeyword(definition)
  // Ajv follows $anchor without knowing it.
  ajv.addKeyword('$anchor')
  // Ajv gives these another meaning than the standard, so a schema that uses them is refused.
  return ajv.removeKeyword('$dynamicRef').removeKeyword('$dynamicAnchor').removeKeyword('unevaluatedItems')
}

/** With `unevaluatedProperties`, Ajv forgets what an `if` without `then` has evaluated. */
export function refuseLoneIf(ajv: Ajv2020): void {
  precede(ajv, 'if', ({ parentSchema }) => {
    if (parentSchema.then === undefined) throw new Error('"if" needs "then" here: write "then": true')
  })
}

/** Runs something before a keyword's own code is generated. Each Ajv has its own copy of the definition. */
export function precede(ajv: Ajv2020, keyword: string, before: (cxt: KeywordCxt) => void): void {
  const definition = ajv.getKeyword(keyword)
  if (typeof definition !== 'object' || !('code' in definition)) throw new Error(`Ajv has no keyword ${keyword}`)
  const generate = definition.code
  definition.code = (cxt, ruleType) => {
    before(cxt)
    generate(cxt, ruleType)
  }
}

const REPLACED: readonly (FuncKeywordDefinition & { keyword: string })[] = [
  {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (wanted: boolean) => (wanted ? hasUniqueItems : () => true),
    error: { message: 'must not have duplicate items' },
  },
  {
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    compile: (divisor: number) => (value: number) => isMultiple(value, divisor),
    error: { message: ({ schemaCode }) => _`"must be a multiple of " + ${schemaCode}` },
  },
  {
    // Unknown formats are annotations, as the standard says.
    keyword: 'format',
    type: 'string',
    schemaType: 'string',
    compile: (name: string) => countedFormat(FORMATS.get(name) ?? (() => true)),
    error: { message: ({ schemaCode }) => _`"must be a valid " + ${schemaCode}` },
  },
  {
    keyword: 'const',
    compile: (wanted: JsonValue) => (value: JsonValue) => isEqual(value, wanted),
    error: { message: 'must be equal to constant' },
  },
  {
    keyword: 'enum',
    schemaType: 'array',
    compile: (values: JsonValue[]) => isOneOf(values),
    error: { message: 'must be equal to one of the allowed values' },
  },
]

const STEPS_OF_DECIMAL = 30

function hasUniqueItems(items: JsonValue[]): boolean {
  const seen = new Set<string>()
  for (const item of items) seen.add(countedJson(item))
  return seen.size === items.length
}

function isMultiple(value: number, divisor: number): boolean {
  spendOnJudging(Number.isSafeInteger(value) && Number.isSafeInteger(divisor) ? 1 : STEPS_OF_DECIMAL)
  return isMultipleOf(value, divisor)
}

function countedFormat(test: (text: string) => boolean): (text: string) => boolean {
  return (text) => {
    spendOnJudging(2 + (text.length >> 3))
    return test(text)
  }
}

function isEqual(value: JsonValue, wanted: JsonValue): boolean {
  spendOnJudging(1)
  return equalValues(value, wanted)
}

function isOneOf(values: readonly JsonValue[]): (value: JsonValue) => boolean {
  if (values.length === 0) throw new Error('enum must have non-empty array')
  const allowed = valueSet(values)
  return (value) => {
    spendOnJudging(1)
    return allowed.has(value)
  }
}
