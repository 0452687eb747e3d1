import { JOBS_SHARE } from '../base/work/piece-of-work.js'
import { lockMemberWithoutPlan, recordOnSession, recordOnWorkflow } from '../change/change-workflow.js'
import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { findHandoff, type LapsedOffer, listLapsedOffers, moveHandoff } from '../store/workflows/handoffs.js'
import { loadWorkflow, tryLockWorkflow } from '../store/workflows/workflows.js'
import { handoffEvent } from './handoff-view.js'

/** After so long of writing the offers are listed anew: those that lapsed meanwhile then come first. */
const LIST_MS = 1_000

/**
 * Writes down that offers have expired; they cannot be taken from that moment on in any case. Each is a transaction of
 * its own, so that one which cannot be written holds up no other; the tenant's others wait for the next time, since each may
 * take as long to fail. Each tenant has its turn, and what is left after a second waits for the next list. Returns how many
 * were written.
 */
export async function expireOffers(services: Pick<Services, 'database' | 'log'>, limit = 50): Promise<number> {
  const { database, log } = services
  let expired = 0
  let writingMs = 0
  const failed = new Set<string>()
  const served = new Set<string>()
  for (const offer of await database.read(JOBS_SHARE, (sql) => listLapsedOffers(sql, limit))) {
    const { tenantId, workflowId, handoffId } = offer
    if (failed.has(tenantId)) continue
    if (writingMs > LIST_MS && served.has(tenantId)) break
    const startMs = performance.now()
    try {
      if (await database.transaction(tenantId, (tx) => expireOffer(tx, offer))) expired++
      // Not counted where it failed: others would have one offer written for each that takes long to fail.
      writingMs += performance.now() - startMs
      served.add(tenantId)
    } catch (error) {
      failed.add(tenantId)
      log.warn({ error, workflow_id: workflowId, handoff_id: handoffId }, 'an offer could not be written as expired')
    }
  }
  return expired
}

/** False when another instance was first, or works on the workflow: then it is left for the next time. */
async function expireOffer(tx: Tx, offer: LapsedOffer): Promise<boolean> {
  const { tenantId, workflowId, handoffId } = offer
  if (!(await tryLockWorkflow(tx, tenantId, workflowId))) return false
  const workflow = await loadWorkflow(tx, tenantId, workflowId)
  const handoff = workflow === null ? null : await findHandoff(tx, workflow, handoffId)
  if (workflow === null || handoff === null) return false
  if (!(await moveHandoff(tx, workflow, { handoff, move: 'expire', at: workflow.now }))) return false
  // Without its plan, which may take long to prepare: what the session may do stays as it is.
  const giver = await lockMemberWithoutPlan({ tx, workflow }, handoff.fromSession)
  await recordOnSession(giver, [handoffEvent('handoff_expired', { workflow, handoff, side: 'from' })])
  const at = workflow.now.toISOString()
  await recordOnWorkflow(tx, workflow, [{ type: 'handoff_expired', at, body: { handoff_id: handoffId } }])
  return true
}
