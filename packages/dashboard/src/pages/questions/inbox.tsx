import type { QuestionRow, QuestionState } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.js'
import { useMay } from '../../api/use-may.js'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { Select } from '../../components/form/field.js'
import { Freshness, Page } from '../../components/layout/page.js'
import { Pager } from '../../components/layout/pager.js'
import { Empty, Loaded } from '../../components/layout/states.js'
import { plural } from '../../text/format.js'
import { AgentFilter, type Search, TextFilter } from '../sessions/filter-fields.js'
import { STATES } from './question-words.js'
import { QuestionsTable } from './questions-table.js'
import './questions.css'

const STATE_OPTIONS = [
  { value: '', label: 'Waiting' },
  ...Object.entries(STATES)
    .filter(([state]) => state !== 'waiting')
    .map(([value, { word }]) => ({ value, label: word })),
  { value: 'any', label: 'Any' },
]

/** The inbox: what waits for the reader, what waits for others, and what was decided. */
export function QuestionsPage() {
  const search: Search = useSearch({ from: '/signed-in/questions' })
  const navigate = useNavigate()
  const isViewer = !useMay()('answerQuestion')
  const state = search.state ?? ''
  const filter = { agent: search.agent, rule: search.rule, session_id: search.session }
  const ofState = state === '' ? 'waiting' : state === 'any' ? undefined : (state as QuestionState)
  const questions = useApi(
    'listQuestions',
    { query: { ...filter, state: ofState, cursor: search.cursor } },
    { pollMs: 5_000, keepLast: true },
  )
  // Own questions come first, however many wait for others.
  const hasOwn = state === '' && search.cursor === undefined && !isViewer
  const own = useApi(
    'listQuestions',
    { query: { ...filter, mine: '1' } },
    { pollMs: 5_000, keepLast: true, enabled: hasOwn },
  )
  const show = (next: Record<string, string>) => void navigate({ to: '/questions', search: next, replace: true })
  const change = (changed: Record<string, string>) => show({ ...search, ...changed, cursor: '' })
  const filtered = Object.values(search).some((value) => value !== '')
  return (
    <Page
      title="Questions"
      lead="Calls that wait until a person decides, and what was decided."
      actions={
        <>
          <Freshness reading={questions} />
          <Link to="/questions/statistics" className="button button-plain">
            Statistics
          </Link>
        </>
      }
    >
      <search className="filters">
        <Select label="State" value={state} options={STATE_OPTIONS} onChange={(value) => change({ state: value })} />
        <AgentFilter search={search} onChange={change} />
        {(['rule', 'session'] as const).map((name) => (
          <TextFilter
            key={name}
            label={name === 'rule' ? 'Rule' : 'Session'}
            name={name}
            value={search[name] ?? ''}
            onChange={(changed, value) => change({ [changed]: value })}
            placeholder={name === 'rule' ? 'For example pay#0' : 'Whole id'}
          />
        ))}
        {filtered ? (
          <Button kind="quiet" icon="close" onClick={() => show({})}>
            Clear
          </Button>
        ) : null}
      </search>
      {isViewer ? <p className="note questions-note">You can read these. Approvers and owners answer them.</p> : null}
      {hasOwn ? (
        <Loaded reading={own} rows={3}>
          {({ items }) => <OwnQuestions rows={items} />}
        </Loaded>
      ) : null}
      <Loaded reading={questions} rows={5}>
        {({ items, next }) => {
          const rows = hasOwn ? items.filter(({ mine }) => !mine) : items
          const nothing = rows.length === 0 && next === null
          if (nothing && hasOwn && own.data?.items.length !== 0) return null
          if (nothing) return <Nothing filtered={filtered} waiting={state === ''} />
          return (
            <section className="questions-part">
              {hasOwn ? <h2>For others</h2> : null}
              <QuestionsTable label={hasOwn ? 'For others' : 'Questions'} rows={rows} />
              <Pager to="/questions" search={search} what="questions" next={next} />
            </section>
          )
        }}
      </Loaded>
    </Page>
  )
}

function OwnQuestions({ rows }: { rows: readonly QuestionRow[] }) {
  if (rows.length === 0) return null
  return (
    <section className="questions-part">
      <h2>For you</h2>
      <QuestionsTable label="For you" rows={rows} />
      <Batches rows={rows} />
    </section>
  )
}

/** A way to answer the questions of one rule on one page, where there are several. */
function Batches({ rows }: { rows: readonly QuestionRow[] }) {
  const byRule = new Map<string, QuestionRow[]>()
  for (const row of rows)
    byRule.set(`${row.rule} ${row.agent}`, [...(byRule.get(`${row.rule} ${row.agent}`) ?? []), row])
  const several = [...byRule.values()].filter((group) => group.length > 1)
  if (several.length === 0) return null
  return (
    <ul className="batches">
      {several.map(([first, ...others]) =>
        first === undefined ? null : (
          <li key={`${first.rule} ${first.agent}`}>
            <Link
              to="/questions/batch"
              search={{ rule: first.rule, ...(first.agent === null ? {} : { agent: first.agent }) }}
            >
              Answer {plural(others.length + 1, 'question')} about <Text value={first.tool_name} /> on one page
            </Link>
          </li>
        ),
      )}
    </ul>
  )
}

const Nothing = ({ filtered, waiting }: { filtered: boolean; waiting: boolean }) =>
  filtered ? (
    <Empty title={waiting ? 'No such question waits' : 'No such questions'}>
      <p>A rule is a tool and a number, such as pay#0; a session is a whole id. Try fewer filters.</p>
    </Empty>
  ) : (
    <Empty title="Nothing waits for an answer">
      <p>
        A call whose contract has a checkpoint with <code>ask</code> waits here until a person approves or denies it. It
        does not run before that, and the agent may be gone meanwhile.
      </p>
    </Empty>
  )
