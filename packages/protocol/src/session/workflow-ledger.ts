import { z } from 'zod'
import { hashSchema, ledgerHeadSchema, timeSchema } from '../base/ids.js'
import { jsonObjectSchema } from '../base/json.js'
import { resourceModeSchema } from '../contract/contract-rules.js'
import { signedHeadSchema } from './signed-ledger.js'

const tools = z.array(z.string()).nullable()
const handoff = { handoff_id: z.string() }

/** Everything that can happen to a workflow, one event each, without content. Keys of resources are salted hashes. */
export const WORKFLOW_EVENTS = {
  opened: z.strictObject({ definition_hash: hashSchema }),
  joined: z.strictObject({ session_id: z.string(), role: z.string(), handoff_id: z.string().nullable(), tools }),
  handoff_offered: z.strictObject({
    ...handoff,
    from_session: z.string(),
    to_role: z.string(),
    tools,
    expires_at: timeSchema,
  }),
  handoff_accepted: z.strictObject({ ...handoff, to_session: z.string(), labels: z.array(z.string()) }),
  handoff_completed: z.strictObject({ ...handoff, labels: z.array(z.string()) }),
  /**
   * `not_accepted` in time; `holder_gone`: its lease expired or it was stopped; `chain`: the offerer lost its own.
   * Older ledgers have no labels here.
   */
  handoff_reclaimed: z.strictObject({
    ...handoff,
    cause: z.enum(['not_accepted', 'holder_gone', 'chain']),
    labels: z.array(z.string()).optional(),
  }),
  handoff_expired: z.strictObject({ ...handoff }),
  resources_held: z.strictObject({
    session_id: z.string(),
    holds: z.array(z.strictObject({ pending_call_id: z.string(), key_hash: hashSchema, mode: resourceModeSchema })),
  }),
  resources_released: z.strictObject({ session_id: z.string(), pending_call_ids: z.array(z.string()) }),
  killed: z.strictObject({ by: z.enum(['client', 'dashboard']), sessions: z.array(z.string()) }),
} as const
export type WorkflowEventType = keyof typeof WORKFLOW_EVENTS

/** What is chained: the type, the time and the facts. */
export type WorkflowEvent = {
  [T in WorkflowEventType]: {
    readonly type: T
    readonly at: string
    readonly body: z.infer<(typeof WORKFLOW_EVENTS)[T]>
  }
}[WorkflowEventType]

/** An event in the chain of a workflow. `hash` is SHA-256 over the canonical JSON of all other members. */
export const chainedWorkflowEventSchema = z.strictObject({
  workflow_id: z.string(),
  seq: z.int().min(1),
  type: z.enum(Object.keys(WORKFLOW_EVENTS) as [WorkflowEventType, ...WorkflowEventType[]]),
  at: timeSchema,
  body: jsonObjectSchema,
  prev_hash: hashSchema,
  hash: hashSchema,
})
export type ChainedWorkflowEvent = z.infer<typeof chainedWorkflowEventSchema>

export const exportWorkflowEventsReply = z.strictObject({
  workflow_id: z.string(),
  events: z.array(chainedWorkflowEventSchema),
  /** Pass as `after` for the next page; null at the end. */
  next: z.int().nullable(),
  head: ledgerHeadSchema,
  /** On the first page: the newest head that the service signed. Null: none yet; absent in exports of older versions. */
  signed_head: signedHeadSchema.nullable().optional(),
})
export type WorkflowLedgerExport = z.infer<typeof exportWorkflowEventsReply>
