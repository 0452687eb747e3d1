import { z } from 'zod'
import { labelSchema } from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'

/** A JSON path as contracts write it. */
export const pathSchema = z.string().min(1).max(1_024)
/** A name given in a contract: of a binding, an envelope, a phase, a role. */
export const nameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, 'expected a name: a letter or _, then letters, digits, _ . -')

export const VALUE_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const
export const valueTypeSchema = z.enum(VALUE_TYPES)

/** A JSON Schema, as contracts take it. */
export const schemaDocumentSchema = z.union([z.boolean(), jsonObjectSchema])

/** The comparisons a contract can make, each with the operand it takes. */
export const OPERATOR_OPERANDS = {
  exists: z.boolean(),
  type: valueTypeSchema,
  equals: jsonSchema,
  not_equals: jsonSchema,
  one_of: z.array(jsonSchema).min(1),
  not_one_of: z.array(jsonSchema).min(1),
  gt: z.number(),
  gte: z.number(),
  lt: z.number(),
  lte: z.number(),
  regex: z.string(),
  not_regex: z.string(),
  contains: jsonSchema,
  starts_with: z.string(),
  ends_with: z.string(),
  length_gte: z.int().min(0),
  length_lte: z.int().min(0),
  schema: schemaDocumentSchema,
  ref: nameSchema,
} as const
export type Operator = keyof typeof OPERATOR_OPERANDS
export const OPERATORS = Object.keys(OPERATOR_OPERANDS) as [Operator, ...Operator[]]

/** `{ path, <operator>: operand, … }`: every operator named must hold for the value at the path. */
export const invariantSchema = z
  .strictObject({
    path: pathSchema,
    message: z.string().max(500).optional(),
    ...z.object(OPERATOR_OPERANDS).partial().shape,
  })
  .refine((item) => OPERATORS.some((operator) => item[operator] !== undefined), {
    error: `needs at least one operator: ${OPERATORS.join(', ')}`,
  })
export type Invariant = z.infer<typeof invariantSchema>

/** What a condition can be about. */
export const CONDITION_SUBJECTS = ['path', 'label', 'bound', 'principal'] as const

/**
 * One condition of a rule: an argument at `path`, a label of the session, the value bound under a name, or the principal.
 * Which operators go with which subject the compiler says.
 */
export const conditionSchema = z
  .strictObject({
    path: pathSchema.optional(),
    label: labelSchema.optional(),
    bound: nameSchema.optional(),
    principal: pathSchema.optional(),
    key: pathSchema.optional(),
    message: z.string().max(500).optional(),
    ...z.object(OPERATOR_OPERANDS).partial().shape,
  })
  .superRefine((condition, context) => {
    const subjects = CONDITION_SUBJECTS.filter((subject) => condition[subject] !== undefined)
    const problem = (message: string) => context.addIssue({ code: 'custom', message })
    if (subjects.length !== 1) problem(`needs one subject: ${CONDITION_SUBJECTS.join(', ')}`)
    else if (condition.label === undefined && !OPERATORS.some((operator) => condition[operator] !== undefined)) {
      problem(`needs at least one operator: ${OPERATORS.filter((operator) => operator !== 'ref').join(', ')}`)
    }
  })
export type Condition = z.infer<typeof conditionSchema>
export const whenSchema = z.array(conditionSchema).max(LIMITS.conditionsPerRule)

/** When a rule applies, and what the model reads in place of our advice. */
export const CONDITIONAL = {
  when: whenSchema.optional(),
  message: z.string().min(1).max(500).optional(),
} as const

/** An invariant that may have conditions. */
export const argumentRuleSchema = z
  .strictObject({ ...invariantSchema.shape, when: whenSchema.optional() })
  .refine((item) => OPERATORS.some((operator) => item[operator] !== undefined), {
    error: `needs at least one operator: ${OPERATORS.join(', ')}`,
  })
export type ArgumentRule = z.infer<typeof argumentRuleSchema>
