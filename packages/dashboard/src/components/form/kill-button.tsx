import { type ReactNode, useState } from 'react'
import { Button } from '../basic/button.js'
import { type Asked, ConfirmDialog } from './confirm-dialog.js'
import { Field } from './field.js'

interface KillButtonProps {
  /** What is killed, in a word. */
  readonly what: string
  readonly change: Asked
  readonly onKill: (body: { reason?: string }, done: { onSuccess: () => void }) => void
  /** What it means. */
  readonly children: ReactNode
}

/** Stops something for good, after asking, with the reason why for the audit trail. */
export function KillButton({ what, change, onKill, children }: KillButtonProps) {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const close = () => setAsking(false)
  const confirm = () => onKill(reason.trim() === '' ? {} : { reason: reason.trim() }, { onSuccess: close })
  return (
    <>
      <Button kind="danger" icon="stop" onClick={() => setAsking(true)}>
        {`Kill ${what}`}
      </Button>
      {asking ? (
        <ConfirmDialog
          title={`Kill this ${what}?`}
          confirm={`Kill ${what}`}
          kind="danger"
          change={change}
          onConfirm={confirm}
          onClose={close}
        >
          <p>{children} This cannot be taken back.</p>
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
