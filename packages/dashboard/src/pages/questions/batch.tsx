import type { QuestionDetail } from '@countersign/protocol'
import { useQueries, useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Answer, ApiProblem } from '../../api/api.js'
import { reading, useApi, useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Page, Panel } from '../../components/layout/page.js'
import { Empty, Failure, Loaded, Loading } from '../../components/layout/states.js'
import { shownCard } from './answer-choices.js'
import { BatchLine, type Choice } from './batch-line.js'
import { sumsOf } from './batch-sums.js'
import './questions.css'

/** So many are read at once; the next ones come when these are answered. */
const AT_ONCE = 25

/** The questions of one rule, a decision for each. There is no button that approves all of them. */
export function BatchPage() {
  const { rule, agent } = useSearch({ from: '/signed-in/questions/batch' })
  // What is decided about stays where it is until it is sent.
  const list = useApi('listQuestions', { query: { mine: '1', rule, agent, limit: AT_ONCE } }, { once: true })
  return (
    <Page
      title="Questions of one rule"
      lead={
        <>
          A decision for each call{rule === undefined ? '' : ' that '}
          {rule === undefined ? null : <Text value={rule} className="name" />}
          {rule === undefined ? '' : ' asks about'}. Those without one stay as they are.
        </>
      }
      actions={
        <Link to="/questions" className="button button-plain">
          All questions
        </Link>
      }
    >
      <Loaded reading={list} rows={6}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty title="Nothing of this rule waits for you">
              <p>It was answered, has ended, or was never for you to answer.</p>
            </Empty>
          ) : (
            <Batch ids={items.map(({ question_id }) => question_id)} hasMore={next !== null} onDone={list.refetch} />
          )
        }
      </Loaded>
    </Page>
  )
}

function Batch({ ids, hasMore, onDone }: { ids: readonly string[]; hasMore: boolean; onDone: () => unknown }) {
  const details = useQueries({
    queries: ids.map((question_id) => ({
      ...reading('loadQuestion', { params: { question_id } }),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  })
  const failed = details.find(({ error }) => error !== null)
  const read = details.flatMap(({ data }) => (data === undefined ? [] : [data]))
  if (failed !== undefined && read.length < ids.length)
    return <Failure problem={failed.error as ApiProblem} onRetry={failed.refetch} />
  if (read.length < ids.length) return <Loading rows={6} />
  return <Decisions key={ids.join()} read={read} hasMore={hasMore} onDone={onDone} />
}

type Results = ReadonlyMap<string, Answer<'answerQuestions'>['results'][number]>

interface DecisionsProps {
  readonly read: readonly QuestionDetail[]
  readonly hasMore: boolean
  readonly onDone: () => unknown
}

function Decisions({ read, hasMore, onDone }: DecisionsProps) {
  const queries = useQueryClient()
  const [choices, setChoices] = useState<ReadonlyMap<string, Choice>>(new Map())
  const [results, setResults] = useState<Results>(new Map())
  const send = useChange('answerQuestions', ['questionStats'])
  const choiceOf = ({ question }: QuestionDetail): Choice => choices.get(question.question_id) ?? 'later'
  const chosen = (choice: Choice) =>
    read.filter((detail) => !results.has(detail.question.question_id) && choiceOf(detail) === choice)
  const [yes, no] = [chosen('approve'), chosen('deny')]
  const submit = () => {
    const answers = [...yes, ...no].map((detail) => ({
      question_id: detail.question.question_id,
      card_hash: detail.card_hash,
      decision: yes.includes(detail) ? ('approve' as const) : ('deny' as const),
    }))
    send.mutate(
      { body: { answers } },
      {
        onSuccess: (reply) =>
          setResults(new Map([...results, ...reply.results.map((result) => [result.question_id, result] as const)])),
      },
    )
  }
  const goOn = () => {
    queries.removeQueries({ queryKey: ['loadQuestion'] })
    void onDone()
  }
  return (
    <>
      <ol className="batch">
        {read.map((detail) => (
          <BatchLine
            key={detail.question.question_id}
            detail={detail}
            choice={choiceOf(detail)}
            result={results.get(detail.question.question_id)}
            onChoose={(choice) => setChoices(new Map([...choices, [detail.question.question_id, choice]]))}
          />
        ))}
      </ol>
      <Panel title="What you decide">
        <Sums approve={yes} deny={no} later={chosen('later')} />
        <FormProblem problem={send.error} />
        <div className="answer-buttons batch-buttons">
          <Button kind="primary" busy={send.isPending} disabled={yes.length + no.length === 0} onClick={submit}>
            {yes.length + no.length === 0
              ? 'Nothing decided yet'
              : [yes.length === 0 ? '' : `Approve ${yes.length}`, no.length === 0 ? '' : `deny ${no.length}`]
                  .filter((part) => part !== '')
                  .join(', ')
                  .replace(/^deny/, 'Deny')}
          </Button>
          {results.size === 0 ? null : (
            <Button onClick={goOn}>{hasMore ? 'Show the next ones' : 'Show what is left'}</Button>
          )}
        </div>
      </Panel>
    </>
  )
}

/** The numbers of the calls added up, so that many small amounts are seen as one large one. */
function Sums(parts: Readonly<Record<Choice, readonly QuestionDetail[]>>) {
  const names = ['approve', 'deny', 'later'] as const
  const sums = names.map((name) => sumsOf(parts[name].flatMap((detail) => shownCard(detail) ?? [])))
  const keys = [...new Set(sums.flatMap((of) => [...of.keys()]))]
  return (
    <table className="table table-plain batch-sums">
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Sum of</span>
          </th>
          <th scope="col" className="right">
            Approve
          </th>
          <th scope="col" className="right">
            Deny
          </th>
          <th scope="col" className="right">
            Later
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">Calls</th>
          {names.map((name) => (
            <td key={name} className="right number">
              {parts[name].length}
            </td>
          ))}
        </tr>
        {keys.map((key) => (
          <tr key={key}>
            <th scope="row">
              <Text value={key} className="name" />, together
            </th>
            {sums.map((of, at) => (
              <td key={names[at]} className="right number">
                {of.get(key) ?? 0}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
