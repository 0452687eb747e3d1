import type { SessionView } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../components/button.js'
import { ConfirmDialog } from '../../components/confirm-dialog.js'
import { Field } from '../../components/field.js'
import { Text } from '../../components/text.js'
import { useChange } from '../../use-api.js'

/** Stops a session for good, after asking. */
export function KillSession({ session }: { session: SessionView }) {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const kill = useChange('killSessionByPerson', ['loadSessionDetail', 'loadTimeline', 'listSessions', 'loadOverview'])
  if (session.status === 'KILLED') return null
  const confirm = () =>
    kill.mutate(
      { params: { session_id: session.session_id }, body: reason.trim() === '' ? {} : { reason: reason.trim() } },
      { onSuccess: () => setAsking(false) },
    )
  return (
    <>
      <Button kind="danger" icon="stop" onClick={() => setAsking(true)}>
        Kill session
      </Button>
      {asking ? (
        <ConfirmDialog
          title="Kill this session?"
          confirm="Kill session"
          kind="danger"
          busy={kill.isPending}
          problem={kill.error}
          onConfirm={confirm}
          onClose={() => setAsking(false)}
        >
          <p>
            <Text value={session.session_id} className="name" /> can propose nothing from now on, and calls that wait to
            run do not start. What runs already may still finish, and its receipt is kept. This cannot be taken back.
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
