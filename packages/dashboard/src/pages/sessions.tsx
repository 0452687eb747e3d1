import type { BlockReason, SessionActivity, SessionRow, SessionStatus } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { StatusBadge } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { Labels } from '../components/basic/labels.js'
import { None } from '../components/basic/none.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { FirstSteps } from '../components/layout/first-steps.js'
import { Freshness, Page } from '../components/layout/page.js'
import { NoneSoFar, Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { count } from '../text/format.js'
import { reasonTitle } from '../text/reasons.js'
import { Filters } from './sessions/filters.js'
import { timeBounds } from './sessions/time-bounds.js'
import { UnansweredAlert } from './sessions/unanswered-alert.js'

export function SessionsPage() {
  const search = useSearch({ from: '/signed-in/sessions' })
  const navigate = useNavigate()
  const { q, agent, label, cursor } = search
  const order = search.order === 'oldest' ? ('oldest' as const) : ('newest' as const)
  const query = {
    q,
    agent,
    label,
    cursor,
    order,
    workflow_id: search.workflow,
    activity: search.activity as SessionActivity | undefined,
    status: search.status as SessionStatus | undefined,
    reason: search.reason as BlockReason | undefined,
    ...timeBounds(search),
  }
  const sessions = useApi('listSessions', { query }, { pollMs: 5_000, keepLast: true })
  const filtered = Object.entries(search).some(([name, value]) => value !== '' && name !== 'order')
  return (
    <Page
      title="Sessions"
      lead="Every governed conversation of your agents."
      actions={<Freshness reading={sessions} />}
    >
      <UnansweredAlert />
      <Filters search={search} onChange={(next) => void navigate({ to: '/sessions', search: next, replace: true })} />
      <Loaded reading={sessions} rows={8}>
        {({ items, next }) =>
          items.length > 0 ? (
            <>
              <SessionsTable
                rows={items}
                order={order}
                onOrder={() =>
                  void navigate({
                    to: '/sessions',
                    search: { ...search, cursor: '', order: order === 'newest' ? 'oldest' : '' },
                  })
                }
              />
              <Pager to="/sessions" search={search} what="sessions" next={next} order={order} />
            </>
          ) : next !== null ? (
            <NoneSoFar to="/sessions" search={search} what="sessions" next={next} order={order} />
          ) : filtered ? (
            <Empty title="No matching sessions">
              <p>Try fewer filters or a longer period.</p>
              <Button onClick={() => void navigate({ to: '/sessions', search: {} })}>Clear all filters</Button>
            </Empty>
          ) : (
            <FirstSteps />
          )
        }
      </Loaded>
    </Page>
  )
}

interface SessionsTableProps {
  readonly rows: readonly SessionRow[]
  readonly order: 'newest' | 'oldest'
  readonly onOrder: () => void
}

const SessionsTable = ({ rows, order, onOrder }: SessionsTableProps) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col" className="column-id">
          Session
        </th>
        <th scope="col">State</th>
        <th scope="col" className="right">
          Allowed
        </th>
        <th scope="col" className="right">
          Blocked
        </th>
        <th scope="col">Last reason</th>
        <th scope="col">Labels</th>
        <th scope="col" className="right" aria-sort={order === 'newest' ? 'descending' : 'ascending'}>
          <button type="button" className="sort" onClick={onOrder} title="Turn the order round">
            Started {order === 'newest' ? '↓' : '↑'}
          </button>
        </th>
        <th scope="col" className="right">
          Last change
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.session_id}>
          <th scope="row" className="cell-main">
            <Link to="/sessions/$sessionId" params={{ sessionId: row.session_id }}>
              <Name value={row.session_id} />
            </Link>
            <span className="cell-note">
              <Text value={row.agent} />
              {row.environment === null ? '' : `, ${row.environment}`}
            </span>
          </th>
          <td data-label="State">
            <span className="cell-state">
              <StatusBadge status={row.status} activity={row.activity} />
              {row.phase === null ? null : (
                <span className="quiet">
                  in <Text value={row.phase} />
                </span>
              )}
              {row.unanswered === 0 ? null : (
                <Link
                  to="/calls"
                  search={{ session: row.session_id, decision: 'unanswered' }}
                  className="doubt-note"
                  data-count={row.unanswered}
                >
                  {count(row.unanswered)} {row.in_doubt === row.unanswered ? 'in doubt' : 'unanswered'}
                </Link>
              )}
            </span>
          </td>
          <td data-label="Allowed" className="right number">
            <Link to="/calls" search={{ session: row.session_id, decision: 'allow' }} data-count={row.allowed}>
              {count(row.allowed)}
            </Link>
          </td>
          <td data-label="Blocked" className={row.blocked === 0 ? 'right number quiet' : 'right number blocked'}>
            <Link to="/calls" search={{ session: row.session_id, decision: 'block' }} data-count={row.blocked}>
              {count(row.blocked)}
            </Link>
          </td>
          <td data-label="Last reason" className={row.last_reason === null ? 'cell-none' : undefined}>
            {row.last_reason === null ? <None /> : reasonTitle(row.last_reason)}
          </td>
          <td data-label="Labels" className={row.labels.length === 0 ? 'cell-none' : undefined}>
            <Labels labels={row.labels} most={3} />
          </td>
          <td data-label="Started" className="right nowrap">
            <Ago at={row.created_at} />
          </td>
          <td data-label="Last change" className="right nowrap">
            <Ago at={row.updated_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
