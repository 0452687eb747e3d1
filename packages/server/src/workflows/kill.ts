import type { Reply, Routes } from '@countersign/protocol'
import { changeWorkflow, everyMember, recordOnSession, recordOnWorkflow } from '../change/change-workflow.js'
import { audit } from '../context/audit.js'
import type { Context } from '../context/context.js'
import type { NewContent } from '../store/sessions/content.js'

/** Longer than for other writes: a stop must get through. */
const KILL_LOCK_TIMEOUT_MS = 10_000

export interface WorkflowKill {
  readonly workflowId: string
  readonly by: 'client' | 'dashboard'
  readonly reason: string | undefined
}

/**
 * Kills a workflow and every session in it, in one transaction, for good, and says so in the audit
 * trail. A session that is being created at this moment waits for the workflow's lock, and then finds it killed.
 */
export async function killWorkflow(
  ctx: Context,
  { workflowId, by, reason }: WorkflowKill,
): Promise<Reply<Routes['killWorkflow']>> {
  const sessionsKilled = await changeWorkflow(
    ctx,
    workflowId,
    async (locked) => {
      const { tx, workflow } = locked
      if (workflow.status === 'KILLED') return 0
      const sessions: string[] = []
      for await (const loaded of everyMember(locked)) {
        const { fixed, head, now } = loaded.session
        if (head.state.status === 'KILLED') continue
        const storesText = reason !== undefined && fixed.captureLevel !== 'metadata'
        const content: NewContent[] = storesText ? [{ kind: 'reason', ref: 'kill', text: JSON.stringify(reason) }] : []
        await recordOnSession(loaded, [{ type: 'killed', at: now.toISOString(), body: { by: 'workflow' } }], {
          content,
        })
        sessions.push(fixed.sessionId)
      }
      await recordOnWorkflow(tx, workflow, [{ type: 'killed', at: workflow.now.toISOString(), body: { by, sessions } }])
      // A program's reason is content: each session stores it as its level allows, until it is erased there.
      const detail = by === 'dashboard' ? (reason ?? null) : null
      await audit(tx, ctx, { action: 'workflow_killed', subject: workflowId, detail })
      return sessions.length
    },
    { lockTimeoutMs: KILL_LOCK_TIMEOUT_MS },
  )
  return { workflow_id: workflowId, status: 'KILLED', sessions_killed: sessionsKilled }
}
