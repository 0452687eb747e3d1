import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'

/** Takes arguments and results out for good; the ledger holds digests only, so it still verifies. */
export function EraseContent({ sessionId }: { sessionId: string }) {
  const [asking, setAsking] = useState(false)
  const erase = useChange('eraseContent', ['loadSessionDetail', 'loadTimeline'])
  return (
    <>
      <Button kind="quiet" onClick={() => setAsking(true)}>
        Erase the content
      </Button>
      {asking ? (
        <ConfirmDialog
          title="Erase the content of this session?"
          confirm="Erase content"
          kind="danger"
          change={erase}
          onConfirm={() => erase.mutate({ params: { session_id: sessionId } }, { onSuccess: () => setAsking(false) })}
          onClose={() => setAsking(false)}
        >
          <p>
            Arguments, found values, remedies and results are gone for good. Tool names, decisions and hashes stay, and
            the ledger still verifies. This cannot be taken back.
          </p>
        </ConfirmDialog>
      ) : null}
    </>
  )
}
