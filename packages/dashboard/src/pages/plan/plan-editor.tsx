import type { PlanDetail } from '@countersign/protocol'
import { useState } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Name } from '../../components/basic/text.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { plainText } from '../../text/visible-text.js'
import { type MergedFile, mergeFiles } from './merge-files.js'
import { dropUnsaved, keepUnsaved, loadUnsaved, type UnsavedDraft } from './unsaved-draft.js'

interface PlanEditorProps {
  /** As it is on the server now; it may change while a person edits. */
  readonly detail: PlanDetail
  readonly onDone: () => void
}

/** The files of a draft as text. Edits are kept until they are saved or discarded. */
export function PlanEditor({ detail, onDone }: PlanEditorProps) {
  const { plan, files: saved, files_hash: hash } = detail
  const [draft, setDraft] = useState<UnsavedDraft>(
    () => loadUnsaved(plan.plan_id) ?? { hash, base: saved, files: saved },
  )
  const edit = useChange('editPlan', ['loadPlan', 'listContracts', 'listAudit'])
  const take = (next: UnsavedDraft) => {
    setDraft(next)
    keepUnsaved(plan.plan_id, next)
  }
  const setFiles = (files: readonly MergedFile[]) => take({ ...draft, files })
  const merge = () => {
    edit.reset()
    take({ hash, base: saved, files: mergeFiles(draft.base, draft.files, saved) })
  }
  const leave = () => {
    dropUnsaved(plan.plan_id)
    onDone()
  }
  const save = () => {
    const files = draft.files.map(({ file, text }) => ({ file, text }))
    edit.mutate({ params: { plan_id: plan.plan_id }, body: { files, files_hash: draft.hash } }, { onSuccess: leave })
  }
  const undecided = draft.files.filter(({ theirs }) => theirs !== undefined).length
  return (
    <div className="form">
      {draft.files.map((file, at) => (
        <FileField
          key={file.file}
          id={`file-${at}`}
          file={file}
          onChange={(next) =>
            setFiles(
              next === null
                ? draft.files.filter((_, index) => index !== at)
                : draft.files.map((other, index) => (index === at ? next : other)),
            )
          }
        />
      ))}
      <AddFile names={draft.files.map(({ file }) => file)} onAdd={(file) => setFiles([...draft.files, file])} />
      <FormProblem problem={problemOf(edit.error)} />
      {draft.hash === hash ? null : (
        <div className="strip strip-warn" role="status">
          <span>
            This draft was changed by another person after you began. Merge their changes into yours to save; files that
            both of you changed are shown side by side.
          </span>
          <Button onClick={merge}>Merge their changes</Button>
        </div>
      )}
      <div className="dialog-actions">
        <Button onClick={leave}>Discard</Button>
        <Button
          kind="primary"
          busy={edit.isPending}
          disabled={undecided > 0 || draft.files.length === 0}
          title={undecided > 0 ? 'Choose a version of each file that both of you changed' : undefined}
          onClick={save}
        >
          Save draft
        </Button>
      </div>
    </div>
  )
}

/** A conflict is told by the strip above the buttons, once the page has loaded what the others saved. */
const problemOf = (error: ApiProblem | null): ApiProblem | null => (error?.code === 'PLAN_CHANGED' ? null : error)

interface FileFieldProps {
  readonly id: string
  readonly file: MergedFile
  /** Null removes it. */
  readonly onChange: (file: MergedFile | null) => void
}

function FileField({ id, file: { file, text, theirs }, onChange }: FileFieldProps) {
  return (
    <div className="field">
      <div className="field-head">
        <label htmlFor={id}>
          <Name value={file} />
        </label>
        <Button kind="quiet" icon="close" onClick={() => onChange(null)} aria-label={`Remove ${plainText(file)}`}>
          Remove
        </Button>
      </div>
      <textarea
        id={id}
        rows={Math.min(24, text.split('\n').length + 1)}
        value={text}
        spellCheck={false}
        onChange={(event) => onChange({ file, text: event.target.value, ...(theirs === undefined ? {} : { theirs }) })}
      />
      {theirs === undefined ? null : (
        <div className="theirs">
          <p>{theirs === null ? 'Another person removed this file.' : 'Saved by another person:'}</p>
          {theirs === null ? null : <pre>{theirs}</pre>}
          <Button onClick={() => onChange({ file, text })}>Keep mine</Button>
          <Button onClick={() => onChange(theirs === null ? null : { file, text: theirs })}>Take theirs</Button>
        </div>
      )}
    </div>
  )
}

/** A further contract, for example for a tool that is in use and has none. */
function AddFile({ names, onAdd }: { names: readonly string[]; onAdd: (file: MergedFile) => void }) {
  const [tool, setTool] = useState('')
  const name = tool.trim()
  const file = `${name.replace(/[^A-Za-z0-9_.-]/g, '-')}.yaml`
  const taken = names.some((other) => other === file || other.endsWith(`/${file}`))
  const add = () => {
    onAdd({ file, text: `tool: ${JSON.stringify(name)}\n` })
    setTool('')
  }
  return (
    <div className="add-file">
      <Field
        label="Add a contract for the tool"
        value={tool}
        maxLength={128}
        problem={taken ? `There is a file ${file} already` : undefined}
        onChange={(event) => setTool(event.target.value)}
      />
      <Button disabled={name === '' || taken} onClick={add}>
        Add file
      </Button>
    </div>
  )
}
