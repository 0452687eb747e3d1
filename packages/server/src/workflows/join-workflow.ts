import { firstWorkflowProblem, hashValue, rootRoles, toolsOfRole } from '@countersign/engine'
import {
  type HandoffState,
  type Input,
  type JsonValue,
  type LedgerBody,
  LIMITS,
  type Routes,
  type WorkflowDefinition,
  type WorkflowEvent,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { LoadedSession } from '../change/change-session.js'
import {
  type LockedWorkflow,
  lockMembers,
  memberOf,
  openLocked,
  recordOnSession,
  recordOnWorkflow,
  requireLive,
} from '../change/change-workflow.js'
import type { Context } from '../context/context.js'
import { inTransaction } from '../context/work.js'
import type { Tx } from '../postgres/sql.js'
import { readClock } from '../store/clock.js'
import type { SessionChange } from '../store/sessions/session-change.js'
import { writeChange } from '../store/sessions/write-change.js'
import { findHandoff, type Handoff, measureWorkflow, moveHandoff } from '../store/workflows/handoffs.js'
import {
  insertWorkflow,
  listSessionsOfWorkflow,
  loadDefinition,
  type NewWorkflow,
} from '../store/workflows/workflows.js'
import { handoffEvent } from './handoff-view.js'

type Body = Input<Routes['createSession']>['body']
type Join = NonNullable<Body['workflow']>

/** What a session begins with because of the workflow it joins. */
export interface Membership {
  readonly now: Date
  readonly workflow: NonNullable<LedgerBody<'created'>['workflow']>
  /** From the session that offered. */
  readonly labels: readonly string[]
}

/**
 * Creates a session in a workflow, and the workflow itself where a root brings its definition. Joining with a handoff
 * is accepting it. Null when the session's id is taken; then nothing is changed.
 */
export async function joinWorkflow(
  ctx: Context,
  body: Body & { readonly workflow: Join },
  build: (membership: Membership) => SessionChange,
): Promise<SessionChange | null> {
  const { workflow_id: workflowId, definition } = body.workflow
  const brought = definition === undefined ? null : readDefinition(definition)
  try {
    return await inTransaction(ctx, async (tx) => {
      const opened = brought !== null && (await openWorkflow(ctx, tx, { workflowId, ...brought }))
      const locked = await openLocked(ctx, tx, workflowId)
      return join(locked, { body, brought, opened, build })
    })
  } catch (error) {
    if (error instanceof SessionIdTaken) return null
    throw error
  }
}

/** Undoes the transaction: the workflow must not be opened, nor the handoff taken, by a session that is not created. */
class SessionIdTaken extends Error {}

type Brought = Pick<NewWorkflow, 'definition' | 'definitionHash'>

/** A definition that can be used, and its hash. A large one takes tens of milliseconds, which are not spent under a lock. */
function readDefinition(definition: WorkflowDefinition): Brought {
  const problem = firstWorkflowProblem(definition)
  if (problem !== null) {
    const where = ['body.workflow.definition', ...problem.path].join('.')
    throw new ApiError('INVALID_REQUEST', { detail: `${where}: ${problem.message}; ${problem.fix}` })
  }
  return { definition, definitionHash: hashValue(definition as JsonValue) }
}

/** True when this create opened the workflow. */
async function openWorkflow(
  ctx: Context,
  tx: Tx,
  brought: Brought & Pick<NewWorkflow, 'workflowId'>,
): Promise<boolean> {
  return insertWorkflow(tx, {
    ...brought,
    tenantId: ctx.tenant.tenantId,
    keySalt: ctx.app.random(24).toString('base64url'),
    createdAt: await readClock(tx),
  })
}

interface Joining {
  readonly body: Body & { readonly workflow: Join }
  /** The definition that came along. */
  readonly brought: Brought | null
  readonly opened: boolean
  readonly build: (membership: Membership) => SessionChange
}

async function join(locked: LockedWorkflow, { body, brought, opened, build }: Joining): Promise<SessionChange> {
  const { tx, workflow } = locked
  const { role, handoff_id: handoffId } = body.workflow
  const members = await listSessionsOfWorkflow(tx, workflow)
  // The same create came twice at once, and the other one took the handoff.
  if (members.includes(body.session_id)) throw new SessionIdTaken()
  const handoff = handoffId === undefined ? null : await findHandoff(tx, workflow, handoffId)
  if (handoffId !== undefined && handoff === null) throw new ApiError('NOT_FOUND')
  if (brought !== null && brought.definitionHash !== workflow.definitionHash) throw new ApiError('WORKFLOW_EXISTS')
  requireLive(locked)
  const definition = brought?.definition ?? (await loadDefinition(tx, workflow))
  const roleTools = requireRole(definition, body)
  const tools = handoff === null ? roleTools : handoff.tools
  if (handoff === null) requireRoot(definition, role)
  else requireOffer(handoff, role, workflow.now)
  if (members.length >= LIMITS.sessionsPerWorkflow) throw new ApiError('WORKFLOW_LIMIT')
  if ((await measureWorkflow(tx, workflow)) >= LIMITS.workflowBytes) throw new ApiError('WORKFLOW_LIMIT')

  const giver =
    handoff === null ? null : memberOf(await lockMembers(locked, [handoff.fromSession]), handoff.fromSession)
  if (handoff !== null && giver !== null) requireGiver(handoff, giver)
  const inherited = giver?.session.head.state.labels ?? []
  const labels = [...new Set([...(body.labels ?? []), ...inherited])]
  if (labels.length > LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT')

  const { workflowId } = workflow
  const facts = { workflow_id: workflowId, role, handoff_id: handoffId ?? null, tools }
  const created = build({ now: workflow.now, workflow: facts, labels })
  if (!(await writeChange(tx, created))) throw new SessionIdTaken()

  const at = workflow.now.toISOString()
  const events: WorkflowEvent[] = []
  if (opened) events.push({ type: 'opened', at, body: { definition_hash: workflow.definitionHash } })
  const joined = { session_id: body.session_id, role, handoff_id: handoffId ?? null, tools }
  events.push({ type: 'joined', at, body: joined })
  if (handoff !== null && giver !== null) {
    const moved = { handoff, move: 'accept', at: workflow.now, toSession: body.session_id, labels: inherited } as const
    if (!(await moveHandoff(tx, workflow, moved))) throw stateRefusal(handoff)
    await recordOnSession(giver, [handoffEvent('handoff_accepted', { workflow, handoff, side: 'from' })])
    const accepted = { handoff_id: handoff.handoffId, to_session: body.session_id, labels: [...inherited] }
    events.push({ type: 'handoff_accepted', at, body: accepted })
  }
  await recordOnWorkflow(tx, workflow, events)
  return created
}

/** The tools of the role. 400 where the definition has no such role, or reserves it for another agent. */
function requireRole(definition: WorkflowDefinition, { workflow: { role }, agent }: Joining['body']) {
  const tools = toolsOfRole(definition, role)
  if (tools === undefined) {
    const known = Object.keys(definition.roles).join(', ')
    const detail = `body.workflow.role: the workflow has no role ${JSON.stringify(role)}; use one of ${known}`
    throw new ApiError('INVALID_REQUEST', { detail })
  }
  const wanted = definition.roles[role]?.agent
  if (wanted !== undefined && wanted !== agent) {
    const detail = `body.agent: the role ${JSON.stringify(role)} is for the agent ${JSON.stringify(wanted)}`
    throw new ApiError('INVALID_REQUEST', { detail })
  }
  return tools
}

function requireRoot(definition: WorkflowDefinition, role: string): void {
  if (rootRoles(definition).has(role)) return
  const detail = `the role ${JSON.stringify(role)} can only be taken by accepting an offer: send workflow.handoff_id`
  throw new ApiError('HANDOFF_NOT_ALLOWED', { detail })
}

function requireOffer(handoff: Handoff, role: string, now: Date): void {
  if (handoff.state !== 'offered') throw stateRefusal(handoff)
  if (handoff.expiresAt <= now) throw stateRefusal(handoff, 'expired')
  if (handoff.toRole === role) return
  throw new ApiError('HANDOFF_NOT_ALLOWED', { detail: `the handoff is for the role ${JSON.stringify(handoff.toRole)}` })
}

/** A stopped session lends nothing: its offer cannot be reclaimed, so it must not be taken. */
function requireGiver(
  handoff: Handoff,
  {
    session: {
      head: { state },
    },
  }: LoadedSession,
): void {
  if (state.status !== 'KILLED' && state.status !== 'COMPROMISED') return
  const detail = `the session that offered the handoff is ${state.status.toLowerCase()}`
  throw new ApiError('HANDOFF_STATE', { state: handoff.state, detail })
}

const stateRefusal = (handoff: Handoff, state: HandoffState = handoff.state) => new ApiError('HANDOFF_STATE', { state })
