import { completeHandoff } from './complete-handoff.js'
import { exportWorkflowEvents } from './export-workflow-events.js'
import { killWorkflow } from './kill-workflow.js'
import { loadWorkflow } from './load-workflow.js'
import { offerHandoff } from './offer-handoff.js'
import { reclaimHandoff } from './reclaim-handoff.js'

/** Several sessions, one authority: their shared state, handoffs between them, and the stop of all at once. */
export const workflowHandlers = {
  loadWorkflow,
  exportWorkflowEvents,
  offerHandoff,
  completeHandoff,
  reclaimHandoff,
  killWorkflow,
}
