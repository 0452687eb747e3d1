import type { Answer } from '../../api/api.js'
import { useChange } from '../../api/use-api.js'
import { KillButton } from '../../components/form/kill-button.js'
import { plural } from '../../text/format.js'

/** Kills a workflow and all its sessions after a confirmation. */
export function KillWorkflow({ workflow }: { workflow: Answer<'loadWorkflowDetail'> }) {
  const kill = useChange('killWorkflowByPerson', [
    'loadWorkflowDetail',
    'listWorkflows',
    'listSessions',
    'loadOverview',
    'listAudit',
  ])
  const params = { workflow_id: workflow.workflow_id }
  const alive = workflow.sessions.filter(({ status }) => status !== 'KILLED').length
  return (
    <KillButton what="workflow" change={kill} onKill={(body, done) => kill.mutate({ params, body }, done)}>
      {plural(alive, 'session stops', 'sessions stop')} immediately, and no session can join any more.
    </KillButton>
  )
}
