import type { PlanDetail } from '@countersign/protocol'
import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { CodeBlock } from '../../components/basic/code-block.js'
import { Name } from '../../components/basic/text.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Panel } from '../../components/layout/page.js'
import { plainText } from '../../text/visible-text.js'

interface PlanFilesProps {
  readonly detail: PlanDetail
  readonly editing: boolean
  readonly onEditing: (editing: boolean) => void
}

/** The contracts as files; those of a draft can be edited here. */
export function PlanFiles({ detail, editing, onEditing }: PlanFilesProps) {
  const { plan, files } = detail
  return (
    <Panel
      title="Contracts"
      aside={
        plan.state === 'draft' && !editing ? (
          <Button kind="quiet" onClick={() => onEditing(true)}>
            Edit
          </Button>
        ) : undefined
      }
    >
      {editing ? (
        <Editor detail={detail} onDone={() => onEditing(false)} />
      ) : (
        files.map((file, at) => (
          <details key={file.file} className="file" open={at === 0}>
            <summary>
              <Name value={file.file} />
            </summary>
            <CodeBlock title={plainText(file.file)} code={file.text} />
          </details>
        ))
      )}
    </Panel>
  )
}

function Editor({ detail, onDone }: { detail: PlanDetail; onDone: () => void }) {
  // As it was when editing began, whatever is loaded meanwhile.
  const [edited] = useState(detail)
  const { plan, files } = edited
  const [texts, setTexts] = useState(() => files.map(({ text }) => text))
  const edit = useChange('editPlan', ['loadPlan', 'listContracts'])
  const save = () =>
    edit.mutate(
      {
        params: { plan_id: plan.plan_id },
        body: {
          files: files.map(({ file }, at) => ({ file, text: texts[at] ?? '' })),
          compiled_hash: plan.compiled_hash,
        },
      },
      { onSuccess: onDone },
    )
  return (
    <div className="form">
      {files.map(({ file }, at) => (
        <div key={file} className="field">
          <label htmlFor={`file-${at}`}>
            <Name value={file} />
          </label>
          <textarea
            id={`file-${at}`}
            rows={Math.min(24, (texts[at] ?? '').split('\n').length + 1)}
            value={texts[at]}
            spellCheck={false}
            onChange={(event) => setTexts(texts.map((text, index) => (index === at ? event.target.value : text)))}
          />
        </div>
      ))}
      <FormProblem problem={edit.error} />
      <div className="dialog-actions">
        <Button onClick={onDone}>Discard</Button>
        <Button kind="primary" busy={edit.isPending} onClick={save}>
          Save draft
        </Button>
      </div>
    </div>
  )
}
