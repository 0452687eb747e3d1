import type { QuestionStats } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { None } from '../../components/basic/none.js'
import { Name, Text } from '../../components/basic/text.js'
import { Segments } from '../../components/form/segments.js'
import { Freshness, Page, Panel } from '../../components/layout/page.js'
import { Empty, Loaded } from '../../components/layout/states.js'
import { count, percent } from '../../text/format.js'
import './questions.css'

const DAYS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
] as const

/** How often each rule asks and each person answers: a rule to which people always say yes protects nothing. */
export function StatisticsPage() {
  const search = useSearch({ from: '/signed-in/questions/statistics' })
  const navigate = useNavigate()
  const { value: days } = DAYS.find(({ value }) => value === search.days) ?? DAYS[1]
  const stats = useApi('questionStats', { query: { days: Number(days) } }, { pollMs: 15_000, keepLast: true })
  return (
    <Page
      title="How questions are answered"
      lead="A rule to which people always say yes costs their time and protects nothing."
      actions={
        <>
          <Freshness reading={stats} />
          <Segments
            label="Time range"
            options={DAYS}
            value={days}
            onChange={(value) => void navigate({ to: '/questions/statistics', search: { days: value } })}
          />
          <Link to="/questions" className="button button-plain">
            All questions
          </Link>
        </>
      }
    >
      <Loaded reading={stats} rows={6}>
        {(data) =>
          data.rules.length === 0 ? (
            <Empty title="No questions in this time">
              <p>What each rule asks, and how people answer, appears here.</p>
            </Empty>
          ) : (
            <>
              <Tiring rules={data.rules} />
              <Panel title="Rules" aside={<Now stats={data} />}>
                <Rules rules={data.rules} />
              </Panel>
              <Panel title="People">
                <People people={data.people} />
              </Panel>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

const Now = ({ stats: { waiting, undelivered } }: { stats: QuestionStats }) => (
  <>
    {count(waiting)} waiting now{undelivered === 0 ? '' : `, ${count(undelivered)} of them without a notice`}
  </>
)

type Rule = QuestionStats['rules'][number]

/** The first thing to know: which rules to change. */
function Tiring({ rules }: { rules: readonly Rule[] }) {
  const tiring = rules.filter(({ tires }) => tires)
  return tiring.map(({ rule, agent, approved_share }) => (
    <div key={`${rule} ${agent}`} className="strip strip-warn">
      <p>
        <strong>
          <Name value={rule} /> asks more than it helps.
        </strong>{' '}
        People approved {approved_share === null ? 'nearly all' : percent(approved_share)} of what it asked. Let it ask
        about less, such as only larger amounts, and see in a backtest what it would have let through.
      </p>
      <Link to="/plans" search={agent === null ? {} : { agent }} className="button button-plain">
        Plans of the agent
      </Link>
    </div>
  ))
}

const Rules = ({ rules }: { rules: readonly Rule[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Rule</th>
        <th scope="col" className="right">
          Asked
        </th>
        <th scope="col" className="right">
          Per session
        </th>
        <th scope="col" className="right">
          Approved
        </th>
        <th scope="col" className="right">
          Expired
        </th>
        <th scope="col" className="right">
          Withdrawn
        </th>
        <th scope="col" className="right">
          Answered after
        </th>
      </tr>
    </thead>
    <tbody>
      {rules.map((row) => (
        <tr key={`${row.rule} ${row.agent}`}>
          <th scope="row" className="cell-main">
            <Link
              to="/questions"
              search={{ state: 'any', rule: row.rule, ...(row.agent === null ? {} : { agent: row.agent }) }}
            >
              <Name value={row.rule} />
            </Link>
            <span className="cell-note">
              <Text value={row.reason} />
            </span>
            {row.agent === null ? null : (
              <span className="cell-note">
                agent <Text value={row.agent} />
              </span>
            )}
          </th>
          <td data-label="Asked" className="right number">
            {count(row.asked)}
          </td>
          <td data-label="Per session" className="right number">
            {row.sessions === 0 ? <None /> : (row.asked / row.sessions).toFixed(1)}
          </td>
          <td data-label="Approved" className="right number">
            <span>
              {row.approved_share === null ? <None /> : percent(row.approved_share)}{' '}
              {row.tires ? <Badge tone="warn">tiring</Badge> : null}
              {row.approved_share === null ? null : (
                <span className="cell-note">
                  {count(row.approved)} of {count(row.approved + row.denied)}
                </span>
              )}
            </span>
          </td>
          <td data-label="Expired" className="right number">
            {count(row.expired)}
          </td>
          <td data-label="Withdrawn" className="right number">
            {count(row.withdrawn)}
          </td>
          <td data-label="Answered after" className="right number">
            <After seconds={row.median_seconds} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

function People({ people }: { people: QuestionStats['people'] }) {
  if (people.length === 0) return <p className="quiet">No answers in this time.</p>
  return (
    <table className="table table-cards">
      <thead>
        <tr>
          <th scope="col">Person</th>
          <th scope="col" className="right">
            Answers
          </th>
          <th scope="col" className="right">
            Approved
          </th>
          <th scope="col" className="right">
            Answered after
          </th>
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <tr key={person.user_id}>
            <th scope="row" className="cell-main">
              {person.name === null ? <span className="quiet">name erased</span> : <Text value={person.name} />}
            </th>
            <td data-label="Answers" className="right number">
              {count(person.answers)}
            </td>
            <td data-label="Approved" className="right number">
              {person.approved_share === null ? <None /> : percent(person.approved_share)}
            </td>
            <td data-label="Answered after" className="right number">
              <After seconds={person.median_seconds} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The median: half of the answers came sooner. */
const After = ({ seconds }: { seconds: number | null }) =>
  seconds === null ? <None /> : <span title="Half of the answers came sooner">{lengthWords(seconds)}</span>

function lengthWords(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
