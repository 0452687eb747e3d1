import { useState } from 'react'
import type { Answer } from '../../api.js'
import { Button } from '../../components/button.js'
import { ConfirmDialog } from '../../components/confirm-dialog.js'
import { Field } from '../../components/field.js'
import { plural } from '../../format.js'
import { useChange } from '../../use-api.js'

/** Stops a workflow and every session in it for good, after asking. */
export function KillWorkflow({ workflow }: { workflow: Answer<'loadWorkflowDetail'> }) {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const kill = useChange('killWorkflowByPerson', [
    'loadWorkflowDetail',
    'listWorkflows',
    'listSessions',
    'loadOverview',
  ])
  if (workflow.status === 'KILLED') return null
  const alive = workflow.sessions.filter(({ status }) => status !== 'KILLED').length
  const confirm = () =>
    kill.mutate(
      { params: { workflow_id: workflow.workflow_id }, body: reason.trim() === '' ? {} : { reason: reason.trim() } },
      { onSuccess: () => setAsking(false) },
    )
  return (
    <>
      <Button kind="danger" icon="stop" onClick={() => setAsking(true)}>
        Kill workflow
      </Button>
      {asking ? (
        <ConfirmDialog
          title="Kill this workflow?"
          confirm="Kill workflow"
          kind="danger"
          busy={kill.isPending}
          problem={kill.error}
          onConfirm={confirm}
          onClose={() => setAsking(false)}
        >
          <p>
            {plural(alive, 'session stops', 'sessions stop')} at once, and nobody can join any more. This cannot be
            taken back.
          </p>
          <Field
            label="Why (optional, kept in the audit trail)"
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </ConfirmDialog>
      ) : null}
    </>
  )
}
