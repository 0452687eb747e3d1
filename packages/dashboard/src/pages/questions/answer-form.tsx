import type { AnswerBody, JsonValue, QuestionDetail } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../components/basic/button.js'
import { shownCard } from './answer-choices.js'
import { ChangesTable } from './changes-table.js'
import { EditField, isEditable } from './edit-field.js'
import { changesBetween, withValueAt } from './leaf-values.js'
import { NoteField, noted } from './note-field.js'

interface AnswerFormProps {
  readonly detail: QuestionDetail
  readonly busy: boolean
  readonly onAnswer: (answer: Omit<AnswerBody, 'card_hash'>) => void
}

/** Not a form that Enter submits: only a click, or a key on the button itself, decides. */
export function AnswerForm({ detail, busy, onAnswer }: AnswerFormProps) {
  const { question, may } = detail
  const [note, setNote] = useState('')
  // By path. Undefined: what was typed cannot be taken.
  const [edits, setEdits] = useState<Readonly<Record<string, JsonValue | undefined>>>({})
  // A person who cannot see all of it can only say no.
  const shown = shownCard(detail)
  const editable = shown?.edit.filter((edit) => isEditable(shown, edit)) ?? []
  const isInvalid = Object.values(edits).includes(undefined)
  const edited =
    shown === null
      ? null
      : Object.entries(edits).reduce(
          (call, [path, value]) => (value === undefined ? call : withValueAt(call, path, value)),
          shown.arguments,
        )
  const changes = shown === null || edited === null ? [] : changesBetween(shown.arguments, edited).changes
  const approve = () =>
    onAnswer({
      decision: 'approve',
      ...noted(note),
      ...(edited === null || changes.length === 0 ? {} : { arguments: edited }),
    })
  const missing = question.needed - question.have
  return (
    <div className="form">
      {may.confirms ? (
        <p>This session acts for you. If you approve, the record says that you confirmed it yourself.</p>
      ) : null}
      {editable.length === 0 || shown === null ? null : (
        <details className="more">
          <summary>Change it before you approve</summary>
          <div className="form">
            {editable.map((edit) => (
              <EditField
                key={edit.path}
                edit={edit}
                card={shown}
                onChange={(value) => setEdits({ ...edits, [edit.path]: value })}
              />
            ))}
          </div>
        </details>
      )}
      {changes.length === 0 ? null : <ChangesTable changes={changes} before="As asked" now="As you approve it" />}
      <NoteField
        note={note}
        hint={
          editable.length === 0
            ? 'If you deny, the model reads it.'
            : 'The model reads it if you deny or change the call.'
        }
        onChange={setNote}
      />
      <div className="answer-buttons">
        {shown === null ? null : (
          <Button kind="primary" icon="check" busy={busy} disabled={isInvalid} onClick={approve}>
            {may.confirms ? 'Confirm' : 'Approve'}
            {changes.length === 0 ? '' : ' with changes'}
          </Button>
        )}
        <Button kind="danger" icon="cross" busy={busy} onClick={() => onAnswer({ decision: 'deny', ...noted(note) })}>
          Deny
        </Button>
      </div>
      <p className="quiet">
        {shown === null
          ? 'Deny blocks the call in this session.'
          : `${missing > 1 ? `Approve counts as one of ${missing} that are still needed. ` : ''}An approved call may run once, as ${changes.length === 0 ? 'shown' : 'changed'}, if all other rules allow it at that time. Deny blocks it in this session.`}
      </p>
    </div>
  )
}
