import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'

/** Deletes arguments and results permanently; the ledger holds only digests, so it can still be verified. */
export function EraseContent({ sessionId }: { sessionId: string }) {
  const [isOpen, setOpen] = useState(false)
  const erase = useChange('eraseContent', ['loadSessionDetail', 'loadTimeline', 'listAudit'])
  return (
    <>
      <Button kind="quiet" onClick={() => setOpen(true)}>
        Erase content
      </Button>
      {isOpen ? (
        <ConfirmDialog
          title="Erase the content of this session?"
          confirm="Erase content"
          kind="danger"
          change={erase}
          onConfirm={() => erase.mutate({ params: { session_id: sessionId } }, { onSuccess: () => setOpen(false) })}
          onClose={() => setOpen(false)}
        >
          <p>
            Arguments, found values, remedies and results are deleted permanently. Tool names, decisions and hashes
            stay, and the ledger can still be verified. This cannot be undone.
          </p>
        </ConfirmDialog>
      ) : null}
    </>
  )
}
