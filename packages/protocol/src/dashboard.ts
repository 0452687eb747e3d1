import { z } from 'zod'
import { auditEntrySchema, createKeyBody, createKeyReply, doneReply, keyPath, listKeysReply } from './account.js'
import { BLOCK_REASON_NAMES } from './block-reasons.js'
import { agentSchema, environmentSchema, idSchema, labelSchema, ledgerHeadSchema, timeSchema } from './ids.js'
import type { JsonValue } from './json.js'
import { exportEventsReply, LEDGER_EVENTS, type LedgerEventType } from './ledger.js'
import { pageOf, pageQuery } from './paging.js'
import type { Route } from './route.js'
import {
  addLabelBody,
  addLabelReply,
  killBody,
  narrowedToolSchema,
  pendingCallSchema,
  sessionStatusSchema,
  sessionViewSchema,
  stateSnapshotSchema,
  stopReply,
} from './session.js'
import { blockSchema, outcomeSchema } from './turn.js'
import { killWorkflowReply, workflowPath, workflowViewSchema } from './workflow.js'

const json = z.json() as z.ZodType<JsonValue, JsonValue>
const reason = z.enum(BLOCK_REASON_NAMES)
const view = { method: 'GET', auth: 'cookie', throttle: 'dashboard' } as const
const change = { method: 'POST', auth: 'cookie', throttle: 'dashboard' } as const
const sessionPath = z.strictObject({ session_id: idSchema })

export const limitsReply = z.strictObject({
  quota: z.enum(['free', 'team', 'scale']),
  buckets: z.array(z.strictObject({ bucket: z.string(), per_minute: z.int(), available: z.number() })),
  runs: z.strictObject({ used: z.int(), limit: z.int() }),
  keys: z.strictObject({ active: z.int(), limit: z.int() }),
})
export type LimitsView = z.infer<typeof limitsReply>

export const overviewQuery = z.strictObject({ range: z.enum(['1h', '24h', '7d', '30d']).default('24h') })
export const overviewReply = z.strictObject({
  range: z.string(),
  /** Equal spans of time, oldest first, empty ones included. */
  spans: z.array(
    z.strictObject({ at: timeSchema, allowed: z.int(), blocked: z.int(), by_reason: z.record(z.string(), z.int()) }),
  ),
  span_seconds: z.int(),
  totals: z.strictObject({
    allowed: z.int(),
    blocked: z.int(),
    sessions: z.int(),
    active_sessions: z.int(),
    calls_in_doubt: z.int(),
    killed: z.int(),
    compromised: z.int(),
  }),
  reasons: z.array(z.strictObject({ reason, count: z.int() })),
  agents: z.array(
    z.strictObject({
      agent: z.string().nullable(),
      sessions: z.int(),
      allowed: z.int(),
      blocked: z.int(),
      last_seen: timeSchema,
    }),
  ),
  /** The newest blocked calls, at most ten; `seq` and `index` are where the session's timeline shows each. */
  recent_blocks: z.array(
    z.strictObject({
      at: timeSchema,
      session_id: z.string(),
      agent: z.string().nullable(),
      seq: z.int(),
      index: z.int(),
      tool_name: z.string(),
      reason,
    }),
  ),
})
export type OverviewView = z.infer<typeof overviewReply>

export const sessionsQuery = pageQuery.extend({
  q: z.string().max(200).optional(),
  agent: agentSchema.optional(),
  status: sessionStatusSchema.optional(),
  reason: reason.optional(),
  label: labelSchema.optional(),
  from: timeSchema.optional(),
  to: timeSchema.optional(),
})
export const sessionRowSchema = z.strictObject({
  session_id: z.string(),
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  status: sessionStatusSchema,
  phase: z.string().nullable(),
  labels: z.array(z.string()),
  state_version: z.int(),
  allowed: z.int(),
  blocked: z.int(),
  in_doubt: z.int(),
  last_reason: reason.nullable(),
  actual_cost: z.number(),
  workflow_id: z.string().nullable(),
  created_at: timeSchema,
  updated_at: timeSchema,
})
export type SessionRow = z.infer<typeof sessionRowSchema>

