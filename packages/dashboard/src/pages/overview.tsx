import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../api/api.js'
import { useApi } from '../api/use-api.js'
import { useWaiting } from '../api/use-waiting.js'
import { Bar } from '../components/basic/bar.js'
import { Icon } from '../components/basic/icon.js'
import { Name, Text } from '../components/basic/text.js'
import { Tile } from '../components/basic/tile.js'
import { Ago } from '../components/basic/time.js'
import { Segments } from '../components/form/segments.js'
import { FirstSteps } from '../components/layout/first-steps.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { COVERED, count, percent, plural, zoneName } from '../text/format.js'
import { reasonMeaning, reasonTitle } from '../text/reasons.js'
import { DecisionsPlot } from './overview/decisions-plot.js'
import { since } from './sessions/time-bounds.js'
import { UnansweredStrip } from './sessions/unanswered-alert.js'

type Overview = Answer<'loadOverview'>
const RANGES = [
  { value: '1h', label: '1 hour', words: 'the last hour' },
  { value: '24h', label: '24 hours', words: 'the last 24 hours' },
  { value: '7d', label: '7 days', words: 'the last 7 days' },
  { value: '30d', label: '30 days', words: 'the last 30 days' },
] as const

export function OverviewPage() {
  const search = useSearch({ from: '/signed-in/' })
  const navigate = useNavigate()
  const range = RANGES.find(({ value }) => value === search.range) ?? RANGES[1]
  const overview = useApi('loadOverview', { query: { range: range.value } }, { pollMs: 5_000, keepLast: true })
  return (
    <Page
      title="Overview"
      lead={overview.data === undefined ? undefined : headline(overview.data, range.words)}
      actions={
        <>
          <Freshness reading={overview} />
          <Segments
            label="Time range"
            options={RANGES}
            value={range.value}
            onChange={(value) => void navigate({ to: '/', search: { range: value } })}
          />
        </>
      }
    >
      <Loaded reading={overview} rows={8}>
        {(data) =>
          data.totals.sessions === 0 && data.agents.length === 0 ? <FirstSteps /> : <Figures overview={data} />
        }
      </Loaded>
    </Page>
  )
}

/** The whole page in one sentence. */
function headline({ totals, reasons }: Overview, when: string): string {
  const decided = totals.allowed + totals.blocked
  if (decided === 0) return `No calls were proposed in ${when}.`
  if (totals.blocked === 0) return `${plural(decided, 'call')} proposed in ${when}, all allowed.`
  const top = reasons[0]
  const why = top === undefined ? '' : `, most often because of: ${reasonTitle(top.reason).toLowerCase()}`
  return `${plural(decided, 'call')} proposed in ${when}. ${plural(totals.blocked, 'call was', 'calls were')} blocked${why}.`
}

function Figures({ overview }: { overview: Overview }) {
  const { totals } = overview
  const decided = totals.allowed + totals.blocked
  const period = periodOf(overview)
  return (
    <>
      <UnansweredStrip overview={overview} />
      <WaitingQuestions />
      <DriftingPlans overview={overview} />
      <div className="tiles">
        <Tile
          label="Allowed"
          value={totals.allowed}
          tone="allow"
          to="/calls"
          search={{ ...period, decision: 'allow' }}
        />
        <Tile
          label="Blocked"
          value={totals.blocked}
          to="/calls"
          search={{ ...period, decision: 'block' }}
          tone="block"
          note={decided === 0 ? undefined : `${percent(totals.blocked / decided)} of all calls`}
        />
        <Tile label="Sessions" value={totals.sessions} note="started" to="/sessions" search={period} />
        <Tile
          label="Running now"
          value={totals.active_sessions}
          note="held by a program"
          to="/sessions"
          search={{ activity: 'running' }}
        />
        <Tile
          label="Unanswered calls"
          value={totals.unanswered_calls}
          isMore={overview.unanswered_more}
          tone={totals.unanswered_calls > 0 ? 'doubt' : undefined}
          note={totals.calls_in_doubt > 0 ? `${count(totals.calls_in_doubt)} in doubt` : 'allowed, no receipt'}
          to="/calls"
          search={{ decision: 'unanswered' }}
        />
        <Tile
          label="Compromised"
          value={totals.compromised}
          tone={totals.compromised > 0 ? 'warn' : undefined}
          note="wrapper bypassed"
          to="/sessions"
          search={{ ...period, status: 'COMPROMISED' }}
        />
        <Tile
          label="Killed"
          value={totals.killed}
          tone={totals.killed > 0 ? 'block' : undefined}
          note="stopped permanently"
          to="/sessions"
          search={{ ...period, status: 'KILLED' }}
        />
      </div>
      <Panel title="Decisions over time" aside={`times in ${zoneName()}`}>
        {decided === 0 ? <p className="quiet">No decisions in this period.</p> : <DecisionsPlot overview={overview} />}
      </Panel>
      <div className="columns">
        <Panel title="Why calls were blocked">
          <Reasons overview={overview} />
        </Panel>
        <Panel
          title="Agents"
          aside={
            <Link to="/agents">
              {overview.agents_total > SHORT ? `${SHORT} of ${plural(overview.agents_total, 'agent')}` : 'All agents'}
            </Link>
          }
        >
          <Agents overview={overview} />
        </Panel>
      </div>
      <Panel
        title="Recently blocked"
        aside={
          <Link to="/calls" search={{ decision: 'block' }}>
            All blocked calls
          </Link>
        }
      >
        <RecentBlocks overview={overview} />
      </Panel>
    </>
  )
}

