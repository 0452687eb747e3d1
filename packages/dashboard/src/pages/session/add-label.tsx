import type { SessionView } from '@countersign/protocol'
import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'
import { Field } from '../../components/form/field.js'

/** Adds a label, after saying what it means: it can never be taken off again. */
export function AddLabel({ session }: { session: SessionView }) {
  const [asking, setAsking] = useState(false)
  const [label, setLabel] = useState('')
  const add = useChange('addLabelByPerson', ['loadSessionDetail', 'loadTimeline', 'listSessions'])
  if (session.status === 'KILLED' || session.status === 'COMPROMISED') return null
  const close = () => {
    setAsking(false)
    setLabel('')
  }
  return (
    <>
      <Button kind="quiet" icon="tag" onClick={() => setAsking(true)}>
        Add a label
      </Button>
      {asking ? (
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
            Contracts may deny tools to sessions that carry a label; it counts from the agent’s next request on. A label
            stays for good.
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