const timelineReceiptSchema = z.strictObject({
  outcome: outcomeSchema,
  evidence_level: z.enum(['reported', 'executed']),
  at_level: z.boolean(),
  late: z.boolean(),
  argument_hash: z.string(),
  result_hash: z.string().nullable(),
  started_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  recorded_at: timeSchema,
  seq: z.int(),
  approvals: z.array(z.strictObject({ checkpoint_id: z.string(), decision: z.enum(['approve', 'deny', 'timeout']) })),
})
export const timelineCallSchema = z.strictObject({
  index: z.int(),
  call_id: z.string(),
  pending_call_id: z.string().nullable(),
  tool_name: z.string(),
  decision: z.enum(['allow', 'block']),
  reasons: z.array(blockSchema),
  argument_hash: z.string().nullable(),
  /** Null where the capture level keeps none, or they were erased. */
  arguments: json.nullable(),
  checkpoints: z.array(z.string()),
  commit_requirement: z.enum(['reported', 'executed']),
  receipt: timelineReceiptSchema.nullable(),
})
export type TimelineCall = z.infer<typeof timelineCallSchema>

/** One moment of a session: an event of the ledger, with the preflight that led to it and the state after it. */
export const timelineItemSchema = z.strictObject({
  seq: z.int(),
  at: timeSchema,
  type: z.enum(Object.keys(LEDGER_EVENTS) as [LedgerEventType, ...LedgerEventType[]]),
  hash: z.string(),
  body: z.record(z.string(), json),
  preflight: z
    .strictObject({
      at: timeSchema,
      model: z.string().nullable(),
      allowed: z.array(z.string()),
      removed: z.array(narrowedToolSchema),
    })
    .nullable(),
  calls: z.array(timelineCallSchema),
  state: stateSnapshotSchema,
  labels: z.array(z.string()),
})
export type TimelineItem = z.infer<typeof timelineItemSchema>

export const sessionDetailReply = z.strictObject({
  session: sessionViewSchema,
  pending: z.array(pendingCallSchema),
  row: sessionRowSchema,
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
  problem: z.string().nullable(),
  /** The whole export, for `countersign verify FILE`. */
  export: exportEventsReply,
})

export const agentRowSchema = z.strictObject({
  agent: z.string(),
  sessions: z.int(),
  last_seen: timeSchema.nullable(),
  calls: z.strictObject({ enforced: z.int(), observed: z.int(), ungoverned: z.int() }),
  /** Share of observed calls whose tool has an approved contract. */
  coverage: z.number().nullable(),
  /** Of its sessions that began in the last 30 days. */
  health: z.strictObject({
    /** Degraded: a session is compromised or has calls in doubt. Inactive: nothing was seen for a week. */
    status: z.enum(['healthy', 'degraded', 'inactive']),
    blocked_calls: z.int(),
    recovering: z.int(),
    compromised: z.int(),
    killed: z.int(),
  }),
  environments: z.array(
    z.strictObject({
      environment: environmentSchema,
      status: z.enum(['none', 'draft', 'approved']),
      compiled_hash: z.string().nullable(),
      approved_at: timeSchema.nullable(),
    }),
  ),
})
export type AgentRow = z.infer<typeof agentRowSchema>

export const workflowRowSchema = z.strictObject({
  workflow_id: z.string(),
  status: z.enum(['ACTIVE', 'KILLED']),
  sessions: z.int(),
  open_handoffs: z.int(),
  created_at: timeSchema,
})
export type WorkflowRow = z.infer<typeof workflowRowSchema>

export const playgroundBody = z.strictObject({
  contracts: z
    .array(z.strictObject({ file: z.string().min(1).max(200), text: z.string().max(200_000) }))
    .min(1)
    .max(100),
  session: z.string().max(200_000).optional(),
  response: json,
  unmatched_policy: z.enum(['block', 'allow']).default('block'),
  labels: z.array(labelSchema).max(128).default([]),
  principal: json.optional(),
})
const noteSchema = z.strictObject({
  file: z.string(),
  line: z.int().nullable(),
  message: z.string(),
  mend: z.string().nullable(),
})
export const playgroundReply = z.strictObject({
  ok: z.boolean(),
  errors: z.array(noteSchema),
  warnings: z.array(noteSchema),
  compiled_hash: z.string().nullable(),
  narrowing: z.strictObject({ allowed: z.array(z.string()), removed: z.array(narrowedToolSchema) }).nullable(),
  /** For each call every reason of the ladder in order of precedence, and whether it applies. */
  calls: z.array(
    z.strictObject({
      call_id: z.string(),
      tool_name: z.string(),
      decision: z.enum(['allow', 'block']),
      ladder: z.array(z.strictObject({ reason, applies: z.boolean() })),
      reasons: z.array(blockSchema),
      checkpoints: z.array(z.string()),
    }),
  ),
})
export type PlaygroundView = z.infer<typeof playgroundReply>

