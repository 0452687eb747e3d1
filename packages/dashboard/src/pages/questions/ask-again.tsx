import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'

/** Puts a question once more, for instance to people who became members only after it was asked. */
export function AskAgain({ questionId }: { questionId: string }) {
  const [isOpen, setOpen] = useState(false)
  const again = useChange('askAgain', ['loadQuestion', 'listQuestions'])
  return (
    <>
      <Button onClick={() => setOpen(true)}>Ask again</Button>
      {isOpen ? (
        <ConfirmDialog
          title="Ask this question again?"
          confirm="Ask again"
          change={again}
          onClose={() => setOpen(false)}
          onConfirm={() => again.mutate({ params: { question_id: questionId } }, { onSuccess: () => setOpen(false) })}
        >
          <p>
            It is put to those who are members now, also to people who joined a role or group after it was asked. The
            answers so far are void.
          </p>
        </ConfirmDialog>
      ) : null}
    </>
  )
}
