import { chainWorkflowEvent } from '@countersign/engine'
import type { LedgerHead, SessionEvent, WorkflowEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import type { PlanCache } from '../context/plan-cache.js'
import { inTransaction } from '../context/work.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Query, Queryable, Tx } from '../postgres/sql.js'
import type { NewContent } from '../store/sessions/content.js'
import { loadSession, lockSessions } from '../store/sessions/sessions.js'
import { writeChange } from '../store/sessions/write-change.js'
import {
  appendWorkflowEvents,
  listSessionsOfWorkflow,
  loadWorkflow,
  lockWorkflow,
  type NewWorkflowEvent,
  type WorkflowRow,
} from '../store/workflows/workflows.js'
import { advance } from './advance.js'
import { type LoadedSession, NO_PLAN } from './change-session.js'

/** A workflow behind its lock: nothing of it, its handoffs and holds can change until the transaction ends. */
export interface LockedWorkflow {
  readonly tx: Tx
  readonly workflow: WorkflowRow
  readonly plans: PlanCache
}

/** Decides on a workflow and writes the decision in one transaction. 404 when the tenant has none by this id. */
export async function changeWorkflow<T>(
  ctx: Context,
  workflowId: string,
  change: (locked: LockedWorkflow) => Promise<T>,
  options: WorkOptions = {},
): Promise<T> {
  return inTransaction(ctx, async (tx) => change(await openLocked(ctx, tx, workflowId)), options)
}

export async function openLocked(ctx: Context, tx: Tx, workflowId: string): Promise<LockedWorkflow> {
  const isThere = await lockWorkflow(tx, ctx.tenant.tenantId, workflowId)
  const workflow = isThere ? await loadWorkflow(tx, ctx.tenant.tenantId, workflowId) : null
  if (workflow === null) throw new ApiError('NOT_FOUND')
  return { tx, workflow, plans: ctx.app.plans }
}

export function requireLive({ workflow }: LockedWorkflow): void {
  if (workflow.status === 'KILLED') throw new ApiError('WORKFLOW_KILLED')
}

/** A few sessions of the workflow behind their locks. 404 for one that is not in it. */
export async function lockMembers(
  locked: LockedWorkflow,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, LoadedSession>> {
  await lockSessions(locked.tx, locked.workflow.tenantId, sessionIds)
  const members = new Map<string, LoadedSession>()
  for (const sessionId of sessionIds) members.set(sessionId, await loadMember(locked, sessionId))
  return members
}

/** A session that is behind its lock already. 404 for one that is not in the workflow. */
export async function loadMember({ tx, workflow, plans }: LockedWorkflow, sessionId: string): Promise<LoadedSession> {
  const session = await loadSession(tx, workflow.tenantId, sessionId)
  if (session?.fixed.workflowId !== workflow.workflowId) throw new ApiError('NOT_FOUND')
  const query: Query = (fn) => fn(tx)
  return { session, plan: await plans.ofSession(query, session.fixed, 0), query, locked: true, workflow }
}

type WithoutPlans = Omit<LockedWorkflow, 'plans'>

/** A session of the workflow behind its lock, for what is decided without its plan. 404 for one that is not in it. */
export async function lockMemberWithoutPlan(locked: WithoutPlans, sessionId: string): Promise<LoadedSession> {
  const { tx, workflow } = locked
  await lockSessions(tx, workflow.tenantId, [sessionId])
  const session = await loadSession(tx, workflow.tenantId, sessionId)
  if (session?.fixed.workflowId !== workflow.workflowId) throw new ApiError('NOT_FOUND')
  return { session, plan: NO_PLAN, query: (fn) => fn(tx), locked: true, workflow }
}

/**
 * All sessions of the workflow behind their locks, one after another: their states may have megabytes each. For what is
 * decided without their plans.
 */
export async function* everyMember({ tx, workflow }: WithoutPlans): AsyncGenerator<LoadedSession> {
  const sessionIds = await listSessionsOfWorkflow(tx, workflow)
  await lockSessions(tx, workflow.tenantId, sessionIds)
  for (const sessionId of sessionIds) {
    const session = await loadSession(tx, workflow.tenantId, sessionId)
    if (session === null) throw new Error('a locked session is gone')
    yield { session, plan: NO_PLAN, query: (fn) => fn(tx), locked: true, workflow }
  }
}

export function memberOf(members: ReadonlyMap<string, LoadedSession>, sessionId: string): LoadedSession {
  const member = members.get(sessionId)
  if (member === undefined) throw new ApiError('NOT_FOUND')
  return member
}

/** Writes events of a locked session. Returns where its ledger stands then. */
export async function recordOnSession(
  loaded: LoadedSession,
  events: readonly SessionEvent[],
  { leaseUntil, content }: { leaseUntil?: 'renewed'; content?: readonly NewContent[] } = {},
): Promise<LedgerHead> {
  const { session } = loaded
  const next = advance(loaded, events, leaseUntil && { leaseUntil })
  const change = { session, head: next.head, events: next.events, ...(content && { content }) }
  if (!(await loaded.query((sql) => writeChange(sql, change)))) throw new Error('a locked session was changed')
  return next.head.ledger
}

/** Writes events of a locked workflow. Once in a transaction: the events are chained to the ledger as it was read. */
export async function recordOnWorkflow(
  sql: Queryable,
  workflow: WorkflowRow,
  events: readonly WorkflowEvent[],
): Promise<void> {
  const isWritten = await appendWorkflowEvents(sql, workflow, chainOnWorkflow(workflow, events))
  if (!isWritten) throw new Error('a locked workflow was changed')
}

/** The events chained to the workflow's ledger. */
export function chainOnWorkflow(workflow: WorkflowRow, events: readonly WorkflowEvent[]): NewWorkflowEvent[] {
  let head: LedgerHead | null = workflow.ledger.seq === 0 ? null : workflow.ledger
  return events.map((event) => {
    const { workflow_id: _, ...link } = chainWorkflowEvent(head, workflow.workflowId, event)
    head = { seq: link.seq, hash: link.hash }
    return link
  })
}
