import { type ReactNode, useState } from 'react'
import { Button } from '../basic/button.js'
import { type Confirmation, ConfirmDialog } from './confirm-dialog.js'
import { Field } from './field.js'

interface KillButtonProps {
  /** What is killed: `session` or `workflow`. */
  readonly what: string
  readonly change: Confirmation
  readonly onKill: (body: { reason?: string }, done: { onSuccess: () => void }) => void
  /** What it means. */
  readonly children: ReactNode
}

/** Kills something after a confirmation, with a reason for the audit trail. */
export function KillButton({ what, change, onKill, children }: KillButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const close = () => setOpen(false)
  const confirm = () => onKill(reason.trim() === '' ? {} : { reason: reason.trim() }, { onSuccess: close })
  return (
    <>
      <Button kind="danger" icon="stop" onClick={() => setOpen(true)}>
        {`Kill ${what}`}
      </Button>
      {isOpen ? (
        <ConfirmDialog
          title={`Kill this ${what}?`}
          confirm={`Kill ${what}`}
          kind="danger"
          change={change}
          onConfirm={confirm}
          onClose={close}
        >
          <p>{children} This cannot be undone.</p>
          <Field
            label="Reason (optional, recorded in the audit trail)"
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </ConfirmDialog>
      ) : null}
    </>
  )
}
