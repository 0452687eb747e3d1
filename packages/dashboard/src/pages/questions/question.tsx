import type { JsonObject, QuestionDetail } from '@countersign/protocol'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { Button } from '../../components/basic/button.js'
import { Icon } from '../../components/basic/icon.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago, Until } from '../../components/basic/time.js'
import { Freshness, Page, Panel } from '../../components/layout/page.js'
import { Loaded } from '../../components/layout/states.js'
import { fullTime, plural } from '../../text/format.js'
import { plainText } from '../../text/visible-text.js'
import { answerChoice } from './answer-choices.js'
import { AnswerPanel } from './answer-panel.js'
import { AskAgain } from './ask-again.js'
import { ChangesTable } from './changes-table.js'
import { changesBetween, valueAt } from './leaf-values.js'
import './questions.css'
import { QuestionRecord } from './question-record.js'
import { QuestionSurroundings } from './question-surroundings.js'
import { requesterNote, STATES } from './question-words.js'
import { Requester } from './questions-table.js'
import { ShortValue, WholeArguments } from './whole-arguments.js'

/** One question: all that is decided about, the answer, and what surrounds it. */
export function QuestionPage() {
  const { questionId } = useParams({ from: '/signed-in/questions/$questionId' })
  const question = useApi('loadQuestion', { params: { question_id: questionId } }, { pollMs: 3_000 })
  const row = question.data?.question
  return (
    <Page
      title={row === undefined ? `Question ${questionId}` : `${plainText(row.tool_name)}, ${questionId}`}
      heading={row === undefined ? undefined : <Heading row={row} />}
      lead={row === undefined ? undefined : <Text value={row.reason} />}
      actions={
        <>
          <Freshness reading={question} />
          {question.data?.may.ask_again === true ? <AskAgain questionId={questionId} /> : null}
        </>
      }
    >
      <Loaded reading={question} rows={8}>
        {(detail) => <QuestionView key={questionId} detail={detail} />}
      </Loaded>
    </Page>
  )
}

const Heading = ({ row: { agent, tool_name, state } }: { row: QuestionDetail['question'] }) => (
  <>
    {state === 'waiting' ? 'May ' : ''}
    {agent === null ? 'an agent without a name' : <Text value={agent} />}
    {state === 'waiting' ? ' run ' : ' asked to run '}
    <Text value={tool_name} className="heading-name" />
    {state === 'waiting' ? '?' : ''}
  </>
)

function QuestionView({ detail }: { detail: QuestionDetail }) {
  // What an answer names is what was read. A card that comes while the page is open is read first.
  const [readHash, setReadHash] = useState(detail.card_hash)
  const isOther = answerChoice(detail, readHash) === 'read_again'
  return (
    <>
      <Facts detail={detail} />
      {isOther ? (
        <div className="strip strip-warn" role="alert">
          <Icon name="alert" size={18} />
          <p>
            <strong>This question has changed since you opened it.</strong> Earlier answers are void. Read it again
            before you answer.
          </p>
          <Button onClick={() => setReadHash(detail.card_hash)}>I have read it</Button>
        </div>
      ) : null}
      <div className="question-columns">
        <div className="question-card">
          <Card detail={detail} />
        </div>
        <div className="question-answer">
          <AnswerPanel key={readHash} detail={detail} cardHash={readHash} />
        </div>
        <div className="question-rest">
          <QuestionRecord detail={detail} />
          <QuestionSurroundings detail={detail} />
        </div>
      </div>
    </>
  )
}

