import type { AnswerBody, QuestionDetail } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Icon } from '../../components/basic/icon.js'
import { Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { Panel } from '../../components/layout/page.js'
import { sentence } from '../../text/format.js'
import { answerChoice } from './answer-choices.js'
import { AnswerForm } from './answer-form.js'
import { NoteField, noted } from './note-field.js'
import { decisionWords, outcomeWords, STATES } from './question-words.js'

interface AnswerPanelProps {
  readonly detail: QuestionDetail
  /** Of the card that was read: what the answer names. */
  readonly cardHash: string
}

/** The reader's answer; or why they cannot give one, or what was decided. */
export function AnswerPanel({ detail, cardHash }: AnswerPanelProps) {
  const queries = useQueryClient()
  const answer = useChange('answerQuestion', ['loadQuestion', 'listQuestions', 'questionStats'])
  const { question, may } = detail
  const send = (given: Omit<AnswerBody, 'card_hash'>) =>
    answer.mutate(
      { params: { question_id: question.question_id }, body: { ...given, card_hash: cardHash } },
      // Another was faster, or the question changed: what is shown is what it is now.
      { onError: () => void queries.invalidateQueries({ queryKey: ['loadQuestion'] }) },
    )
  const choice = answerChoice(detail, cardHash)
  const isOutcome = choice === 'over' || question.state === 'approved'
  const title = isOutcome ? 'Outcome' : may.confirms && choice === 'answer' ? 'Confirm your own request' : 'Your answer'
  return (
    <Panel title={title}>
      {answer.error === null ? null : <NotCounted problem={answer.error} />}
      {isOutcome ? <Outcome detail={detail} /> : null}
      {choice === 'read_again' ? (
        <p>Read the changed question first.</p>
      ) : choice === 'answer' ? (
        <AnswerForm detail={detail} busy={answer.isPending} onAnswer={send} />
      ) : isOutcome ? null : (
        <p>
          <Text value={sentence(may.why_not ?? 'you cannot answer this question')} />
          {/[.!]$/.test(may.why_not ?? '') ? '' : '.'}
        </p>
      )}
      {choice === 'deny' ? <DenyAfterAll busy={answer.isPending} onAnswer={send} /> : null}
    </Panel>
  )
}

interface DenyProps {
  readonly busy: boolean
  readonly onAnswer: (answer: Omit<AnswerBody, 'card_hash'>) => void
}

/** A yes can be taken back until the call has run. */
function DenyAfterAll({ busy, onAnswer }: DenyProps) {
  const [note, setNote] = useState('')
  return (
    <details className="more">
      <summary>Take the approval back</summary>
      <div className="form">
        <p>The call has not run yet. Deny blocks it in this session.</p>
        <NoteField note={note} hint="The model reads it." onChange={setNote} />
        <div className="answer-buttons">
          <Button kind="danger" icon="cross" busy={busy} onClick={() => onAnswer({ decision: 'deny', ...noted(note) })}>
            Deny after all
          </Button>
        </div>
      </div>
    </details>
  )
}

const NotCounted = ({ problem: { code, message, detail, retryAfterSeconds } }: { problem: ApiProblem }) => (
  <div className="form-problem not-counted" role="alert">
    <p>
      <strong>Your answer was not counted.</strong>{' '}
      {code === 'QUESTION_CHANGED' ? (
        'The question changed in the meantime.'
      ) : (
        <>
          <Text value={sentence(detail ?? message)} />
          {/[.!]$/.test(detail ?? message) ? '' : '.'}
        </>
      )}
      {retryAfterSeconds === undefined ? '' : ` Try again in ${Math.ceil(retryAfterSeconds)} seconds.`}
    </p>
  </div>
)

function Outcome({ detail: { question, answers } }: { detail: QuestionDetail }) {
  const last = answers.filter(({ card_no }) => card_no === question.card_no).at(-1)
  const isDecided = question.state !== 'withdrawn' && last !== undefined
  return (
    <div className={`outcome outcome-${STATES[question.state].tone}`}>
      <p className="outcome-word">
        <Icon name={STATES[question.state].tone === 'allow' ? 'check' : 'cross'} />
        <strong>{STATES[question.state].word}</strong>
      </p>
      {isDecided ? (
        <p>
          {decisionWords(last)} by {last.by === null ? 'a person whose name was erased' : <Text value={last.by} />},{' '}
          <Ago at={last.at} />.
        </p>
      ) : null}
      {isDecided && last.note !== null ? (
        <p>
          <q>
            <Text value={last.note} lines />
          </q>
        </p>
      ) : null}
      <p>{outcomeWords(question)}</p>
    </div>
  )
}
