import type { QuestionCard, QuestionDetail } from '@countersign/protocol'
import { Badge } from '../../components/basic/badge.js'
import { Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { Panel } from '../../components/layout/page.js'
import { fullTime, plural, sentence } from '../../text/format.js'
import { ChangesTable } from './changes-table.js'
import { changesBetween } from './leaf-values.js'
import { decisionWords } from './question-words.js'

/** Who is asked, who answered, who was told, and what answers also cover. */
export const QuestionRecord = ({ detail }: { detail: QuestionDetail }) => (
  <>
    <Panel title="Who decides">
      {detail.card === null ? null : <Asked card={detail.card} />}
      <Answers detail={detail} />
    </Panel>
    <Panel title="Notices">
      <Deliveries detail={detail} />
    </Panel>
  </>
)

function Asked({ card: { needed, eligible, self } }: { card: QuestionCard }) {
  return (
    <>
      <p>
        {needed === 1 ? 'One person has to approve it' : `${needed} different people have to approve it`}
        {self === 'never' ? ', and not the one for whom the session acts.' : '.'}
      </p>
      <ul className="rules">
        {eligible.map((alternatives) => (
          <li key={JSON.stringify(alternatives)}>
            {alternatives.map(({ role, from }, at) => (
              <span key={`${role} ${from}`}>
                <Text
                  value={
                    at === 0 ? sentence(memberWords(role)) : `, and from ${fullTime(from)} ${memberWords(role)} as well`
                  }
                />
              </span>
            ))}
          </li>
        ))}
      </ul>
    </>
  )
}

function memberWords(role: string): string {
  if (role === 'owner') return 'an owner'
  return role === 'approver' ? 'an approver or an owner' : `a member of ${role}`
}

function Answers({ detail: { answers, card, question } }: { detail: QuestionDetail }) {
  if (answers.length === 0) return <p className="quiet">No answers yet.</p>
  return (
    <ol className="rows answers">
      {answers.map((answer) => {
        const changes =
          answer.edited === null || card === null ? [] : changesBetween(card.arguments, answer.edited).changes
        return (
          <li key={`${answer.at} ${answer.by} ${answer.card_no}`}>
            <p>
              {decisionWords(answer)} by{' '}
              {answer.by === null ? 'a person whose name was erased' : <Text value={answer.by} />},{' '}
              <Ago at={answer.at} />{' '}
              {answer.card_no === question.card_no ? null : <Badge>void: the question changed</Badge>}
            </p>
            {answer.note === null ? null : (
              <p>
                <q>
                  <Text value={answer.note} lines />
                </q>
              </p>
            )}
            {changes.length === 0 ? null : <ChangesTable changes={changes} before="As asked" now="As approved" />}
          </li>
        )
      })}
    </ol>
  )
}

const KINDS = {
  asked: 'Asked',
  reminder: 'Reminder',
  escalation: 'Asked as well',
  undelivered: 'No mail sent',
  answered: 'Answered',
  ended: 'Ended',
} as const

function Deliveries({ detail: { deliveries, question } }: { detail: QuestionDetail }) {
  if (deliveries.length === 0) {
    return (
      <p className={question.delivered ? 'quiet' : 'doubt-note'}>
        {question.delivered ? 'No notice was needed.' : 'No notice was sent yet.'}
      </p>
    )
  }
  return (
    <>
      {question.delivered ? null : (
        <p className="form-problem">No notice has arrived. People see the question only if they look here.</p>
      )}
      <ul className="rows notices">
        {deliveries.map(({ kind, channel, to, sent_at, attempts, error, at }) => (
          <li key={`${at} ${kind} ${channel} ${to}`}>
            <span>
              {KINDS[kind]}, by {channel}
              {to === null ? '' : ' to '}
              {to === null ? null : <Text value={to} />}
            </span>
            <span className={error === null ? 'quiet' : 'field-problem'}>
              {sent_at !== null ? (
                <>
                  sent <Ago at={sent_at} />
                </>
              ) : error !== null ? (
                <>
                  {plural(attempts, 'attempt')}: <Text value={error} />
                </>
              ) : (
                'about to be sent'
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
