import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { Button } from '../basic/button.js'
import { FormProblem } from './form-problem.js'

/** The change that the dialog confirms: whether it is running, its error, and how to clear that error. */
export interface Confirmation {
  readonly isPending: boolean
  readonly error: ApiProblem | null
  readonly reset: () => void
}

interface ConfirmDialogProps {
  readonly title: string
  readonly confirm: string
  readonly kind?: 'primary' | 'danger'
  readonly change: Confirmation
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Asks before a change that cannot be undone. The browser's own dialog keeps focus inside and closes on Escape. */
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
    // An error from the last time the dialog was open no longer matters.
    reset()
    element?.showModal()
    return () => {
      // Closing it while it is still in the page returns focus to the button that opened it.
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