/** Calls that wait until a person decides. */
function WaitingQuestions() {
  const { mine, waiting } = useWaiting() ?? { mine: 0, waiting: 0 }
  if (waiting === 0) return null
  return (
    <p className={mine === 0 ? 'strip' : 'strip strip-ask'} role="status">
      <Icon name="questions" size={16} />
      <span>
        {mine === 0
          ? `${plural(waiting, 'call waits', 'calls wait')} for other people's answers.`
          : `${plural(mine, 'call waits', 'calls wait')} for your answer${waiting > mine ? `, ${count(waiting - mine)} for others'` : ''}.`}{' '}
        <Link to="/questions">{waiting === 1 ? 'Show it' : 'Show them'}</Link>
      </span>
    </p>
  )
}

/** Plans that were approved by a rate and do not keep it. */
function DriftingPlans({ overview: { drifting_plans: plans } }: { overview: Overview }) {
  return plans.map(({ plan_id, agent, environment, drift }) => (
    <p key={plan_id} className="strip strip-warn" role="status">
      <Icon name="alert" size={16} />
      <span>
        The plan of <Text value={agent} /> in {environment} exceeds its promised rate: {drift}.{' '}
        <Link to="/plans/$planId" params={{ planId: plan_id }}>
          Show the plan
        </Link>
      </span>
    </p>
  ))
}

/** The whole range of the page, as the filters of the lists take it. */
const periodOf = (overview: Overview) => since(overview.since)

/** Rows shown of the two lists beside each other. */
const SHORT = 8

function Reasons({ overview }: { overview: Overview }) {
  const { reasons } = overview
  if (reasons.length === 0) return <p className="quiet">No calls were blocked.</p>
  const most = Math.max(...reasons.map((entry) => entry.count))
  const rest = reasons.slice(SHORT)
  return (
    <ul className="bars">
      {reasons.slice(0, SHORT).map((entry) => (
        <li key={entry.reason}>
          <Link
            to="/calls"
            search={{ ...periodOf(overview), reason: entry.reason }}
            title={reasonMeaning(entry.reason)}
            data-count={entry.count}
          >
            {reasonTitle(entry.reason)}
          </Link>
          <Bar value={entry.count} max={most} />
          <span className="number">{count(entry.count)}</span>
        </li>
      ))}
      {rest.length === 0 ? null : (
        <li className="quiet">
          and {plural(rest.length, 'more reason')}:{' '}
          {plural(
            rest.reduce((sum, entry) => sum + entry.count, 0),
            'call',
          )}
        </li>
      )}
    </ul>
  )
}

function Agents({ overview }: { overview: Overview }) {
  const { agents } = overview
  const period = periodOf(overview)
  if (agents.length === 0) return <p className="quiet">No agents were seen.</p>
  return (
    <table className="table table-plain">
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col" className="right">
            Sessions
          </th>
          <th scope="col" className="right">
            Blocked
          </th>
          <th scope="col" className="right" title={`calls that ${COVERED}, of all that were decided or captured`}>
            Covered
          </th>
          <th scope="col" className="right">
            Last seen
          </th>
        </tr>
      </thead>
      <tbody>
        {agents.slice(0, SHORT).map((entry) => (
          <tr key={entry.agent}>
            <td>
              <Link to="/sessions" search={{ ...period, agent: entry.agent }} data-count={entry.sessions}>
                <Text value={entry.agent} />
              </Link>
            </td>
            <td className="right number">{count(entry.sessions)}</td>
            <td className="right number nowrap">
              {entry.blocked === 0 ? (
                '0'
              ) : (
                <Link
                  to="/calls"
                  search={{ ...period, agent: entry.agent, decision: 'block' }}
                  data-count={entry.blocked}
                >
                  {count(entry.blocked)} of {count(entry.allowed + entry.blocked)}
                </Link>
              )}
            </td>
            <td className="right number">{entry.coverage === null ? '' : percent(entry.coverage)}</td>
            <td className="right nowrap">{entry.last_seen === null ? '' : <Ago at={entry.last_seen} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function RecentBlocks({ overview: { recent_blocks: blocks } }: { overview: Overview }) {
  if (blocks.length === 0) return <Empty title="Nothing was blocked" />
  return (
    <ul className="rows">
      {blocks.map((entry) => (
        <li key={`${entry.session_id}-${entry.seq}-${entry.index}`}>
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId: entry.session_id }}
            hash={`call-${entry.seq}-${entry.index}`}
            className="row-link"
          >
            <Name value={entry.tool_name} />
            <span>{reasonTitle(entry.reason)}</span>
            <span className="quiet">
              <Text value={entry.agent} />
            </span>
            <Ago at={entry.at} />
          </Link>
        </li>
      ))}
    </ul>
  )
}