/** What the dashboard reads and changes; cookies only. */
export const dashboardRoutes = {
  listKeys: {
    ...view,
    path: '/api/dashboard/keys',
    summary: 'API keys of the tenant, never the keys themselves',
    reply: listKeysReply,
  },
  createKey: {
    ...change,
    path: '/api/dashboard/keys',
    status: 201,
    summary: 'Create a key, shown once',
    body: createKeyBody,
    reply: createKeyReply,
  },
  revokeKey: {
    ...change,
    path: '/api/dashboard/keys/:key_id/revoke',
    summary: 'Revoke a key at once',
    params: keyPath,
    reply: doneReply,
  },
  listAudit: {
    ...view,
    path: '/api/dashboard/audit',
    summary: 'Who did what, when, from where',
    query: pageQuery,
    reply: pageOf(auditEntrySchema),
  },
  loadLimits: { ...view, path: '/api/dashboard/limits', summary: 'Quota, buckets and run budget', reply: limitsReply },
  loadOverview: {
    ...view,
    path: '/api/dashboard/overview',
    summary: 'Decisions over time, agents, sessions that need attention',
    query: overviewQuery,
    reply: overviewReply,
  },
  listAgents: {
    ...view,
    path: '/api/dashboard/agents',
    summary: 'Agents with coverage and attachment by environment',
    reply: z.strictObject({ agents: z.array(agentRowSchema) }),
  },
  listSessions: {
    ...view,
    path: '/api/dashboard/sessions',
    summary: 'Sessions, newest first, filtered',
    query: sessionsQuery,
    reply: pageOf(sessionRowSchema),
  },
  loadSessionDetail: {
    ...view,
    path: '/api/dashboard/sessions/:session_id',
    summary: 'One session with its pending work',
    params: sessionPath,
    reply: sessionDetailReply,
  },
  loadTimeline: {
    ...view,
    path: '/api/dashboard/sessions/:session_id/timeline',
    summary: 'The events of a session with decisions, receipts and the state after each',
    params: sessionPath,
    query: timelineQuery,
    reply: timelineReply,
  },
  loadProof: {
    ...view,
    path: '/api/dashboard/sessions/:session_id/proof',
    summary: 'Verify the ledger of a session and export it',
    params: sessionPath,
    reply: proofReply,
  },
  killSessionByPerson: {
    ...change,
    path: '/api/dashboard/sessions/:session_id/kill',
    summary: 'Kill a session from the dashboard',
    params: sessionPath,
    body: killBody,
    reply: stopReply,
  },
  addLabelByPerson: {
    ...change,
    path: '/api/dashboard/sessions/:session_id/labels',
    summary: 'Append an immutable label from the dashboard',
    params: sessionPath,
    body: addLabelBody,
    reply: addLabelReply,
  },
  eraseContent: {
    ...change,
    path: '/api/dashboard/sessions/:session_id/erase',
    summary: 'Erase the content of a session; its ledger still verifies',
    params: sessionPath,
    reply: doneReply,
  },
  listWorkflows: {
    ...view,
    path: '/api/dashboard/workflows',
    workflows: true,
    summary: 'Workflows, newest first',
    query: pageQuery,
    reply: pageOf(workflowRowSchema),
  },
  loadWorkflowDetail: {
    ...view,
    path: '/api/dashboard/workflows/:workflow_id',
    workflows: true,
    summary: 'One workflow: roles, sessions, handoffs, held resources',
    params: workflowPath,
    reply: workflowViewSchema,
  },
  killWorkflowByPerson: {
    ...change,
    path: '/api/dashboard/workflows/:workflow_id/kill',
    workflows: true,
    summary: 'Kill a workflow from the dashboard',
    params: workflowPath,
    body: killBody,
    reply: killWorkflowReply,
  },
  judgePlayground: {
    ...change,
    path: '/api/dashboard/playground',
    summary: 'Judge a pasted response against a pasted pack',
    body: playgroundBody,
    reply: playgroundReply,
  },
} as const satisfies Record<string, Route>
