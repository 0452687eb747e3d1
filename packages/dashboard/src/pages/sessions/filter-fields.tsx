import { type FormEvent, useEffect, useRef } from 'react'
import { useApi } from '../../api/use-api.js'
import { Icon } from '../../components/basic/icon.js'
import { Select } from '../../components/form/field.js'
import { zoneName } from '../../text/format.js'
import { plainText } from '../../text/visible-text.js'

export type Search = Readonly<Record<string, string>>
type Change = (changed: Record<string, string>) => void

export const ANY = { value: '', label: 'Any' }
const TIMES = [
  { value: '', label: 'Any time' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'between', label: 'Between…' },
]
/** One agent. */
export function AgentFilter({ search, onChange }: { search: Search; onChange: Change }) {
  const agents = useApi('listAgents', {})
  const names = agents.data?.agents.map(({ agent }) => agent) ?? []
  const chosen = search.agent === undefined || names.includes(search.agent) ? [] : [search.agent]
  return (
    <Select
      label="Agent"
      value={search.agent ?? ''}
      options={[ANY, ...[...names, ...chosen].map((agent) => ({ value: agent, label: plainText(agent) }))]}
      onChange={(agent) => onChange({ agent })}
    />
  )
}

/** When it was: a span that ends now, or two times. */
export function PeriodFilter({ label, search, onChange }: { label: string; search: Search; onChange: Change }) {
  const set = (name: string, value: string) => onChange({ [name]: value })
  return (
    <>
      <Select label={label} value={search.since ?? ''} options={TIMES} onChange={(value) => set('since', value)} />
      {search.since === 'between' ? (
        <>
          <TimeFilter label={`From (${zoneName()})`} name="from" value={search.from ?? ''} onChange={set} />
          <TimeFilter label={`To (${zoneName()})`} name="to" value={search.to ?? ''} onChange={set} />
        </>
      ) : null}
    </>
  )
}

interface FilterProps {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly placeholder?: string
  readonly onChange: (name: string, value: string) => void
}

/** Applies typed text after a short pause, or immediately on Enter. */
export function TextFilter({ label, name, value, placeholder, onChange }: FilterProps) {
  const input = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    if (input.current !== null && input.current.value !== value) input.current.value = value
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const take = (pauseMs: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onChange(name, input.current?.value.trim() ?? ''), pauseMs)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    take(0)
  }
  return (
    <form className="field field-search" onSubmit={submit}>
      <label htmlFor={`filter-${name}`}>{label}</label>
      {name === 'q' ? <Icon name="search" size={16} /> : null}
      <input
        id={`filter-${name}`}
        ref={input}
        type="search"
        defaultValue={value}
        maxLength={200}
        placeholder={placeholder}
        onInput={() => take(350)}
      />
    </form>
  )
}

const TimeFilter = ({ label, name, value, onChange }: FilterProps) => (
  <div className="field field-time">
    <label htmlFor={`filter-${name}`}>{label}</label>
    <input
      id={`filter-${name}`}
      type="datetime-local"
      value={value}
      onChange={(event) => onChange(name, event.target.value)}
    />
  </div>
)