function Facts({ detail: { question } }: { detail: QuestionDetail }) {
  const { state, have, needed, session_id, environment, asked_at, expires_at, usable_until } = question
  return (
    <dl className="facts">
      <div>
        <dt>State</dt>
        <dd>
          <Badge tone={STATES[state].tone}>{STATES[state].word}</Badge>
        </dd>
      </div>
      <div>
        <dt>Yes so far</dt>
        <dd>
          {have} of {needed}
        </dd>
      </div>
      <div>
        <dt>Session</dt>
        <dd>
          <Link to="/sessions/$sessionId" params={{ sessionId: session_id }}>
            <Text value={session_id} />
          </Link>
          {environment === null ? '' : ` in ${environment}`}
        </dd>
      </div>
      {requesterNote(question) === null ? null : (
        <div>
          <dt>Acts for</dt>
          <dd>
            <Requester row={question} />
          </dd>
        </div>
      )}
      <div>
        <dt>Asked</dt>
        <dd>
          <Ago at={asked_at} />
        </dd>
      </div>
      {state === 'waiting' ? (
        <div>
          <dt>Ends</dt>
          <dd>
            <Until at={expires_at} />
          </dd>
        </div>
      ) : null}
      {state === 'approved' && usable_until !== null ? (
        <div>
          <dt>Can be used until</dt>
          <dd>{fullTime(usable_until)}</dd>
        </div>
      ) : null}
      <div>
        <dt>Question</dt>
        <dd>
          <Name value={question.question_id} />
        </dd>
      </div>
    </dl>
  )
}

function Card({ detail }: { detail: QuestionDetail }) {
  const { card, changed } = detail
  if (changed === true) {
    return (
      <div className="strip strip-block" role="alert">
        <Icon name="alert" size={18} />
        <p>
          <strong>What is stored of this question was changed after the fact.</strong> It does not match its hash in the
          ledger, so it is not shown and can only be denied. Tell an owner, and the operator of the service.
        </p>
      </div>
    )
  }
  if (card === null) {
    return (
      <Panel title="The call">
        <p className="quiet">The content of this session was erased, so there is nothing left to see or to approve.</p>
      </Panel>
    )
  }
  return (
    <>
      <Panel title="The call" aside={sizeWords(card.arguments)}>
        <WholeArguments value={card.arguments} />
      </Panel>
      <Panel title="Why it asks" aside={card.rules.length > 1 ? plural(card.rules.length, 'rule') : undefined}>
        <ul className="asking-rules">
          {card.rules.map(({ rule, reason, context }) => (
            <li key={rule}>
              <p>
                <Text value={reason} />{' '}
                <span className="quiet">
                  (rule <Name value={rule} />)
                </span>
              </p>
              {context.map(({ label, path }) => (
                <p key={`${label} ${path}`} className="asking-context">
                  <Text value={label} />: <ShortValue value={valueAt(card.arguments, path)} />
                </p>
              ))}
            </li>
          ))}
        </ul>
      </Panel>
      <LastAllowed detail={detail} />
    </>
  )
}

/** Says of a long call how long it is: not all of it is in view at once. */
function sizeWords(given: JsonObject): string {
  const characters = JSON.stringify(given).length
  const words = plural(Object.keys(given).length, 'argument')
  return characters > 2_000 ? `${words}, ${plural(characters, 'character')}` : words
}

function LastAllowed({ detail: { card, last_allowed } }: { detail: QuestionDetail }) {
  if (card === null) return null
  const difference = last_allowed === null ? null : changesBetween(last_allowed.arguments, card.arguments)
  return (
    <Panel
      title="Compared with the last allowed call"
      aside={last_allowed === null ? undefined : <Ago at={last_allowed.at} />}
    >
      {difference === null ? (
        <p className="quiet">
          No call of <Name value={card.tool_name} /> was allowed in this session before.
        </p>
      ) : difference.changes.length === 0 ? (
        <p>The arguments are the same.</p>
      ) : (
        <>
          <ChangesTable changes={difference.changes} before="Last allowed" now="This call" />
          {difference.same === 0 ? null : (
            <p className="quiet">{plural(difference.same, 'other value is', 'other values are')} the same.</p>
          )}
        </>
      )}
    </Panel>
  )
}
