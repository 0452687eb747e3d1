import type { QuestionStats } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { None } from '../../components/basic/none.js'
import { Name, Text } from '../../components/basic/text.js'
import { Segments } from '../../components/form/segments.js'
import { Freshness, Page, Panel } from '../../components/layout/page.js'
import { Empty, Loaded } from '../../components/layout/states.js'
import { count, percent } from '../../text/format.js'
import './questions.css'
import { Tiring } from './tiring.js'

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

const Rules = ({ rules }: { rules: readonly Rule[] }) => (
  <Figures
    of="Rule"
    names={['Asked', 'Per session', 'Approved', 'Expired', 'Withdrawn', 'Answered after']}
    rows={rules.map((row) => ({
      key: `${row.rule} ${row.agent}`,
      name: <RuleName row={row} />,
      figures: [
        count(row.asked),
        row.sessions === 0 ? <None key="per-session" /> : (row.asked / row.sessions).toFixed(1),
        <ApprovedOf key="approved" row={row} />,
        count(row.expired),
        count(row.withdrawn),
        <After key="after" seconds={row.median_seconds} />,
      ],
    }))}
  />
)

const RuleName = ({ row: { rule, agent, reason } }: { row: Rule }) => (
  <>
    <Link to="/questions" search={{ state: 'any', rule, ...(agent === null ? {} : { agent }) }}>
      <Name value={rule} />
    </Link>
    <span className="cell-note">
      <Text value={reason} />
    </span>
    {agent === null ? null : (
      <span className="cell-note">
        agent <Text value={agent} />
      </span>
    )}
  </>
)

const ApprovedOf = ({ row: { approved, denied, approved_share, tires } }: { row: Rule }) => (
  <span>
    <Share of={approved_share} /> {tires ? <Badge tone="warn">tiring</Badge> : null}
    {approved_share === null ? null : (
      <span className="cell-note">
        {count(approved)} of {count(approved + denied)}
      </span>
    )}
  </span>
)

function People({ people }: { people: QuestionStats['people'] }) {
  if (people.length === 0) return <p className="quiet">No answers in this time.</p>
  return (
    <Figures
      of="Person"
      names={['Answers', 'Approved', 'Answered after']}
      rows={people.map(({ user_id, name, answers, approved_share, median_seconds }) => ({
        key: user_id,
        name: name === null ? <span className="quiet">name erased</span> : <Text value={name} />,
        figures: [
          count(answers),
          <Share key="approved" of={approved_share} />,
          <After key="after" seconds={median_seconds} />,
        ],
      }))}
    />
  )
}

interface FiguresProps {
  /** What a row is about. */
  readonly of: string
  readonly names: readonly string[]
  readonly rows: readonly { readonly key: string; readonly name: ReactNode; readonly figures: readonly ReactNode[] }[]
}

const Figures = ({ of, names, rows }: FiguresProps) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">{of}</th>
        {names.map((name) => (
          <th key={name} scope="col" className="right">
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ key, name, figures }) => (
        <tr key={key}>
          <th scope="row" className="cell-main">
            {name}
          </th>
          {figures.map((figure, at) => (
            <td key={names[at]} data-label={names[at]} className="right number">
              {figure}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)

const Share = ({ of }: { of: number | null }) => (of === null ? <None /> : percent(of))

/** The median: half of the answers came sooner. */
const After = ({ seconds }: { seconds: number | null }) =>
  seconds === null ? <None /> : <span title="Half of the answers came sooner">{lengthWords(seconds)}</span>

function lengthWords(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
