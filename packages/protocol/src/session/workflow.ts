import { z } from 'zod'
import { idSchema, ledgerHeadSchema, timeSchema, toolNameSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import { workflowDefinitionSchema } from '../contract/contract.js'
import { resourceModeSchema } from '../contract/contract-rules.js'
import { sessionActivitySchema, sessionStatusSchema } from './session-status.js'

/** The moves of a handoff. An expired one needs no reclaiming: it can no longer be accepted. */
export const HANDOFF_MOVES = {
  offered: { accept: 'accepted', reclaim: 'reclaimed', expire: 'expired' },
  accepted: { complete: 'completed', reclaim: 'reclaimed' },
  completed: {},
  reclaimed: {},
  expired: {},
} as const
export type HandoffState = keyof typeof HANDOFF_MOVES
export const HANDOFF_STATES = Object.keys(HANDOFF_MOVES) as [HandoffState, ...HandoffState[]]

/** In a session's create body: a root gives the definition; a child joins, with the offer it accepts, if any. */
export const workflowJoinSchema = z.strictObject({
  workflow_id: idSchema,
  role: z.string().min(1).max(128),
  handoff_id: idSchema.optional(),
  definition: workflowDefinitionSchema.optional(),
})

export const workflowPath = z.strictObject({ workflow_id: idSchema })
export const handoffPath = z.strictObject({ workflow_id: idSchema, handoff_id: idSchema })

export const handoffViewSchema = z.strictObject({
  handoff_id: z.string(),
  from_session: z.string(),
  from_role: z.string(),
  to_role: z.string(),
  to_session: z.string().nullable(),
  state: z.enum(HANDOFF_STATES),
  /** The tools that the accepting session may use; null: all that its contracts allow. */
  tools: z.array(z.string()).nullable(),
  /** For the accepting session. Stored outside the ledger, and erased with the content of the offering session. */
  note: z.string().nullable(),
  /** Labels that travel with the handoff: down with the offer, back with the completion. */
  labels: z.array(z.string()),
  offered_at: timeSchema,
  expires_at: timeSchema,
  settled_at: timeSchema.nullable(),
})
export type HandoffView = z.infer<typeof handoffViewSchema>

export const workflowStatusSchema = z.enum(['ACTIVE', 'KILLED'])
export const workflowViewSchema = z.strictObject({
  workflow_id: z.string(),
  status: workflowStatusSchema,
  definition: workflowDefinitionSchema,
  created_at: timeSchema,
  labels: z.array(z.string()),
  sessions: z.array(
    z.strictObject({
      session_id: z.string(),
      role: z.string(),
      status: sessionStatusSchema,
      activity: sessionActivitySchema,
      labels: z.array(z.string()),
      tools: z.array(z.string()).nullable(),
      handoff_id: z.string().nullable(),
    }),
  ),
  handoffs: z.array(handoffViewSchema),
  resources: z.array(
    z.strictObject({
      /** For a session that stores only metadata: `sha256:` and the salted hash. */
      key: z.string(),
      mode: resourceModeSchema,
      session_id: z.string(),
      pending_call_id: z.string(),
      /** Set once its session was killed: the hold then ends without an outcome. */
      ends_at: timeSchema.nullable(),
    }),
  ),
  ledger: ledgerHeadSchema,
})
export type WorkflowView = z.infer<typeof workflowViewSchema>

export const offerHandoffBody = z.strictObject({
  handoff_id: idSchema,
  fence: z.int(),
  to_role: z.string().min(1).max(128),
  tools: z.array(toolNameSchema).max(LIMITS.toolsPerPreflight).optional(),
  note: z.string().max(2_000).optional(),
  expires_in_seconds: z
    .int()
    .min(1)
    .max(7 * 24 * 3_600)
    .default(3_600),
})
/** Completing and reclaiming name the session that acts and its fence. */
export const settleHandoffBody = z.strictObject({ session_id: idSchema, fence: z.int() })
/** `ledger` is the head of the acting session's ledger. */
export const handoffReply = z.strictObject({ handoff: handoffViewSchema, ledger: ledgerHeadSchema })
export const killWorkflowReply = z.strictObject({
  workflow_id: z.string(),
  status: z.literal('KILLED'),
  /** Sessions that this kill stopped; those killed before do not count. */
  sessions_killed: z.int(),
})
