import { z } from 'zod'
import { environmentSchema, idSchema, timeSchema } from '../base/ids.js'
import { planStatusSchema } from '../contract/plan.js'
import { runBudgetSchema } from '../governance/run.js'
import { pageOf, pageQuery } from '../http/paging.js'
import type { Route } from '../http/route.js'
import { exportEventsQuery, exportEventsReply } from '../session/ledger.js'
import { addLabelBody, addLabelReply, killBody, stopReply } from '../session/session.js'
import { sessionActivitySchema } from '../session/session-status.js'
import { blockReasonSchema } from '../session/turn.js'
import { killWorkflowReply, workflowPath, workflowStatusSchema, workflowViewSchema } from '../session/workflow.js'
import {
  auditEntrySchema,
  auditQuery,
  createKeyBody,
  createKeyReply,
  doneReply,
  keyPath,
  listKeysReply,
  quotaSchema,
  revokeKeyBody,
} from './account.js'
import {
  callRowSchema,
  callsQuery,
  proofReply,
  sessionDetailReply,
  sessionRowSchema,
  sessionsQuery,
  timelineQuery,
  timelineReply,
} from './dashboard-sessions.js'
import { playgroundBody, playgroundReply } from './playground.js'
import { sharedLimitsQuery, sharedLimitsReply } from './shared-limit-usage.js'

const view = { method: 'GET', auth: 'cookie', role: 'viewer', throttle: 'dashboard' } as const
const change = { method: 'POST', auth: 'cookie', role: 'owner', throttle: 'dashboard' } as const
const stop = { method: 'POST', auth: 'cookie', role: 'approver', throttle: 'stop' } as const
const sessionPath = z.strictObject({ session_id: idSchema })

export const limitsReply = z.strictObject({
  quota: quotaSchema,
  buckets: z.array(z.strictObject({ bucket: z.string(), per_minute: z.int(), available: z.number() })),
  /** Of request bodies. */
  bytes: z.strictObject({ per_day: z.int(), available: z.int() }),
  runs: runBudgetSchema,
  keys: z.strictObject({ active: z.int(), limit: z.int() }),
})
export type LimitsView = z.infer<typeof limitsReply>

/**
 * The share of proposed calls, decided or only captured, that were under a contract in force: of an approved plan, or of the
 * pack that a session or a program brought. Null: none was proposed.
 */
export const coverageSchema = z.number().nullable()

export const overviewQuery = z.strictObject({ range: z.enum(['1h', '24h', '7d', '30d']).default('24h') })
export const overviewReply = z.strictObject({
  range: z.string(),
  /** The numbers count from here on. */
  since: timeSchema,
  /** Equal spans of time, oldest first, empty ones included; the first may begin before `since`. */
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
    /** Allowed calls that will not be answered, within the retention of the service. */
    unanswered_calls: z.int(),
    killed: z.int(),
    compromised: z.int(),
  }),
  /** When the oldest unanswered call was allowed. */
  oldest_unanswered: timeSchema.nullable(),
  /** Only the 10,000 oldest calls without a receipt were looked at: there may be more that are unanswered. */
  unanswered_more: z.literal(true).optional(),
  /** Learned plans in force that ask or block more than they promised, and how; at most five. */
  drifting_plans: z.array(
    z.strictObject({ plan_id: z.string(), agent: z.string(), environment: environmentSchema, drift: z.string() }),
  ),
  reasons: z.array(z.strictObject({ reason: blockReasonSchema, count: z.int() })),
  /** How many agents there are; `agents` lists at most 200, the busiest. */
  agents_total: z.int(),
  agents: z.array(
    z.strictObject({
      agent: z.string(),
      sessions: z.int(),
      allowed: z.int(),
      blocked: z.int(),
      coverage: coverageSchema,
      last_seen: timeSchema.nullable(),
    }),
  ),
  /** The newest blocked calls, at most ten; `seq` and `index` locate each in the session's timeline. */
  recent_blocks: z.array(
    z.strictObject({
      at: timeSchema,
      session_id: z.string(),
      agent: z.string(),
      seq: z.int(),
      index: z.int(),
      tool_name: z.string(),
      reason: blockReasonSchema,
    }),
  ),
})
export type OverviewView = z.infer<typeof overviewReply>

/** Over the sessions that started in the last 30 days. */
export const agentHealthSchema = z.strictObject({
  /**
   * Degraded: a session was killed or compromised, has calls in doubt or unanswered, or a tenth of the calls is
   * blocked. Inactive: no activity for a week.
   */
  status: z.enum(['healthy', 'degraded', 'inactive']),
  blocked_calls: z.int(),
  unanswered_calls: z.int(),
  /** As in the overview: there may be more, of this agent or of others. */
  unanswered_more: z.literal(true).optional(),
  recovering: z.int(),
  compromised: z.int(),
  killed: z.int(),
})

