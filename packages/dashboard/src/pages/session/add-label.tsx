import type { SessionView } from '@countersign/protocol'
import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'
import { Field } from '../../components/form/field.js'

/** Adds a label after a warning that it can never be removed. */
export function AddLabel({ session }: { session: SessionView }) {
  const [isOpen, setOpen] = useState(false)
  const [label, setLabel] = useState('')
  const add = useChange('addLabelByPerson', ['loadSessionDetail', 'loadTimeline', 'listSessions', 'listAudit'])
  if (session.status === 'KILLED' || session.status === 'COMPROMISED') return null
  const close = () => {
    setOpen(false)
    setLabel('')
  }
  return (
    <>
      <Button kind="quiet" icon="tag" onClick={() => setOpen(true)}>
        Add a label
      </Button>
      {isOpen ? (
        <ConfirmDialog
          title="Add a label to this session?"
          confirm="Add label"
          change={add}
          onConfirm={() =>
            add.mutate({ params: { session_id: session.session_id }, body: { label } }, { onSuccess: close })
          }
          onClose={close}
        >
          <p>
            Contracts can deny tools to sessions with a label. It applies from the agent’s next request on and cannot be
            removed.
          </p>
          <Field
            label="Label"
            hint="Letters, digits, hyphens and underscores"
            pattern="[A-Za-z0-9_\-]{1,128}"
            maxLength={128}
            value={label}
            onChange={(event) => setLabel(event.target.value.trim())}
            autoComplete="off"
            required
          />
        </ConfirmDialog>
      ) : null}
    </>
  )
}
