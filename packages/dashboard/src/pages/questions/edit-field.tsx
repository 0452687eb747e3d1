import type { JsonValue, QuestionCard } from '@countersign/protocol'
import { useState } from 'react'
import { Name } from '../../components/basic/text.js'
import { Field } from '../../components/form/field.js'
import { plainText } from '../../text/visible-text.js'
import { plainPath, valueAt } from './leaf-values.js'

type Edit = QuestionCard['edit'][number]

/** Whether the path leads to one value, which can then be changed. */
export const isEditable = (card: QuestionCard, path: string): boolean => valueAt(card.arguments, path) !== undefined

interface EditFieldProps {
  readonly edit: Edit
  readonly card: QuestionCard
  /** Undefined: what was typed cannot be taken. */
  readonly onChange: (value: JsonValue | undefined) => void
}

/** One argument that may be changed, in the way that its rule allows. */
export function EditField({ edit: { path, to }, card, onChange }: EditFieldProps) {
  const asked = valueAt(card.arguments, path)
  if (to === 'fewer' && Array.isArray(asked)) return <Fewer path={path} asked={asked} onChange={onChange} />
  return <Other path={path} isLower={to === 'lower'} asked={asked ?? null} onChange={onChange} />
}

interface FewerProps {
  readonly path: string
  readonly asked: readonly JsonValue[]
  readonly onChange: EditFieldProps['onChange']
}

function Fewer({ path, asked, onChange }: FewerProps) {
  const [dropped, setDropped] = useState<readonly number[]>([])
  const toggle = (at: number) => {
    const next = dropped.includes(at) ? dropped.filter((other) => other !== at) : [...dropped, at]
    setDropped(next)
    onChange(asked.filter((_, index) => !next.includes(index)))
  }
  return (
    <fieldset className="field">
      <legend>
        Keep of <Name value={plainPath(path)} />
      </legend>
      {asked.map((value, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: equal elements differ by their place only
        <label key={at} className="check">
          <input type="checkbox" checked={!dropped.includes(at)} onChange={() => toggle(at)} />
          <Name value={JSON.stringify(value)} />
        </label>
      ))}
    </fieldset>
  )
}

interface OtherProps {
  readonly path: string
  readonly isLower: boolean
  readonly asked: JsonValue
  readonly onChange: EditFieldProps['onChange']
}

function Other({ path, isLower, asked, onChange }: OtherProps) {
  const [text, setText] = useState(typeof asked === 'string' ? asked : JSON.stringify(asked))
  const taken = isLower ? lower(text, asked) : other(text, asked)
  return (
    <Field
      label={plainText(plainPath(path))}
      hint={
        isLower
          ? `At most ${JSON.stringify(asked)}, and no less than the rule allows`
          : 'One of the values that the rule allows'
      }
      inputMode={isLower ? 'decimal' : 'text'}
      problem={
        taken === undefined
          ? isLower
            ? 'Not a number, or more than was asked'
            : 'Not a value of the same kind'
          : undefined
      }
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        onChange(isLower ? lower(event.target.value, asked) : other(event.target.value, asked))
      }}
    />
  )
}

function lower(text: string, asked: JsonValue): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && typeof asked === 'number' && value <= asked ? value : undefined
}

/** Text stands for itself where text was asked; everything else is JSON. */
function other(text: string, asked: JsonValue): JsonValue | undefined {
  if (typeof asked === 'string') return text
  try {
    const value = JSON.parse(text) as JsonValue
    return typeof value === typeof asked ? value : undefined
  } catch {
    return undefined
  }
}
