import { z } from 'zod'
import { NARROWING_REASON_NAMES } from '../base/block-reasons.js'
import {
  agentSchema,
  environmentSchema,
  hashSchema,
  idSchema,
  labelSchema,
  ledgerHeadSchema,
  timeSchema,
  toolNameSchema,
} from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { compiledSessionSchema } from '../contract/plan.js'
import { ignoredUnlessFits } from '../http/ignored-unless-fits.js'
import { sessionActivitySchema, sessionStatusSchema } from './session-status.js'
import { workflowJoinSchema } from './workflow.js'

export const captureLevelSchema = z.enum(['metadata', 'redacted', 'full'])
export type CaptureLevel = z.infer<typeof captureLevelSchema>
export const unmatchedPolicySchema = z.enum(['block', 'allow'])
export type UnmatchedPolicy = z.infer<typeof unmatchedPolicySchema>
export const gateSchema = z.enum(['reject_all', 'strip_partial', 'strip_blocked'])
export type Gate = z.infer<typeof gateSchema>
/** How it is known whom a session acts for: by a token, by its program; or by its key that it is no person. */
export const PRINCIPAL_PROOFS = ['proven', 'as_told', 'no_person'] as const
export const principalProofSchema = z.enum(PRINCIPAL_PROOFS)
export type PrincipalProof = z.infer<typeof principalProofSchema>
/** Whom all checkpoints of a session ask in place of its program. */
export const asksSchema = z.literal('people')
export const planSourceSchema = z.enum(['approved', 'client'])

export const narrowedToolSchema = z.strictObject({
  tool: z.string(),
  reason: z.enum(NARROWING_REASON_NAMES),
  detail: z.string().optional(),
  contract_file: z.string().optional(),
})
export type NarrowedTool = z.infer<typeof narrowedToolSchema>

export const narrowingSnapshotSchema = z.strictObject({
  allowed: z.array(z.string()),
  removed: z.array(narrowedToolSchema),
})
export type NarrowingSnapshot = z.infer<typeof narrowingSnapshotSchema>

export const completedStepSchema = z.strictObject({
  step: z.int(),
  phase: z.string().nullable(),
  tools: z.array(z.string()),
  cost: z.number(),
  completedAt: timeSchema,
})
export type CompletedStep = z.infer<typeof completedStepSchema>

/** The redacted, immutable view of a session's state, named as in the specification. */
export const stateSnapshotSchema = z.strictObject({
  sessionId: z.string(),
  agent: z.string().nullable(),
  principal: z.null(),
  startedAt: timeSchema,
  stateVersion: z.int(),
  controlRevision: z.int(),
  currentPhase: z.string().nullable(),
  totalStepCount: z.int(),
  totalToolCalls: z.int(),
  totalCost: z.number(),
  actualCost: z.number(),
  toolCallCounts: z.record(z.string(), z.int()),
  forbiddenTools: z.array(z.string()),
  satisfiedPreconditions: jsonObjectSchema,
  lastStep: completedStepSchema.nullable(),
  lastNarrowing: narrowingSnapshotSchema.nullable(),
  killed: z.boolean(),
  totalUnguardedCalls: z.int(),
  consecutiveBlockCount: z.int(),
  totalBlockCount: z.int(),
})
export type StateSnapshot = z.infer<typeof stateSnapshotSchema>

/** The server's record of a session, as every answer shows it. */
export const sessionViewSchema = z.strictObject({
  session_id: z.string(),
  mode: z.literal('AUTHORITATIVE'),
  status: sessionStatusSchema,
  activity: sessionActivitySchema,
  /** When its program ended it; null while it may go on. */
  ended_at: timeSchema.nullable(),
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  state_version: z.int(),
  control_revision: z.int(),
  fence: z.int(),
  lease_until: timeSchema,
  plan_source: planSourceSchema,
  compiled_hash: hashSchema,
  unmatched_policy: unmatchedPolicySchema,
  capture_level: captureLevelSchema,
  /** Null: its program named no principal. */
  principal_proof: principalProofSchema.nullable(),
  labels: z.array(z.string()),
  tool_filter: z.array(z.string()).nullable(),
  workflow_id: z.string().nullable(),
  role: z.string().nullable(),
  created_at: timeSchema,
  state: stateSnapshotSchema,
  ledger: ledgerHeadSchema,
})
export type SessionView = z.infer<typeof sessionViewSchema>

export const createSessionBody = z.strictObject({
  session_id: idSchema,
  holder_id: idSchema,
  agent: agentSchema.optional(),
  environment: environmentSchema.optional(),
  compiled_hash: hashSchema.optional(),
  compiled_session: compiledSessionSchema.optional(),
  unmatched_policy: unmatchedPolicySchema.default('block'),
  capture_level: captureLevelSchema.default('redacted'),
  principal: jsonSchema.optional(),
  /** In place of `principal`: a JWT of a listed issuer, which proves it. */
  principal_token: z.string().min(1).max(LIMITS.principalTokenLength).optional(),
  labels: z.array(labelSchema).max(LIMITS.labelsPerSession).optional(),
  provider: z.string().max(64).optional(),
  workflow: workflowJoinSchema.optional(),
  /** Every checkpoint of the session asks members of the tenant, also those without `ask`. */
  asks: asksSchema.optional(),
})
export const createSessionReply = z.strictObject({
  session: sessionViewSchema,
  fence: z.int(),
  lease_until: timeSchema,
  /** Hashes of this session are SHA-256 over this salt and the canonical JSON. */
  hash_salt: z.string(),
  plan_source: planSourceSchema,
  compiled_hash: hashSchema,
  /** Present when the server's approved plan governs and the client did not send it. */
  compiled_session: compiledSessionSchema.optional(),
  /** Whom the session acts for, where a token proves it: what its rules see. */
  principal: jsonSchema.optional(),
  ledger: ledgerHeadSchema,
})

