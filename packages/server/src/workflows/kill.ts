import type { Reply, Routes } from '@countersign/protocol'
import { changeWorkflow, lockMembers, recordOnSession, recordOnWorkflow } from '../change/change-workflow.js'
import type { Context } from '../context/context.js'
import { insertAuditEntry } from '../store/audit.js'
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
      const live = [...members.values()].filter(({ session }) => session.head.state.status !== 'KILLED')
      for (const loaded of live) {
        const { session } = loaded
        const keepsText = reason !== undefined && session.fixed.captureLevel !== 'metadata'
        const content: NewContent[] = keepsText ? [{ kind: 'reason', ref: 'kill', body: reason }] : []
        const at = session.now.toISOString()
        await recordOnSession(loaded, [{ type: 'killed', at, body: { by: 'workflow' } }], { content })
      }
      const sessions = live.map(({ session }) => session.fixed.sessionId)
      await recordOnWorkflow(tx, workflow, [{ type: 'killed', at: workflow.now.toISOString(), body: { by, sessions } }])
      await insertAuditEntry(tx, {
        tenantId: ctx.tenant.tenantId,
        at: ctx.app.clock(),
        action: 'workflow_killed',
        userId: ctx.tenant.userId,
        actor: actor ?? null,
        keyId: ctx.tenant.keyId,
        ip: ctx.request.clientAddress,
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