export const agentRowSchema = z.strictObject({
  agent: z.string(),
  /** Sessions, decided calls, coverage and health count from here on: the last 30 days. */
  since: timeSchema,
  sessions: z.int(),
  /** The last event of the agent, in a session or a capture. */
  last_seen: timeSchema.nullable(),
  health: agentHealthSchema,
  /** `enforced`: decided before they ran. `observed`: learned from, and judged by no rule. `ungoverned`: of these, those of tools without an approved contract. */
  calls: z.strictObject({ enforced: z.int(), observed: z.int(), ungoverned: z.int() }),
  coverage: coverageSchema,
  /** Captures that wait to be learned from: `observed`, and the learned contracts, lag behind by these. */
  waiting_captures: z.int(),
  /** Captures that are not learned from any more, because learning from them failed again and again; and why, of the last. */
  set_aside: z.strictObject({ captures: z.int(), reason: z.string().nullable() }),
  environments: z.array(
    z.strictObject({
      environment: environmentSchema,
      status: planStatusSchema,
      compiled_hash: z.string().nullable(),
      approved_at: timeSchema.nullable(),
    }),
  ),
})
export type AgentRow = z.infer<typeof agentRowSchema>

export const workflowRowSchema = z.strictObject({
  workflow_id: z.string(),
  status: workflowStatusSchema,
  activity: sessionActivitySchema,
  sessions: z.int(),
  open_handoffs: z.int(),
  created_at: timeSchema,
})
export type WorkflowRow = z.infer<typeof workflowRowSchema>

/** What the dashboard reads and changes; cookies only. */
export const dashboardRoutes = {
  listKeys: {
    ...view,
    role: 'owner',
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
    ...stop,
    role: 'owner',
    path: '/api/dashboard/keys/:key_id/revoke',
    summary: 'Revoke a key immediately',
    params: keyPath,
    body: revokeKeyBody,
    lenientBody: true,
    reply: doneReply,
  },
  listAudit: {
    ...view,
    role: 'owner',
    path: '/api/dashboard/audit',
    summary: 'Who did what, when, from where',
    query: auditQuery,
    reply: pageOf(auditEntrySchema),
  },
  loadLimits: { ...view, path: '/api/dashboard/limits', summary: 'Quota, buckets and run budget', reply: limitsReply },
  listSharedLimits: {
    ...view,
    path: '/api/dashboard/shared-limits',
    summary: 'What is used of limits over all sessions, for each key',
    query: sharedLimitsQuery,
    reply: sharedLimitsReply,
  },
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
    /**
     * `total`: how many agents there are; the list has at most 200, those seen last. Sessions that name no agent are those of
     * `default`.
     */
    reply: z.strictObject({ agents: z.array(agentRowSchema), total: z.int() }),
  },
  listSessions: {
    ...view,
    path: '/api/dashboard/sessions',
    summary: 'Sessions by their start, filtered',
    query: sessionsQuery,
    reply: pageOf(sessionRowSchema),
  },
  listCalls: {
    ...view,
    path: '/api/dashboard/calls',
    summary: 'Judged calls, newest first, filtered',
    query: callsQuery,
    reply: pageOf(callRowSchema),
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
    summary: 'Verify the ledger of a session, its signed head and its stored content',
    params: sessionPath,
    reply: proofReply,
  },
  exportEventsByPerson: {
    ...view,
    path: '/api/dashboard/sessions/:session_id/events',
    summary: 'Export the ledger of a session from the dashboard, page by page',
    params: sessionPath,
    query: exportEventsQuery,
    reply: exportEventsReply,
  },
  killSessionByPerson: {
    ...stop,
    path: '/api/dashboard/sessions/:session_id/kill',
    summary: 'Kill a session from the dashboard',
    params: sessionPath,
    body: killBody,
    lenientBody: true,
    reply: stopReply,
  },
  addLabelByPerson: {
    ...stop,
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
    ...stop,
    path: '/api/dashboard/workflows/:workflow_id/kill',
    workflows: true,
    summary: 'Kill a workflow from the dashboard',
    params: workflowPath,
    body: killBody,
    lenientBody: true,
    reply: killWorkflowReply,
  },
  judgePlayground: {
    ...change,
    role: 'viewer',
    path: '/api/dashboard/playground',
    summary: 'Evaluate a pasted response against a pasted pack',
    body: playgroundBody,
    reply: playgroundReply,
  },
} as const satisfies Record<string, Route>
