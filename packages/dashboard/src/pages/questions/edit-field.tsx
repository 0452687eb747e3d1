import type { JsonValue, QuestionCard } from '@countersign/protocol'
import { useState } from 'react'
import { Name } from '../../components/basic/text.js'
import { Field, Select } from '../../components/form/field.js'
import { plainText } from '../../text/visible-text.js'
import { plainPath, valueAt } from './leaf-values.js'

type Edit = QuestionCard['edit'][number]

/** Whether the call has the argument, as what the edit changes. */
export function isEditable(card: QuestionCard, { path, to }: Edit): boolean {
  const asked = valueAt(card.arguments, path)
  return to === 'lower' ? typeof asked === 'number' : to === 'fewer' ? Array.isArray(asked) : asked !== undefined
}

interface EditFieldProps {
  readonly edit: Edit
  readonly card: QuestionCard
  /** Undefined: what was typed cannot be taken. */
  readonly onChange: (value: JsonValue | undefined) => void
}

/** One argument that may be changed, in the way that its rule allows. */
export function EditField({ edit: { path, to, values }, card, onChange }: EditFieldProps) {
  const asked = valueAt(card.arguments, path)
  if (asked === undefined) return null
  if (to === 'lower') return <Lower path={path} asked={asked} onChange={onChange} />
  if (to === 'one_of') return <OneOf path={path} asked={asked} values={values ?? []} onChange={onChange} />
  return Array.isArray(asked) ? <Fewer path={path} asked={asked} onChange={onChange} /> : null
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
    const left = asked.filter((_, index) => !next.includes(index))
    setDropped(next)
    // A list of nothing often means all.
    onChange(left.length === 0 ? undefined : left)
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
      {dropped.length === asked.length ? <p className="field-problem">At least one must stay</p> : null}
    </fieldset>
  )
}

interface ValueProps {
  readonly path: string
  readonly asked: JsonValue
  readonly onChange: EditFieldProps['onChange']
}

function Lower({ path, asked, onChange }: ValueProps) {
  const [text, setText] = useState(JSON.stringify(asked))
  return (
    <Field
      label={plainText(plainPath(path))}
      hint={`At most ${JSON.stringify(asked)}, and no less than the rules allow`}
      inputMode="decimal"
      problem={lower(text, asked) === undefined ? 'Not a number, or more than was asked' : undefined}
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        onChange(lower(event.target.value, asked))
      }}
    />
  )
}

function lower(text: string, asked: JsonValue): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && typeof asked === 'number' && value <= asked ? value : undefined
}

function OneOf({ path, asked, values, onChange }: ValueProps & { readonly values: readonly JsonValue[] }) {
  const choices = new Map([asked, ...values].map((value) => [JSON.stringify(value), value]))
  const [chosen, setChosen] = useState(JSON.stringify(asked))
  return (
    <Select
      label={plainPath(path)}
      hint="One of the values that the rules list"
      value={chosen}
      options={[...choices].map(([text, value]) => ({ value: text, label: typeof value === 'string' ? value : text }))}
      onChange={(text) => {
        setChosen(text)
        onChange(choices.get(text))
      }}
    />
  )
}
