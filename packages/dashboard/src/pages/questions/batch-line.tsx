import type { QuestionDetail } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import type { Answer } from '../../api/api.js'
import { Badge } from '../../components/basic/badge.js'
import { Name, Text } from '../../components/basic/text.js'
import { Until } from '../../components/basic/time.js'
import { sentence } from '../../text/format.js'
import { fitsLine, shownCard } from './answer-choices.js'
import { requesterNote, STATES } from './question-words.js'
import { WholeArguments } from './whole-arguments.js'

export type Choice = 'approve' | 'deny' | 'later'

const CHOICES = [
  { value: 'approve', word: 'Approve' },
  { value: 'deny', word: 'Deny' },
  { value: 'later', word: 'Later' },
] as const

interface BatchLineProps {
  readonly detail: QuestionDetail
  readonly choice: Choice
  readonly result: Answer<'answerQuestions'>['results'][number] | undefined
  readonly onChoose: (choice: Choice) => void
}

export function BatchLine({ detail, choice, result, onChoose }: BatchLineProps) {
  const { question, may } = detail
  const card = shownCard(detail)
  const id = useId()
  const isShown = fitsLine(detail)
  return (
    <li className="panel batch-line">
      <div className="batch-call">
        <h2>
          <Name value={question.tool_name} />
          <Link to="/questions/$questionId" params={{ questionId: question.question_id }}>
            {question.question_id}
          </Link>
        </h2>
        <p className="cell-note">
          {question.requester === null ? null : (
            <>
              for <Text value={question.requester} />,{' '}
            </>
          )}
          {requesterNote(question) === null ? '' : `${requesterNote(question)}, `}
          {question.have} of {question.needed} yes, ends <Until at={question.expires_at} />
        </p>
        {isShown && card !== null ? (
          <WholeArguments value={card.arguments} />
        ) : (
          <p className="note">
            {card === null
              ? 'What it asks about cannot be shown, so it can only be denied.'
              : 'Too long for a line: read it on its own page, where you can also approve it.'}
          </p>
        )}
      </div>
      {result !== undefined ? (
        <p className="batch-result" role="status">
          {result.problem !== null ? (
            <span className="blocked">
              Not counted: <Text value={sentence(result.problem.detail ?? result.problem.title)} />
            </span>
          ) : result.state === null ? null : (
            <Badge tone={STATES[result.state].tone}>
              {result.state === 'waiting' ? 'Counted, more are needed' : STATES[result.state].word}
            </Badge>
          )}
        </p>
      ) : (
        <fieldset className="batch-choice">
          <legend className="visually-hidden">Decision about {question.question_id}</legend>
          {CHOICES.map(({ value, word }) => (
            <label key={value} className="check">
              <input
                type="radio"
                name={id}
                value={value}
                checked={choice === value}
                disabled={value === 'approve' && !isShown}
                onChange={() => onChoose(value)}
              />
              <span>{value === 'approve' && may.confirms ? 'Confirm (your own request)' : word}</span>
            </label>
          ))}
        </fieldset>
      )}
    </li>
  )
}
