import type { Services } from '../context.js'
import type { Tx } from '../store/database.js'
import { findHandoff, listLapsedOffers, moveHandoff } from '../store/handoffs.js'
import { loadWorkflow, tryLockWorkflow } from '../store/workflows.js'
import { lockMembers, memberOf, recordOnSession, recordOnWorkflow } from './change-workflow.js'
import { handoffEvent } from './handoff-view.js'

/**
 * Writes down that offers have expired; they cannot be taken from that moment on in any case. A workflow that somebody
 * works on is left for the next time.
 */
export async function expireOffers(tx: Tx, { plans }: Pick<Services, 'plans'>, limit = 50): Promise<number> {
  let expired = 0
  for (const { tenantId, workflowId, handoffId } of await listLapsedOffers(tx, limit)) {
    const workflow = (await tryLockWorkflow(tx, tenantId, workflowId))
      ? await loadWorkflow(tx, tenantId, workflowId)
      : null
    const handoff = workflow === null ? null : await findHandoff(tx, workflow, handoffId)
    if (workflow === null || handoff === null) continue
    if (!(await moveHandoff(tx, workflow, { handoff, move: 'expire', at: workflow.now }))) continue
    const members = await lockMembers({ tx, workflow, plans }, [handoff.fromSession])
    const giver = memberOf(members, handoff.fromSession)
    await recordOnSession(giver, [handoffEvent('handoff_expired', { workflow, handoff, side: 'from' })])
    const at = workflow.now.toISOString()
    await recordOnWorkflow(tx, workflow, [{ type: 'handoff_expired', at, body: { handoff_id: handoffId } }])
    expired++
  }
  return expired
}
