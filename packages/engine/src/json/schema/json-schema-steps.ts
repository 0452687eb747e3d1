import { _, type Ajv2020, type Code, type KeywordCxt, Name } from 'ajv/dist/2020.js'
import { spendOnJudging } from '../../text/judging-budget.js'
import { precede } from './json-schema-keywords.js'

/** Counts the steps of one schema. */
export interface SchemaSteps {
  /** Before a validation. */
  begin(): void
  /** After one that found so many errors. */
  end(errors: number): void
}

/**
 * Makes the generated code count what it does. Before each keyword it takes steps for what the keyword may look at
 * directly: the branches it tries, the properties it names, the items or keys it loops over. What is below them counts
 * for itself. So no schema can cost more than was counted, however its keywords multiply one another.
 */
export function countSteps(ajv: Ajv2020): SchemaSteps {
  let known = 0
  const take = (steps: number, errors: number) => {
    // Errors are objects with the path as text, and are made even in branches that may fail.
    if (errors > known) spendOnJudging(steps + (errors - known) * STEPS_OF_ERROR)
    else spendOnJudging(steps)
    known = errors
  }
  for (const [keyword, stepsOf] of Object.entries(STEPS)) {
    precede(ajv, keyword, (cxt) => {
      const counter = cxt.gen.scopeValue('func', { ref: take })
      cxt.gen.code(_`${counter}(${stepsOf(cxt)}, ${ERRORS})`)
    })
  }
  return {
    begin() {
      known = 0
    },
    end(errors) {
      take(0, errors)
    },
  }
}

const STEPS_OF_ERROR = 5
/** A branch can fail and leave an error. */
const STEPS_OF_BRANCH = 8

/** Ajv's name for the number of errors so far. */
const ERRORS = new Name('errors')

type StepsOf = (cxt: KeywordCxt) => Code | number

const sizeOf = (schema: unknown): number =>
  typeof schema === 'object' && schema !== null ? Object.keys(schema).length : 1

const named: StepsOf = ({ schema }) => 1 + sizeOf(schema)
const branches: StepsOf = ({ schema }) => 1 + (Array.isArray(schema) ? schema.length : 1) * STEPS_OF_BRANCH
const items: StepsOf = ({ data }) => _`1 + ${data}.length * 2`
const triedItems: StepsOf = ({ data }) => _`1 + ${data}.length * ${STEPS_OF_BRANCH}`
const characters: StepsOf = ({ data }) => _`1 + (${data}.length >> 3)`
const one: StepsOf = () => 1

const keys: StepsOf = ({ gen, data }) => _`1 + ${gen.scopeValue('func', { ref: countKeys })}(${data}) * 4`

/** Each key is tried against each pattern; the patterns count their own steps. */
const keysTimesPatterns: StepsOf = ({ gen, data, schema }) =>
  _`1 + ${gen.scopeValue('func', { ref: countKeys })}(${data}) * ${sizeOf(schema)}`

function countKeys(object: object): number {
  let count = 0
  for (const key in object) if (Object.hasOwn(object, key)) count++
  return count
}

const STEPS: Readonly<Record<string, StepsOf>> = {
  $ref: () => 3,
  allOf: named,
  anyOf: branches,
  oneOf: branches,
  not: branches,
  if: branches,
  items,
  prefixItems: named,
  contains: triedItems,
  properties: named,
  required: named,
  dependentRequired: named,
  dependentSchemas: named,
  additionalProperties: keys,
  propertyNames: keys,
  patternProperties: keysTimesPatterns,
  unevaluatedProperties: keys,
  minProperties: keys,
  maxProperties: keys,
  minLength: characters,
  maxLength: characters,
  pattern: one,
  minItems: one,
  maxItems: one,
  minimum: one,
  maximum: one,
  exclusiveMinimum: one,
  exclusiveMaximum: one,
}
