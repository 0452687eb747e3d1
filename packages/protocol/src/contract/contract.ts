import { z } from 'zod'
import { resultPlaceSchema, valueKindSchema } from '../base/flow.js'
import { hashSchema, labelSchema, toolNameSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'

const path = z.string().min(1).max(1_024)
const name = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, 'expected a name: a letter or _, then letters, digits, _ . -')

export const VALUE_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const

/** The comparisons a contract can make, each with the operand it takes. */
export const OPERATOR_OPERANDS = {
  exists: z.boolean(),
  type: z.enum(VALUE_TYPES),
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
  schema: z.union([z.boolean(), z.record(z.string(), jsonSchema)]),
  ref: name,
} as const
export type Operator = keyof typeof OPERATOR_OPERANDS
export const OPERATORS = Object.keys(OPERATOR_OPERANDS) as [Operator, ...Operator[]]

/** `{ path, <operator>: operand, … }`: every operator named must hold for the value at the path. */
export const invariantSchema = z
  .strictObject({ path, message: z.string().max(500).optional(), ...z.object(OPERATOR_OPERANDS).partial().shape })
  .refine((item) => OPERATORS.some((operator) => item[operator] !== undefined), {
    error: `needs at least one operator: ${OPERATORS.join(', ')}`,
  })
export type Invariant = z.infer<typeof invariantSchema>

export const SIDE_EFFECTS = ['read', 'egress_read', 'write', 'destructive', 'admin', 'financial'] as const
export const sideEffectSchema = z.enum(SIDE_EFFECTS)
export type SideEffect = z.infer<typeof sideEffectSchema>

export const EVIDENCE_LEVELS = ['reported', 'executed'] as const
export const evidenceLevelSchema = z.enum(EVIDENCE_LEVELS)
export type EvidenceLevel = z.infer<typeof evidenceLevelSchema>

const preconditionSchema = z.union([
  z.strictObject({
    requires_prior_tool: toolNameSchema,
    with_output: z.array(invariantSchema).optional(),
    /** This call's argument at `path` equals the prior call's argument at `as`. */
    same: z.array(z.strictObject({ path, as: path })).optional(),
  }),
  z.strictObject({ requires_step_count: z.strictObject({ gte: z.int().min(1) }) }),
])
export type Precondition = z.infer<typeof preconditionSchema>

const origin = z.enum(['output', 'argument'])
const bindSchema = z.strictObject({ name, from: origin.default('output'), path })
const refSchema = z.strictObject({ path, ref: name })

/**
 * Where a value may come from: the user's words; an argument of an earlier allowed call that was itself judged; a whole
 * cell of an identifier column (`columns`); the values listed in `known`; nowhere (`generated`, for every or for the
 * listed kinds of value); or one place of one tool's results, by its generalised path. `as: line` takes lines and list
 * items of free text, `as: prose` any place in it.
 */
export const sourceOriginSchema = z.union([
  z.enum(['user', 'argument', 'identifier', 'known', 'generated']),
  z.strictObject({ generated: z.array(valueKindSchema).min(1) }),
  z.strictObject({ result: toolNameSchema, path, as: resultPlaceSchema.optional() }),
])
export type SourceOrigin = z.infer<typeof sourceOriginSchema>

const sourceSchema = z.strictObject({
  /** Generalised: `$.to[*]` is every element. */
  path,
  /** A reference is judged whole; of content only the addresses and identifiers inside. Absent: by the value's shape. */
  role: z.enum(['reference', 'content']).optional(),
  /** Numbers here name something, as a ticket's id does, and are judged like text. Absent: they are amounts. */
  numbers: z.literal(true).optional(),
  from: z.array(sourceOriginSchema).min(1).max(256),
  /** Values as salted hashes: a plan holds no content. */
  known: z.strictObject({ salt: z.string().min(1).max(128), hashes: z.array(hashSchema).max(1_024) }).optional(),
  otherwise: z.enum(['block', 'ask']).default('block'),
})
export type SourceRule = z.infer<typeof sourceSchema>

/** What a column of this tool's results holds; one that ever held prose vouches for nothing. */
const resultColumnSchema = z.strictObject({
  path,
  place: z.enum(['cell', 'key']).default('cell'),
  holds: z.array(valueKindSchema),
})
export type ResultColumn = z.infer<typeof resultColumnSchema>

const aggregateSchema = z
  .strictObject({
    name,
    path: path.optional(),
    function: z.enum(['sum', 'count', 'max']),
    lte: z.number().optional(),
    lt: z.number().optional(),
  })
  .refine((item) => item.lte !== undefined || item.lt !== undefined, { error: 'needs a bound: lte or lt' })
  .refine((item) => item.function === 'count' || item.path !== undefined, { error: 'sum and max need a path' })

const envelopeSchema = z.strictObject({
  name,
  path,
  direction: z.enum(['at_most', 'at_least', 'within']),
  tolerance_percent: z.number().min(0).max(100).default(0),
})

export const checkpointSchema = z.strictObject({
  when: z.array(invariantSchema).default([]),
  reason: z.string().min(1).max(500),
  timeout_seconds: z.number().positive().default(LIMITS.checkpointTimeoutDefaultSeconds),
  on_timeout: z.enum(['deny', 'allow']).default('deny'),
  context: z.array(z.strictObject({ label: z.string().min(1).max(128), path })).default([]),
})
export type Checkpoint = z.infer<typeof checkpointSchema>