export const PENDING_STATES = ['pending', 'in_doubt', 'resolved'] as const
export const pendingCallSchema = z.strictObject({
  pending_call_id: z.string(),
  call_id: z.string(),
  tool_name: z.string(),
  argument_hash: hashSchema,
  state: z.enum(PENDING_STATES),
  checkpoint_required: z.boolean(),
  idempotency_key: z.string(),
  proposed_at: timeSchema,
  /** A process has claimed the call: no other may run it. Older services do not say. */
  claimed: z.boolean().optional(),
  /** Of a call in doubt, to find out what became of it. Null: none are stored, or they were erased. */
  arguments: jsonSchema.nullable().optional(),
})
export type PendingCallView = z.infer<typeof pendingCallSchema>

export const loadSessionQuery = z.strictObject({ include: z.literal('pending').optional() })
export const loadSessionReply = z.strictObject({
  session: sessionViewSchema,
  pending: z.array(pendingCallSchema).optional(),
  ledger: ledgerHeadSchema,
})

export const findSessionBody = z.strictObject({
  agent: agentSchema,
  environment: environmentSchema,
  /** Ids that stand in a conversation, the newest last. */
  ids: z.array(idSchema).min(1).max(LIMITS.findableIds),
})
/** The session that most of the ids belong to, the newest of several; null where none has any. */
export const findSessionReply = z.strictObject({ session_id: z.string().nullable() })

/** The first to claim a call runs it. The same claim again, as after a lost answer, is granted again. */
export const claimBody = z.strictObject({
  fence: z.int(),
  claim_id: idSchema,
  pending_call_id: idSchema,
  /** Of the arguments that the call is about to run with. */
  argument_hash: hashSchema,
})
export const claimReply = z.strictObject({
  pending_call_id: z.string(),
  status: sessionStatusSchema,
  control_revision: z.int(),
  lease_until: timeSchema,
  ledger: ledgerHeadSchema,
})

export const addLabelBody = z.strictObject({ label: labelSchema })
export const addLabelReply = z.strictObject({ labels: z.array(z.string()), ledger: ledgerHeadSchema })

export const toolFilterBody = z.strictObject({
  fence: z.int(),
  /** The only tools that may be used; null clears the filter. */
  tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).nullable(),
})
export const toolFilterReply = z.strictObject({
  tool_filter: z.array(z.string()).nullable(),
  control_revision: z.int(),
  ledger: ledgerHeadSchema,
})

export const reportBypassBody = z.object({
  method: ignoredUnlessFits(z.string().max(128)),
  detected_at: ignoredUnlessFits(timeSchema),
})
export const killBody = z.object({ reason: ignoredUnlessFits(z.string().max(500)) })
/** The reply to kill and report-bypass: the session's status now. */
export const stopReply = z.strictObject({
  status: sessionStatusSchema,
  killed: z.boolean(),
  control_revision: z.int(),
  ledger: ledgerHeadSchema,
})

export const endBody = z.strictObject({ fence: z.int() })
export const endReply = z.strictObject({
  status: sessionStatusSchema,
  activity: sessionActivitySchema,
  control_revision: z.int(),
  ledger: ledgerHeadSchema,
})

/** Stops every session of an agent, a batch for each request. */
export const stopAgentBody = killBody.extend({
  agent: agentSchema,
  /** Also sessions without a holder for a day. */
  all: z.boolean().default(false),
})
export const stopAgentReply = z.strictObject({
  /** The sessions that this request killed. */
  killed: z.array(z.string()),
  failed: z.array(z.strictObject({ session_id: z.string(), problem: z.string() })),
  /** There are more sessions to kill: ask again. */
  more: z.boolean(),
  /** Sessions that may go on and have had no holder for a day. */
  idle: z.int(),
  /** Null unless no agent of that name is known: then agents whose names are close to it. */
  similar: z.array(z.string()).nullable(),
})
export type StopAgentReply = z.infer<typeof stopAgentReply>

export const recoverBody = z.strictObject({ holder_id: idSchema, takeover: z.boolean().default(false) })
export const recoverReply = z.strictObject({
  session: sessionViewSchema,
  fence: z.int(),
  lease_until: timeSchema,
  hash_salt: z.string(),
  in_doubt: z.array(pendingCallSchema),
  /** Whom the session acts for, where a token proved it: what its rules see. */
  principal: jsonSchema.optional(),
  ledger: ledgerHeadSchema,
})
