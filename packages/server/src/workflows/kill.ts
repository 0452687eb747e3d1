import type { Reply, Routes } from '@countersign/protocol'
import { changeWorkflow, lockMembers, recordOnSession, recordOnWorkflow } from '../change/change-workflow.js'
import type { Context } from '../context/context.js'
import { insertAuditEntry } from '../store/accounts/audit.js'
import type { NewContent } from '../store/sessions/content.js'
import { listSessionsOfWorkflow } from '../store/workflows/workflows.js'

/** Longer than for other writes: a stop must get through. */
const KILL_LOCK_TIMEOUT_MS = 10_000

export interface WorkflowKill {
  readonly workflowId: string
  readonly by: 'client' | 'dashboard'
  readonly reason: string | undefined
  /** The person who asks for it. */
  readonly actor?: string
}

/**
 * Kills a workflow and every session in it, in one transaction, for good, and says so in the audit trail. A session that is being created at this
 * moment waits for the workflow's lock, and then finds it killed.
 */
export async function killWorkflow(
  ctx: Context,
  { workflowId, by, reason, actor }: WorkflowKill,
): Promise<Reply<Routes['killWorkflow']>> {
  const sessionsKilled = await changeWorkflow(
    ctx,
    workflowId,
    async (locked) => {
      const { tx, workflow } = locked
      if (workflow.status === 'KILLED') return 0
      const members = await lockMembers(locked, await listSessionsOfWorkflow(tx, workflow))
      const live = [...members.values()].filter(({ session }) => session.state.status !== 'KILLED')
      for (const sight of live) {
        const { session } = sight
        const keepsText = reason !== undefined && session.captureLevel !== 'metadata'
        const content: NewContent[] = keepsText ? [{ kind: 'reason', ref: 'kill', body: reason }] : []
        const at = session.now.toISOString()
        await recordOnSession(sight, [{ type: 'killed', at, body: { by: 'workflow' } }], { content })
      }
      const sessions = live.map(({ session }) => session.sessionId)
      await recordOnWorkflow(tx, workflow, [{ type: 'killed', at: workflow.now.toISOString(), body: { by, sessions } }])
      await insertAuditEntry(tx, {
        tenantId: ctx.tenantId,
        at: ctx.clock(),
        action: 'workflow_killed',
        userId: ctx.userId,
        actor: actor ?? null,
        keyId: ctx.keyId,
        ip: ctx.clientAddress,
        subject: workflowId,
        // A program's reason is content: each session keeps it as its level allows, until it is erased there.
        detail: by === 'dashboard' ? (reason ?? null) : null,
      })
      return sessions.length
    },
    { lockTimeoutMs: KILL_LOCK_TIMEOUT_MS },
  )
  return { workflow_id: workflowId, status: 'KILLED', sessions_killed: sessionsKilled }
}
