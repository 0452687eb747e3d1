import { randomUUID } from 'node:crypto'
import type { HandoffView, WorkflowView } from '@countersign/protocol'
import { ReplayConfigError, ReplayKillError } from '../base/errors.js'
import type { SessionContext } from './core/session-context.js'
import { POLL_MS, pollUntil, translated } from './workflow-polling.js'

/** Work that a session offers to another role of its workflow. */
export interface HandoffOffer {
  /** The role that may accept the offer. */
  readonly toRole: string
  /**
   * The tools that the receiving session may use at most.
   * @defaultValue all tools of the role
   */
  readonly tools?: readonly string[]
  /** A note for the receiver. */
  readonly note?: string
  /** How long the offer can be accepted. */
  readonly expiresInSeconds?: number
  /**
   * Id of the handoff. Pass one to repeat an offer whose response was lost.
   * @defaultValue generated
   */
  readonly handoffId?: string
}

export async function loadWorkflow(session: SessionContext): Promise<WorkflowView> {
  const { transport, workflowId } = await workflowOf(session)
  return transport.call('loadWorkflow', { params: { workflow_id: workflowId } }).catch(translated)
}

export async function offerHandoff(session: SessionContext, offer: HandoffOffer): Promise<HandoffView> {
  const { transport, api } = await workflowOf(session)
  const { toRole, tools, note, expiresInSeconds, handoffId } = offer
  const body = {
    handoff_id: handoffId ?? `hnd_${randomUUID()}`,
    fence: api.known().fence,
    to_role: toRole,
    ...(tools !== undefined && { tools: [...tools] }),
    ...(note !== undefined && { note }),
    ...(expiresInSeconds !== undefined && { expires_in_seconds: expiresInSeconds }),
  }
  const params = { session_id: session.settings.sessionId }
  const { handoff } = await transport.call('offerHandoff', { params, body }).catch(translated)
  return handoff
}

/** Completes the handoff through which the session joined, after delivering the evidence of its work. */
export async function completeHandoff(session: SessionContext): Promise<HandoffView> {
  const { workflow } = session.settings
  if (workflow?.handoffId === undefined) {
    throw new ReplayConfigError('the session did not join through a handoff, so it has none to complete', null)
  }
  return endHandoff(session, 'completeHandoff', workflow.handoffId)
}

/** The session of a sub-agent, as far as the session that hands it work needs it. */
export interface JoinedSession {
  /** The work is done. */
  completeHandoff(): Promise<HandoffView>
  /** Ends the session. */
  close(): Promise<void>
}

/** Hands work over and waits for it, under the session that `join` opens. The handoff ends with the work, failed or not. */
export async function delegateWork<Joined extends JoinedSession, Result>(
  session: SessionContext,
  offer: HandoffOffer,
  join: (handoff: HandoffView) => Joined | PromiseLike<Joined>,
  work: (session: Joined) => PromiseLike<Result> | Result,
): Promise<Result> {
  const joined = await join(await offerHandoff(session, offer))
  try {
    return await work(joined)
  } finally {
    await joined.completeHandoff().finally(() => joined.close())
  }
}

/** Takes a handoff back that was not taken in time, or whose holder is gone. */
export function reclaimHandoff(session: SessionContext, handoffId: string): Promise<HandoffView> {
  return endHandoff(session, 'reclaimHandoff', handoffId)
}

async function endHandoff(
  session: SessionContext,
  move: 'completeHandoff' | 'reclaimHandoff',
  handoffId: string,
): Promise<HandoffView> {
  const { transport, api, workflowId } = await workflowOf(session)
  await session.calls.whenIdle({ onLongWait: session.notes.toolWaits })
  await session.deliver()
  await session.authority().flush()
  const params = { workflow_id: workflowId, handoff_id: handoffId }
  const body = { session_id: session.settings.sessionId, fence: api.known().fence }
  const { handoff } = await transport.call(move, { params, body }).catch(translated)
  return handoff
}

/** Options of `session.waitForHandoff`. */
export interface HandoffWait {
  /** How long to wait. */
  readonly timeoutMs: number
  /**
   * Time between two requests to the server.
   * @defaultValue `1000`
   */
  readonly pollMs?: number
}

/** Waits until a handoff is completed, reclaimed or expired. Null when it was not in time. */
export async function waitForHandoff(
  session: SessionContext,
  handoffId: string,
  { timeoutMs, pollMs = POLL_MS }: HandoffWait,
): Promise<HandoffView | null> {
  const look = async () => {
    const { status, handoffs } = await loadWorkflow(session)
    if (status === 'KILLED') throw new ReplayKillError('the workflow was killed')
    const found = handoffs.find(({ handoff_id }) => handoff_id === handoffId)
    if (found === undefined) throw new ReplayConfigError(`the workflow has no handoff ${handoffId}`, null)
    return found.state === 'offered' || found.state === 'accepted' ? null : found
  }
  return pollUntil(look, { timeoutMs, pollMs, signal: session.killed })
}

/** Workflows live on the server: only a session that it governs has one. */
async function workflowOf(session: SessionContext) {
  await session.ready()
  const { transport } = session
  const { workflow } = session.settings
  const api = session.api()
  if (transport === null || api === null || workflow === null) {
    throw new ReplayConfigError('the session is not in a workflow: pass the options workflow, apiKey and tools', null)
  }
  await session.authority().open().catch(translated)
  return { transport, api, workflowId: workflow.workflowId }
}
