import type { BlockReason, CallRow } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Select } from '../components/form/field.js'
import { Freshness, Page } from '../components/layout/page.js'
import { NoneSoFar, Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { REASON_OPTIONS } from '../text/reasons.js'
import { CallDecision, CallEnd } from './calls/call-result.js'
import { AgentFilter, ANY, PeriodFilter, type Search, TextFilter } from './sessions/filter-fields.js'
import { timeBounds } from './sessions/time-bounds.js'

const DECISIONS = [
  ANY,
  { value: 'allow', label: 'Allowed' },
  { value: 'block', label: 'Blocked' },
  { value: 'unanswered', label: 'Unanswered' },
]

/** Every judged call: the list behind each number of calls. */
export function CallsPage() {
  const search: Search = useSearch({ from: '/signed-in/calls' })
  const navigate = useNavigate()
  const { decision, cursor } = search
  const query = {
    agent: search.agent,
    decision: decision === 'allow' ? ('allow' as const) : decision === 'block' ? ('block' as const) : undefined,
    unanswered: decision === 'unanswered' ? ('1' as const) : undefined,
    session_id: search.session,
    reason: search.reason as BlockReason | undefined,
    cursor,
    ...timeBounds(search),
  }
  const calls = useApi('listCalls', { query }, { pollMs: 5_000, keepLast: true })
  const show = (next: Record<string, string>) => void navigate({ to: '/calls', search: next, replace: true })
  const change = (changed: Record<string, string>) => show({ ...search, ...changed, cursor: '' })
  const filtered = Object.values(search).some((value) => value !== '')
  return (
    <Page
      title="Calls"
      lead={
        decision === 'unanswered'
          ? 'Allowed calls without a receipt, whose session is stopped or has no holder any more. Whether the tool ran is not known.'
          : 'Every call that a model proposed, and what was decided.'
      }
      actions={<Freshness reading={calls} />}
    >
      <search className="filters">
        <Select
          label="Decision"
          value={decision ?? ''}
          options={DECISIONS}
          onChange={(value) => change({ decision: value })}
        />
        <Select
          label="Blocked for"
          value={search.reason ?? ''}
          options={[ANY, ...REASON_OPTIONS]}
          onChange={(reason) => change({ reason })}
        />
        <AgentFilter search={search} onChange={change} />
        <PeriodFilter label="Time" search={search} onChange={change} />
        <TextFilter
          label="Session"
          name="session"
          value={search.session ?? ''}
          onChange={(name, value) => change({ [name]: value })}
          placeholder="Whole id"
        />
        {filtered ? (
          <Button kind="quiet" icon="close" onClick={() => show({})}>
            Clear
          </Button>
        ) : null}
      </search>
      <Loaded reading={calls} rows={8}>
        {({ items, next }) =>
          items.length === 0 && next !== null ? (
            <NoneSoFar to="/calls" search={search} what="calls" next={next} />
          ) : items.length === 0 ? (
            <Empty title={decision === 'unanswered' ? 'Every allowed call was answered' : 'No calls'} />
          ) : (
            <>
              <CallsTable rows={items} />
              <Pager to="/calls" search={search} what="calls" next={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

const CallsTable = ({ rows }: { rows: readonly CallRow[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Call</th>
        <th scope="col">Decision</th>
        <th scope="col">What came of it</th>
        <th scope="col">Session</th>
        <th scope="col" className="right">
          When
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={`${row.session_id} ${row.seq} ${row.index}`}>
          <th scope="row" className="cell-main">
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: row.session_id }}
              hash={`call-${row.seq}-${row.index}`}
            >
              <Name value={row.tool_name} />
            </Link>
          </th>
          <td data-label="Decision">
            <CallDecision row={row} />
          </td>
          <td data-label="What came of it">
            <CallEnd row={row} />
          </td>
          <td data-label="Session">
            <Name value={row.session_id} />
            <span className="cell-note">
              <Text value={row.agent} />
            </span>
          </td>
          <td data-label="When" className="right nowrap">
            <Ago at={row.at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
