import { useId } from 'react'

interface NoteFieldProps {
  readonly note: string
  /** Who reads it, besides the record. */
  readonly hint: string
  readonly onChange: (note: string) => void
}

/** What a person wants to say with an answer. */
export function NoteField({ note, hint, onChange }: NoteFieldProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>Note (optional)</label>
      <textarea
        id={id}
        className="note-text"
        rows={3}
        maxLength={1_000}
        value={note}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      />
      <p id={`${id}-hint`} className="field-hint">
        Kept with your answer. {hint}
      </p>
    </div>
  )
}

/** Of an answer: a note with nothing in it is none. */
export const noted = (note: string): { note?: string } => (note.trim() === '' ? {} : { note: note.trim() })
