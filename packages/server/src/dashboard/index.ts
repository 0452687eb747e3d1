import { addLabelByPerson } from './add-label-by-person.js'
import { eraseContent } from './erase-content.js'
import { exportEventsByPerson } from './export-events-by-person.js'
import { judgePlayground } from './judge-playground.js'
import { killSessionByPerson } from './kill-session-by-person.js'
import { killWorkflowByPerson } from './kill-workflow-by-person.js'
import { listAgents } from './list-agents.js'
import { listCalls } from './list-calls.js'
import { listSessions } from './list-sessions.js'
import { listSharedLimits } from './list-shared-limits.js'
import { listWorkflows } from './list-workflows.js'
import { loadLimits } from './load-limits.js'
import { loadOverview } from './load-overview.js'
import { loadProof } from './load-proof.js'
import { loadSessionDetail } from './load-session-detail.js'
import { loadTimeline } from './load-timeline.js'
import { loadWorkflowDetail } from './load-workflow-detail.js'

/** What people see and stop from the dashboard. */
export const dashboardHandlers = {
  loadOverview,
  loadLimits,
  listSharedLimits,
  listAgents,
  listSessions,
  listSessionsByKey: listSessions,
  listCalls,
  loadSessionDetail,
  loadTimeline,
  loadProof,
  exportEventsByPerson,
  killSessionByPerson,
  addLabelByPerson,
  listWorkflows,
  loadWorkflowDetail,
  killWorkflowByPerson,
  eraseContent,
  judgePlayground,
}
