import { z } from 'zod'
import { agentSchema, toolNameSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import { askSchema } from './ask.js'
import { argumentRuleSchema, CONDITIONAL, nameSchema, schemaDocumentSchema } from './condition.js'
import {
  aggregateSchema,
  allowOrBlockSchema,
  assertionsSchema,
  bindSchema,
  checkpointSchema,
  contractTransitionsSchema,
  envelopeSchema,
  evidenceClassSchema,
  executionConstraintsSchema,
  hoursSchema,
  labelRulesSchema,
  policySchema,
  preconditionSchema,
  principalRequirementSchema,
  refSchema,
  resourceSchema,
  responseFormatSchema,
  resultColumnSchema,
  sideEffectSchema,
  sourceRuleSchema,
  surpriseLevelSchema,
  surpriseSchema,
  timeoutsSchema,
} from './contract-rules.js'
import { listOf, tableOf } from './lists.js'
import { sharedLimitSchema } from './shared-limit.js'

/** One tool's contract as it is written. */
export const contractSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  tool: toolNameSchema,
  description: z.string().optional(),
  source: z.enum(['inferred', 'customer']).optional(),
  side_effect: sideEffectSchema.optional(),
  evidence_class: evidenceClassSchema.optional(),
  commit_requirement: z.enum(['reported', 'executed', 'none', 'acknowledged']).optional(),
  gate: allowOrBlockSchema.optional(),
  arguments: schemaDocumentSchema.optional(),
  assertions: assertionsSchema.optional(),
  argument_value_invariants: listOf(argumentRuleSchema).optional(),
  response_format_invariants: responseFormatSchema.optional(),
  transitions: contractTransitionsSchema.optional(),
  preconditions: listOf(preconditionSchema).optional(),
  forbids_after: listOf(toolNameSchema).optional(),
  binds: listOf(bindSchema).optional(),
  refs: listOf(refSchema).optional(),
  sources: listOf(sourceRuleSchema).optional(),
  columns: z.array(resultColumnSchema).max(512).optional(),
  surprise: surpriseSchema.optional(),
  aggregates: listOf(aggregateSchema).optional(),
  envelopes: listOf(envelopeSchema).optional(),
  establishes: listOf(bindSchema).optional(),
  labels: labelRulesSchema.optional(),
  resources: listOf(resourceSchema).optional(),
  execution_constraints: executionConstraintsSchema.optional(),
  checkpoint: z.union([checkpointSchema, listOf(checkpointSchema).min(1)]).optional(),
  policy: policySchema.optional(),
  principal: principalRequirementSchema.optional(),
  hours: z.union([hoursSchema, listOf(hoursSchema).min(1)]).optional(),
  timeouts: timeoutsSchema.optional(),
  message: CONDITIONAL.message,
})
export type Contract = z.input<typeof contractSchema>

/** Keys of other contract formats that nothing here would enforce: refused, with what to write instead. */
export const REFUSED_KEYS = {
  retries: 'remove it; `loop_detection` in session.yaml and `aggregates` bound repeated calls',
  rate_limits: 'use `max_calls_per_minute` in session.yaml, or `aggregates` with `function: count`',
  golden_cases: 'remove it, and write the calls as a story: a file such as refunds.test.yaml for `countersign test`',
  allowed_errors: 'remove it; `circuit_breaker` in session.yaml bounds failed calls in a row',
} as const satisfies Record<string, string>

export const riskSchema = z.enum(['allow', 'block', 'checkpoint'])
export const pricePatternSchema = z.strictObject({ input: z.number().min(0), output: z.number().min(0) })

export const providerConstraintsSchema = z.strictObject({
  block_incompatible: listOf(z.string().min(1)).optional(),
  warn_incompatible: listOf(z.string().min(1)).optional(),
})
export type ProviderConstraints = z.infer<typeof providerConstraintsSchema>

export const sessionLimitsSchema = z.strictObject({
  max_steps: z.int().positive().optional(),
  max_tool_calls: z.int().positive().optional(),
  max_cost_per_session: z.number().positive().optional(),
  max_calls_per_tool: tableOf(z.string(), z.int().min(0)).optional(),
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

export const phaseSchema = z.strictObject({
  name: nameSchema,
  initial: z.boolean().optional(),
  terminal: z.boolean().optional(),
})

/** session.yaml as it is written. */
export const sessionDefinitionSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  agent: agentSchema.optional(),
  description: z.string().optional(),
  phases: listOf(phaseSchema).min(1).optional(),
  transitions: tableOf(z.string(), listOf(nameSchema)).optional(),
  session_limits: sessionLimitsSchema.optional(),
  shared_limits: z.array(sharedLimitSchema).min(1).max(LIMITS.sharedLimitsPerPlan).optional(),
  risk_defaults: z.partialRecord(sideEffectSchema, riskSchema).optional(),
  pricing: tableOf(z.string().min(1), pricePatternSchema).optional(),
  policy: policySchema.optional(),
  principal: principalRequirementSchema.optional(),
  hours: z.union([hoursSchema, listOf(hoursSchema).min(1)]).optional(),
  provider_constraints: providerConstraintsSchema.optional(),
  surprise: surpriseLevelSchema.optional(),
  ask: askSchema.optional(),
})
export type SessionDefinition = z.input<typeof sessionDefinitionSchema>

export const workflowRoleSchema = z.strictObject({
  agent: agentSchema.optional(),
  root: z.boolean().optional(),
  /** The tools that sessions of this role may use; absent: all that their contracts allow. */
  tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).optional(),
  /** The session.yaml of this role, relative to workflow.yaml. */
  session: z.string().min(1).max(1_024).optional(),
})
export const handoffRuleSchema = z.strictObject({
  from: nameSchema,
  to: nameSchema,
  /** The tools that this handoff may offer at most. */
  tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).optional(),
})

/**
 * workflow.yaml: the roles of a workflow and the handoffs allowed between them. Sessions of a root role start without
 * an offer; where no role is marked as root, those are the roles that no handoff leads to.
 */
export const workflowDefinitionSchema = z.strictObject({
  schema_version: z.literal('1.0').optional(),
  name: nameSchema.optional(),
  roles: tableOf(nameSchema, workflowRoleSchema, LIMITS.rolesPerWorkflow),
  /** One from each role to each. */
  handoffs: z
    .array(handoffRuleSchema)
    .max(LIMITS.rolesPerWorkflow ** 2)
    .default([]),
})
export type WorkflowDefinition = z.input<typeof workflowDefinitionSchema>
