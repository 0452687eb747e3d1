import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { Button } from '../basic/button.js'
import { FormProblem } from './form-problem.js'

/** What the dialog asks about: how far it is, what went wrong, and the way to forget that. */
export interface Asked {
  readonly isPending: boolean
  readonly error: ApiProblem | null
  readonly reset: () => void
}

interface ConfirmDialogProps {
  readonly title: string
  readonly confirm: string
  readonly kind?: 'primary' | 'danger'
  readonly change: Asked
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Asks before something that cannot be taken back. The browser's own dialog keeps focus inside and closes on Escape. */
export function ConfirmDialog({
  title,
  confirm,
  kind = 'primary',
  change: { isPending, error, reset },
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    // What went wrong when this was asked before is over.
    reset()
    element?.showModal()
    return () => {
      // Closed while it is still in the page, it gives the focus back to the button that opened it.
      element?.close()
      if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true })
    }
  }, [reset])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={titleId} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          onConfirm()
        }}
      >
        <h2 id={titleId}>{title}</h2>
        <div className="dialog-body">{children}</div>
        <FormProblem problem={error} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={kind} type="submit" busy={isPending}>
            {confirm}
          </Button>
        </div>
      </form>
    </dialog>
  )
}
