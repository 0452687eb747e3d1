import { type FormEvent, useEffect, useRef } from 'react'
import { useApi } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Icon } from '../../components/basic/icon.js'
import { Select } from '../../components/form/field.js'
import { zoneName } from '../../text/format.js'
import { REASON_OPTIONS } from '../../text/reasons.js'
import { plainText } from '../../text/visible-text.js'

type Search = Readonly<Record<string, string>>

const ANY = { value: '', label: 'Any' }
const STATUSES = [
  ANY,
  { value: 'ACTIVE', label: 'Active' },
  { value: 'RECOVERING', label: 'Recovering' },
  { value: 'COMPROMISED', label: 'Compromised' },
  { value: 'KILLED', label: 'Killed' },
]
const TIMES = [
  { value: '', label: 'Any time' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'between', label: 'Between…' },
]

/** The filters. They are in the URL, and changing one returns to the newest page. */
export function Filters({ search, onChange }: { search: Search; onChange: (next: Record<string, string>) => void }) {
  const agents = useApi('listAgents', {})
  const set = (name: string, value: string) => onChange({ ...search, [name]: value, cursor: '' })
  const agentNames = agents.data?.agents.map(({ agent }) => agent) ?? []
  const chosen = search.agent === undefined || agentNames.includes(search.agent) ? [] : [search.agent]
  const times = search.since === 'between'
  const active = Object.entries(search).filter(([name, value]) => value !== '' && name !== 'cursor').length
  return (
    <search className="filters">
      <TextFilter label="Search" name="q" value={search.q ?? ''} onChange={set} placeholder="Session id or agent" />
      <Select
        label="Agent"
        value={search.agent ?? ''}
        options={[ANY, ...[...agentNames, ...chosen].map((agent) => ({ value: agent, label: plainText(agent) }))]}
        onChange={(value) => set('agent', value)}
      />
      <Select label="State" value={search.status ?? ''} options={STATUSES} onChange={(value) => set('status', value)} />
      <Select
        label="Blocked for"
        value={search.reason ?? ''}
        options={[ANY, ...REASON_OPTIONS]}
        onChange={(value) => set('reason', value)}
      />
      <TextFilter label="Label" name="label" value={search.label ?? ''} onChange={set} placeholder="Exact label" />
      <Select label="Time" value={search.since ?? ''} options={TIMES} onChange={(value) => set('since', value)} />
      {times ? (
        <>
          <TimeFilter label={`From (${zoneName()})`} name="from" value={search.from ?? ''} onChange={set} />
          <TimeFilter label={`To (${zoneName()})`} name="to" value={search.to ?? ''} onChange={set} />
        </>
      ) : null}
      {active === 0 ? null : (
        <Button kind="quiet" icon="close" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </search>
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
function TextFilter({ label, name, value, placeholder, onChange }: FilterProps) {
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
  <div className="field">
    <label htmlFor={`filter-${name}`}>{label}</label>
    <input
      id={`filter-${name}`}
      type="datetime-local"
      value={value}
      onChange={(event) => onChange(name, event.target.value)}
    />
  </div>
)
