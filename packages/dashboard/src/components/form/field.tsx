import { type InputHTMLAttributes, type ReactNode, useId } from 'react'
import { plainText } from '../../text/visible-text.js'

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string
  readonly hint?: ReactNode
  readonly problem?: string | undefined
}

export function Field({ label, hint, problem, ...input }: FieldProps) {
  const id = useId()
  const described = [hint === undefined ? '' : `${id}-hint`, problem === undefined ? '' : `${id}-problem`]
    .join(' ')
    .trim()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        aria-invalid={problem !== undefined || undefined}
        aria-describedby={described === '' ? undefined : described}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
      {problem === undefined ? null : (
        <p id={`${id}-problem`} className="field-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

interface SelectProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly disabled?: boolean
  readonly value: string
  readonly options: readonly { readonly value: string; readonly label: string }[]
  readonly onChange: (value: string) => void
}

export function Select({ label, hint, disabled = false, value, options, onChange }: SelectProps) {
  const id = useId()
  return (
    <div className="field field-select">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {plainText(option.label)}
          </option>
        ))}
      </select>
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
    </div>
  )
}