const policySchema = z.strictObject({ cedar: z.string().min(1) })
export const FINISH_REASONS = ['stop', 'tool_calls', 'length', 'content_filter'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** One tool's contract as it is written. */
export const contractSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  tool: toolNameSchema,
  description: z.string().optional(),
  source: z.enum(['inferred', 'customer']).optional(),
  side_effect: sideEffectSchema.optional(),
  evidence_class: z.enum(['local_transaction', 'ack_only', 'unverifiable']).optional(),
  commit_requirement: z.enum(['reported', 'executed', 'none', 'acknowledged']).optional(),
  gate: z.enum(['allow', 'block']).optional(),
  arguments: z.union([z.boolean(), z.record(z.string(), jsonSchema)]).optional(),
  assertions: z
    .strictObject({
      input_invariants: z.array(invariantSchema).optional(),
      output_invariants: z.array(invariantSchema).optional(),
    })
    .optional(),
  argument_value_invariants: z.array(invariantSchema).optional(),
  response_format_invariants: z
    .strictObject({
      finish_reason: z.union([z.enum(FINISH_REASONS), z.array(z.enum(FINISH_REASONS)).min(1)]).optional(),
      content: z.enum(['empty', 'present', 'any']).optional(),
    })
    .optional(),
  transitions: z
    .strictObject({ valid_in_phases: z.array(name).min(1).optional(), advances_to: name.optional() })
    .optional(),
  preconditions: z.array(preconditionSchema).optional(),
  forbids_after: z.array(toolNameSchema).optional(),
  binds: z.array(bindSchema).optional(),
  refs: z.array(refSchema).optional(),
  sources: z.array(sourceSchema).optional(),
  columns: z.array(resultColumnSchema).max(512).optional(),
  aggregates: z.array(aggregateSchema).optional(),
  envelopes: z.array(envelopeSchema).optional(),
  establishes: z.array(bindSchema).optional(),
  labels: z
    .strictObject({ deny_when: z.array(labelSchema).optional(), adds: z.array(labelSchema).optional() })
    .optional(),
  resources: z
    .array(
      z.strictObject({ key: z.string().min(1).max(512), mode: z.enum(['exclusive', 'shared']).default('exclusive') }),
    )
    .optional(),
  execution_constraints: z.strictObject({ arguments: z.array(invariantSchema).min(1) }).optional(),
  checkpoint: z.union([checkpointSchema, z.array(checkpointSchema).min(1)]).optional(),
  policy: policySchema.optional(),
  timeouts: z
    .strictObject({
      total_ms: z
        .int()
        .positive()
        .max(24 * 3_600_000),
    })
    .optional(),
  /** Known, kept, not enforced: compilation warns. */
  retries: jsonSchema.optional(),
  rate_limits: jsonSchema.optional(),
  golden_cases: jsonSchema.optional(),
  allowed_errors: jsonSchema.optional(),
})
export type Contract = z.input<typeof contractSchema>
export const UNENFORCED_KEYS = ['retries', 'rate_limits', 'golden_cases', 'allowed_errors'] as const

const riskSchema = z.enum(['allow', 'block', 'checkpoint'])
const pricePattern = z.strictObject({ input: z.number().min(0), output: z.number().min(0) })

export const providerConstraintsSchema = z.strictObject({
  block_incompatible: z.array(z.string().min(1)).optional(),
  warn_incompatible: z.array(z.string().min(1)).optional(),
})
export type ProviderConstraints = z.infer<typeof providerConstraintsSchema>

export const sessionLimitsSchema = z.strictObject({
  max_steps: z.int().positive().optional(),
  max_tool_calls: z.int().positive().optional(),
  max_cost_per_session: z.number().positive().optional(),
  max_calls_per_tool: z.record(z.string(), z.int().min(0)).optional(),
  max_calls_per_minute: z.int().positive().max(LIMITS.callsPerMinuteWindow).optional(),
  loop_detection: z
    .strictObject({ window: z.int().min(1).max(LIMITS.loopWindow), threshold: z.int().min(2) })
    .optional(),
  circuit_breaker: z
    .strictObject({
      consecutive_blocks: z.int().positive().optional(),
      consecutive_errors: z.int().positive().optional(),
    })
    .optional(),
})

/** session.yaml as it is written. */
export const sessionDefinitionSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  agent: z.string().min(1).max(LIMITS.idLength).optional(),
  description: z.string().optional(),
  phases: z
    .array(z.strictObject({ name, initial: z.boolean().optional(), terminal: z.boolean().optional() }))
    .min(1)
    .optional(),
  transitions: z.record(z.string(), z.array(name)).optional(),
  session_limits: sessionLimitsSchema.optional(),
  risk_defaults: z.partialRecord(sideEffectSchema, riskSchema).optional(),
  pricing: z.record(z.string().min(1), pricePattern).optional(),
  policy: policySchema.optional(),
  provider_constraints: providerConstraintsSchema.optional(),
})
export type SessionDefinition = z.input<typeof sessionDefinitionSchema>

/**
 * workflow.yaml: the roles of a workflow and the handoffs allowed between them. Sessions of a root role start without
 * an offer; where no role is marked as root, those are the roles that no handoff leads to.
 */
export const workflowDefinitionSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  name: name.optional(),
  roles: z.record(
    name,
    z.strictObject({
      agent: z.string().min(1).max(LIMITS.idLength).optional(),
      root: z.boolean().optional(),
      /** The most that sessions of this role may use; all that their contracts allow unless said. */
      tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).optional(),
      /** The session.yaml of this role, relative to workflow.yaml. */
      session: z.string().min(1).max(1_024).optional(),
    }),
  ),
  handoffs: z
    .array(
      z.strictObject({
        from: name,
        to: name,
        /** The most that this handoff may offer. */
        tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).optional(),
      }),
    )
    .default([]),
})
export type WorkflowDefinition = z.input<typeof workflowDefinitionSchema>
