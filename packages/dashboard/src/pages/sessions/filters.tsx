import { Button } from '../../components/basic/button.js'
import { Select } from '../../components/form/field.js'
import { REASON_OPTIONS } from '../../text/reasons.js'
import { AgentFilter, ANY, PeriodFilter, type Search, TextFilter } from './filter-fields.js'

const ACTIVITIES = [
  { value: 'running', label: 'Running now' },
  { value: 'idle', label: 'Idle' },
  { value: 'ended', label: 'Ended' },
]
const isActivity = (value: string) => ACTIVITIES.some((activity) => activity.value === value)
const STATES = [
  ANY,
  ...ACTIVITIES,
  { value: 'RECOVERING', label: 'Recovering' },
  { value: 'COMPROMISED', label: 'Compromised' },
  { value: 'KILLED', label: 'Killed' },
]

/** The filters. They are in the URL, and changing one returns to the first page. */
export function Filters({ search, onChange }: { search: Search; onChange: (next: Record<string, string>) => void }) {
  const change = (changed: Record<string, string>) => onChange({ ...search, ...changed, cursor: '' })
  const set = (name: string, value: string) => change({ [name]: value })
  const active = Object.entries(search).filter(
    ([name, value]) => value !== '' && name !== 'cursor' && name !== 'order',
  ).length
  return (
    <search className="filters">
      <TextFilter label="Search" name="q" value={search.q ?? ''} onChange={set} placeholder="Session id or agent" />
      <AgentFilter search={search} onChange={change} />
      <Select
        label="State"
        value={search.activity ?? search.status ?? ''}
        options={STATES}
        onChange={(value) =>
          change(isActivity(value) ? { status: '', activity: value } : { status: value, activity: '' })
        }
      />
      <Select
        label="Blocked for"
        value={search.reason ?? ''}
        options={[ANY, ...REASON_OPTIONS]}
        onChange={(value) => set('reason', value)}
      />
      {search.workflow === undefined || search.workflow === '' ? null : (
        <TextFilter label="Workflow" name="workflow" value={search.workflow} onChange={set} placeholder="Whole id" />
      )}
      <TextFilter label="Label" name="label" value={search.label ?? ''} onChange={set} placeholder="Exact label" />
      <PeriodFilter label="Started" search={search} onChange={change} />
      {active === 0 ? null : (
        <Button kind="quiet" icon="close" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </search>
  )
}
