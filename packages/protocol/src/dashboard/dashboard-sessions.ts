import { z } from 'zod'
import { agentSchema, environmentSchema, idSchema, labelSchema, ledgerHeadSchema, timeSchema } from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { allowOrBlockSchema, evidenceLevelSchema } from '../contract/contract-rules.js'
import { pageQuery } from '../http/paging.js'
import { ledgerEventTypeSchema } from '../session/ledger.js'
import { narrowedToolSchema, pendingCallSchema, sessionViewSchema, stateSnapshotSchema } from '../session/session.js'
import { sessionActivitySchema, sessionStatusSchema } from '../session/session-status.js'
import { signedHeadSchema } from '../session/signed-ledger.js'
import { approvalDecisionSchema, blockReasonSchema, blockSchema, outcomeSchema } from '../session/turn.js'

/** Set by `1`, absent otherwise. */
const flag = z.literal('1').optional()

export const sessionsQuery = pageQuery.extend({
  q: z.string().max(200).optional(),
  agent: agentSchema.optional(),
  environment: environmentSchema.optional(),
  status: sessionStatusSchema.optional(),
  reason: blockReasonSchema.optional(),
  label: labelSchema.optional(),
  from: timeSchema.optional(),
  to: timeSchema.optional(),
  /** Those that are running have begun within a day. */
  activity: sessionActivitySchema.optional(),
  workflow_id: idSchema.optional(),
  /** By their start. */
  order: z.enum(['newest', 'oldest']).default('newest'),
})
export const sessionRowSchema = z.strictObject({
  session_id: z.string(),
  agent: z.string(),
  environment: environmentSchema.nullable(),
  status: sessionStatusSchema,
  activity: sessionActivitySchema,
  ended_at: timeSchema.nullable(),
  phase: z.string().nullable(),
  labels: z.array(z.string()),
  state_version: z.int(),
  allowed: z.int(),
  blocked: z.int(),
  in_doubt: z.int(),
  /** Allowed calls without a receipt, in a session that is stopped, in doubt, or without a holder. */
  unanswered: z.int(),
  last_reason: blockReasonSchema.nullable(),
  actual_cost: z.number(),
  workflow_id: z.string().nullable(),
  created_at: timeSchema,
  updated_at: timeSchema,
})
export type SessionRow = z.infer<typeof sessionRowSchema>

/** The calls behind a number: what was proposed, what was decided, and how it ended. */
export const callsQuery = pageQuery.extend({
  agent: agentSchema.optional(),
  decision: allowOrBlockSchema.optional(),
  reason: blockReasonSchema.optional(),
  /** Only calls that were allowed and will not be answered. */
  unanswered: flag,
  session_id: idSchema.optional(),
  from: timeSchema.optional(),
  to: timeSchema.optional(),
})
export const callRowSchema = z.strictObject({
  at: timeSchema,
  session_id: z.string(),
  agent: z.string(),
  /** `seq` and `index` locate the call in the session's timeline. */
  seq: z.int(),
  index: z.int(),
  tool_name: z.string(),
  decision: allowOrBlockSchema,
  reason: blockReasonSchema.nullable(),
  /** Null without a receipt. */
  outcome: outcomeSchema.nullable(),
  evidence_level: evidenceLevelSchema.nullable(),
})
export type CallRow = z.infer<typeof callRowSchema>

export const timelineReceiptSchema = z.strictObject({
  outcome: outcomeSchema,
  evidence_level: evidenceLevelSchema,
  at_level: z.boolean(),
  late: z.boolean(),
  argument_hash: z.string(),
  result_hash: z.string().nullable(),
  started_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  recorded_at: timeSchema,
  seq: z.int(),
  /** Why the call was stopped after it had been allowed, where it was. */
  block_reason: blockReasonSchema.optional(),
  approvals: z.array(
    z.strictObject({
      checkpoint_id: z.string(),
      decision: approvalDecisionSchema,
      /** Who decided, as the program that asked reports it; null for a timeout. */
      decided_by: z.string().nullable(),
      decided_at: z.string().nullable(),
      /** Null if the capture level stores none, or it was erased. */
      reason: z.string().nullable(),
    }),
  ),
})
export const timelineCallSchema = z.strictObject({
  index: z.int(),
  call_id: z.string(),
  pending_call_id: z.string().nullable(),
  tool_name: z.string(),
  decision: allowOrBlockSchema,
  reasons: z.array(blockSchema),
  argument_hash: z.string().nullable(),
  /** Null if the capture level stores none, they were erased, or they do not match their hash. */
  arguments: jsonSchema.nullable(),
  checkpoints: z.array(z.string()),
  commit_requirement: evidenceLevelSchema,
  receipt: timelineReceiptSchema.nullable(),
})
export type TimelineCall = z.infer<typeof timelineCallSchema>

/** One moment of a session: an event of the ledger, with the preflight that led to it and the state after it. */
export const timelineItemSchema = z.strictObject({
  seq: z.int(),
  at: timeSchema,
  type: ledgerEventTypeSchema,
  hash: z.string(),
  body: jsonObjectSchema,
  preflight: z
    .strictObject({
      at: timeSchema,
      model: z.string().nullable(),
      allowed: z.array(z.string()),
      removed: z.array(narrowedToolSchema),
    })
    .nullable(),
  calls: z.array(timelineCallSchema),
  /** Stored content that does not match its hash in the ledger: it was changed after the fact, and is not shown. */
  changed: z.array(z.string()).optional(),
  state: stateSnapshotSchema,
  labels: z.array(z.string()),
})
export type TimelineItem = z.infer<typeof timelineItemSchema>

export const sessionDetailReply = z.strictObject({
  session: sessionViewSchema,
  pending: z.array(pendingCallSchema),
  row: sessionRowSchema,
  /** Those of its labels with which new sessions of its principal start. */
  sticky_labels: z.array(labelSchema),
  /** For how many keys each name of its rules is kept; none is forgotten. */
  keys: z.array(
    z.strictObject({
      kind: z.enum(['bindings', 'envelopes', 'aggregates', 'openings']),
      name: z.string(),
      keys: z.int(),
    }),
  ),
})
export type SessionDetail = z.infer<typeof sessionDetailReply>
export const timelineQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(200).default(100),
})
export const timelineReply = z.strictObject({
  items: z.array(timelineItemSchema),
  next: z.int().nullable(),
  head: ledgerHeadSchema,
})
export const proofReply = z.strictObject({
  verified: z.boolean(),
  events: z.int(),
  head: ledgerHeadSchema,
  /** The first thing that is wrong: with the chain, the signed head, or stored content that does not fit its hash. */
  problem: z.string().nullable(),
  /** The newest head that was signed with a key outside of the database. Null: none yet. */
  signed_head: signedHeadSchema.nullable(),
})
