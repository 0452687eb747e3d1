import { type ReactNode, useEffect, useId, useRef } from 'react'
import type { ApiProblem } from '../api.js'
import { sentence } from '../format.js'
import { Button } from './button.js'
import { Text } from './text.js'

interface ConfirmDialogProps {
  readonly title: string
  readonly confirm: string
  readonly kind?: 'primary' | 'danger'
  readonly busy: boolean
  readonly problem: ApiProblem | null
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Asks before something that cannot be taken back. The browser's own dialog keeps focus inside and closes on Escape. */
export function ConfirmDialog({
  title,
  confirm,
  kind = 'primary',
  busy,
  problem,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
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
        {problem === null ? null : (
          <p className="field-problem" role="alert">
            {sentence(problem.message)}
            {problem.detail === undefined ? '.' : ': '}
            {problem.detail === undefined ? null : <Text value={problem.detail} />}
          </p>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={kind} type="submit" busy={busy}>
            {confirm}
          </Button>
        </div>
      </form>
    </dialog>
  )
}
