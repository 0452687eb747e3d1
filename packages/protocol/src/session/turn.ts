import { z } from 'zod'
import { BLOCK_REASON_NAMES } from '../base/block-reasons.js'
import { flowsSchema } from '../base/flow.js'
import { decimalSchema, hashSchema, idSchema, ledgerHeadSchema, timeSchema, toolNameSchema } from '../base/ids.js'
import { type JsonValue, jsonObjectSchema, jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { allowOrBlockSchema, evidenceLevelSchema, onTimeoutSchema } from '../contract/contract-rules.js'
import { decisionApprovalSchema, decisionQuestionSchema, lookAtSchema } from './question.js'
import { gateSchema, narrowedToolSchema } from './session.js'
import { sessionStatusSchema } from './session-status.js'

export const blockReasonSchema = z.enum(BLOCK_REASON_NAMES)

export const contractFailureSchema = z.strictObject({
  path: z.string(),
  operator: z.string(),
  expected: jsonSchema.optional(),
  found: jsonSchema.optional(),
  message: z.string().optional(),
  contract_file: z.string().optional(),
})
export type ContractFailure = z.infer<typeof contractFailureSchema>

/** What remains of the session's limits; null if the plan sets none. */
export const remainingSchema = z.strictObject({
  steps: z.int().nullable(),
  tool_calls: z.int().nullable(),
  cost: z.number().nullable(),
  calls_this_minute: z.int().nullable(),
  calls_per_tool: z.record(z.string(), z.int()),
  checkpoints: z.int(),
})
export type Remaining = z.infer<typeof remainingSchema>

/** A tool that a request offers to the model. */
export const requestedToolSchema = z.strictObject({
  name: toolNameSchema,
  kind: z.enum(['function', 'custom', 'provider']).default('function'),
})
/** What a prepared request is bound to. */
export const boundSchema = z.strictObject({ state_version: z.int(), control_revision: z.int(), fence: z.int() })

export const preflightBody = z.strictObject({
  /** Chosen by the client, so that a lost reply can be requested again. */
  prepared_request_id: idSchema,
  fence: z.int(),
  state_version: z.int().min(0),
  tools: z.array(requestedToolSchema).max(LIMITS.toolsPerPreflight),
  provider: z.string().max(64).optional(),
  model: z.string().max(256).optional(),
  /** Values of the request at the paths that the plan's input_invariants read, by path; absent values are left out. */
  request: jsonObjectSchema.optional(),
})
export const preflightPreparedSchema = z.strictObject({
  outcome: z.literal('prepared'),
  prepared_request_id: z.string(),
  bound: boundSchema,
  expires_at: timeSchema,
  lease_until: timeSchema,
  allowed: z.array(z.string()),
  removed: z.array(narrowedToolSchema),
  remaining: remainingSchema,
  ledger: ledgerHeadSchema,
})
export const preflightBlockedSchema = z.strictObject({
  outcome: z.literal('blocked'),
  reason: blockReasonSchema,
  detail: z.string().optional(),
  remedy: z.string(),
  /** The block may have tripped the circuit breaker. */
  status: sessionStatusSchema,
  remaining: remainingSchema,
  ledger: ledgerHeadSchema,
})
export const preflightReply = z.discriminatedUnion('outcome', [preflightPreparedSchema, preflightBlockedSchema])
export type PreflightReply = z.infer<typeof preflightReply>

export const usageSchema = z.strictObject({ input_tokens: z.int().min(0), output_tokens: z.int().min(0) })
export type Usage = z.infer<typeof usageSchema>

/** One cause of a block, with what the model or the program can do about it. */
export const blockSchema = z.strictObject({
  reason: blockReasonSchema,
  detail: z.string().optional(),
  remedy: z.string(),
  failures: z.array(contractFailureSchema),
  contract_file: z.string().optional(),
  /** Of a limit that sessions share: what is left of it, and when there is enough for this call; null: never. */
  shared_limit: z.strictObject({ name: z.string(), left: decimalSchema, frees_at: timeSchema.nullable() }).optional(),
})
export type Block = z.infer<typeof blockSchema>

/** Who denied a call where no person could be asked. */
export const NOT_ASKED = 'countersign'

export const checkpointTriggerSchema = z.strictObject({
  checkpoint_id: z.string(),
  reason: z.string(),
  timeout_seconds: z.number(),
  on_timeout: onTimeoutSchema,
  /** Where in the arguments to find the context that the approver sees. */
  context: z.array(lookAtSchema),
})
export type CheckpointTrigger = z.infer<typeof checkpointTriggerSchema>

export const decisionSchema = z.strictObject({
  index: z.int(),
  call_id: z.string(),
  tool_name: z.string(),
  decision: allowOrBlockSchema,
  /** Allowed and waiting for a receipt. Null when blocked, and for every call when the gate rejected all. */
  pending_call_id: z.string().nullable(),
  idempotency_key: z.string().nullable(),
  argument_hash: hashSchema.nullable(),
  reason: blockReasonSchema.nullable(),
  reasons: z.array(blockSchema),
  remedy: z.string().nullable(),
  failures: z.array(contractFailureSchema),
  contract_file: z.string().nullable(),
  checkpoint_required: z.boolean(),
  checkpoints: z.array(checkpointTriggerSchema),
  /** Paths of the result that the receipt must report for the plan to use. */
  output_paths: z.array(z.string()),
  commit_requirement: evidenceLevelSchema,
  /** What people are asked about a call that does not run: blocked, without a reason while it waits. */
  question: decisionQuestionSchema.optional(),
  /** The answer by which the call is allowed. */
  approval: decisionApprovalSchema.optional(),
})
export type Decision = z.infer<typeof decisionSchema>

export const proposalBody = z.strictObject({
  prepared_request_id: idSchema,
  fence: z.int(),
  gate: gateSchema.default('reject_all'),
  /** The model's response, in the provider's own format or normalized. */
  response: jsonSchema,
  model: z.string().max(256).optional(),
  usage: usageSchema.optional(),
  flows: flowsSchema.optional(),
  /** What the capture of this turn needs beyond the response, or that there is to be none. */
  capture: z.union([z.literal('none'), z.strictObject({ messages: z.array(jsonSchema) })]).optional(),
  /** Ids by which `sessions/find` finds this session: of the calls, of the response. */
  find_by: z.array(idSchema).max(LIMITS.findableIds).optional(),
  /** Questions whose answers calls of the response use. Needed for an edited call; otherwise found by tool and arguments. */
  redeems: z
    .array(z.strictObject({ call_id: z.string().min(1).max(256), question_id: idSchema }))
    .max(LIMITS.callsPerProposal)
    .optional(),
  /** Whose arguments the proposer runs: those that were judged, or the model's own. With its own, no answer edits a call. */
  runs: z.enum(['judged', 'own']).default('own'),
})
export type ProposalCapture = NonNullable<z.infer<typeof proposalBody>['capture']>
export const PROPOSAL_OUTCOMES = ['allowed', 'partial', 'blocked', 'no_calls'] as const
export const proposalReply = z.strictObject({
  proposal_id: z.string(),
  outcome: z.enum(PROPOSAL_OUTCOMES),
  decisions: z.array(decisionSchema),
  status: sessionStatusSchema,
  state_version: z.int(),
  control_revision: z.int(),
  cost: z.number(),
  lease_until: timeSchema,
  ledger: ledgerHeadSchema,
})
export type ProposalReply = z.infer<typeof proposalReply>

export const OUTCOMES = ['succeeded', 'failed', 'not_executed', 'unknown'] as const
export const outcomeSchema = z.enum(OUTCOMES)
export type Outcome = z.infer<typeof outcomeSchema>

export const approvalResponseSchema = z.strictObject({
  checkpoint_id: z.string(),
  decision: z.enum(['approve', 'deny']),
  decided_by: z.string().min(1).max(256),
  decided_at: timeSchema,
  reason: z.string().max(1_000).optional(),
})
export type ApprovalResponse = z.infer<typeof approvalResponseSchema>

export interface ApprovalRequest {
  readonly checkpoint_id: string
  readonly session_id: string
  readonly tool_name: string
  readonly arguments: Readonly<Record<string, JsonValue>>
  readonly context: readonly { readonly label: string; readonly value: JsonValue | undefined }[]
  readonly reason: string
  readonly timeout_seconds: number
  readonly requested_at: string
}

export const approvalDecisionSchema = z.enum(['approve', 'deny', 'timeout'])
/** How a checkpoint of a call ended. `timeout` and `deny` go with outcome not_executed. */
export const approvalSchema = z.strictObject({
  checkpoint_id: z.string(),
  decision: approvalDecisionSchema,
  decided_by: z.string().min(1).max(256).optional(),
  decided_at: z.string().max(64).optional(),
  reason: z.string().max(1_000).optional(),
  /** The approval is bound to these arguments. */
  argument_hash: hashSchema,
})

const receiptFields = z.strictObject({
  pending_call_id: idSchema,
  outcome: outcomeSchema,
  evidence_level: evidenceLevelSchema,
  argument_hash: hashSchema,
  result_hash: hashSchema.optional(),
  /** The result cannot be written as JSON, so that there is nothing to hash. Stands in for `result_hash`. */
  result_unhashable: z.literal(true).optional(),
  started_at: timeSchema.optional(),
  finished_at: timeSchema.optional(),
  error_code: z.string().max(128).optional(),
  /** Values of the result at the output paths that the decision named; absent values are left out. */
  outputs: jsonObjectSchema.optional(),
  /** Stored only at capture level full. */
  result: jsonSchema.optional(),
  approvals: z.array(approvalSchema).max(LIMITS.checkpointTriggersPerSession).optional(),
  /** Why the client did not run an allowed call after all. Goes with outcome not_executed. */
  block_reason: blockReasonSchema.optional(),
  /** The program still asks a person about the call, which may be proposed once more. Goes with outcome not_executed. */
  unanswered: z.literal(true).optional(),
})

/** A receipt that claims more than it shows would be stored and never commit; it is refused, with the field to add. */
export const receiptSchema = receiptFields.superRefine((receipt, { addIssue }) => {
  const refuse = (field: keyof Receipt, message: string): void => addIssue({ code: 'custom', path: [field], message })
  if (receipt.block_reason !== undefined && receipt.outcome !== 'not_executed') {
    refuse('block_reason', 'goes with outcome not_executed only')
  }
  if (receipt.unanswered === true && receipt.outcome !== 'not_executed') {
    refuse('unanswered', 'goes with outcome not_executed only')
  }
  if (receipt.evidence_level !== 'executed' || receipt.outcome !== 'succeeded') return
  for (const field of ['started_at', 'finished_at'] as const) {
    if (receipt[field] === undefined) refuse(field, 'is required for a success with evidence_level executed')
  }
  if (receipt.result_hash === undefined && receipt.result_unhashable === undefined) {
    refuse('result_hash', 'is required for a success with evidence_level executed; or set result_unhashable to true')
  }
})
export type Receipt = z.infer<typeof receiptFields>

/** The model call that is expected after the receipts. */
export const nextRequestSchema = z.strictObject({
  prepared_request_id: preflightBody.shape.prepared_request_id,
  tools: preflightBody.shape.tools.min(1),
  provider: preflightBody.shape.provider,
  model: preflightBody.shape.model,
})
export type NextRequest = z.infer<typeof nextRequestSchema>

export const receiptsBody = z.strictObject({
  fence: z.int(),
  receipts: z.array(receiptSchema).min(1).max(LIMITS.receiptsPerBatch),
  /** Prepared in the same write, so that the next turn needs no preflight. */
  next: nextRequestSchema.optional(),
})
export const preparedNextSchema = z.strictObject({
  bound: boundSchema,
  expires_at: timeSchema,
  allowed: z.array(z.string()),
  removed: z.array(narrowedToolSchema),
  remaining: remainingSchema,
})
export type PreparedNext = z.infer<typeof preparedNextSchema>
export const receiptResultSchema = z.strictObject({
  pending_call_id: z.string(),
  outcome: outcomeSchema,
  /** The evidence met the contract's commit requirement. */
  at_level: z.boolean(),
  /** Stored only as evidence: the fence was old, or the session killed or compromised. */
  late: z.boolean(),
})
export const receiptsReply = z.strictObject({
  results: z.array(receiptResultSchema),
  /** The step committed with this batch: state_version went up by one. */
  committed: z.boolean(),
  status: sessionStatusSchema,
  state_version: z.int(),
  control_revision: z.int(),
  labels: z.array(z.string()),
  lease_until: timeSchema,
  ledger: ledgerHeadSchema,
  /** The request that was prepared, until it is used; null: send a preflight. */
  next: preparedNextSchema.nullable(),
})
export type ReceiptsReply = z.infer<typeof receiptsReply>
