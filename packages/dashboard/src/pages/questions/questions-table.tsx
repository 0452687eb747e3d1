import type { QuestionRow } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/basic/badge.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago, Until } from '../../components/basic/time.js'
import { requesterNote, STATES } from './question-words.js'

export const QuestionsTable = ({ label, rows }: { label: string; rows: readonly QuestionRow[] }) => (
  <table className="table table-cards questions" aria-label={label}>
    <thead>
      <tr>
        <th scope="col">Call</th>
        <th scope="col" className="column-why">
          Why it asks
        </th>
        <th scope="col">Agent</th>
        <th scope="col">Acts for</th>
        <th scope="col">Answers</th>
        <th scope="col" className="right">
          Time
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.question_id}>
          <th scope="row" className="cell-main">
            <Link to="/questions/$questionId" params={{ questionId: row.question_id }}>
              <Name value={row.tool_name} />
            </Link>
            <span className="cell-note">
              <Text value={row.question_id} />
            </span>
          </th>
          <td data-label="Why it asks">
            <Text value={row.reason} />
          </td>
          <td data-label="Agent">
            <span>
              {row.agent === null ? <span className="quiet">unnamed</span> : <Text value={row.agent} />}
              {row.environment === null ? null : <span className="cell-note">{row.environment}</span>}
            </span>
          </td>
          <td data-label="Acts for" className={requesterNote(row) === null ? 'cell-none' : undefined}>
            <Requester row={row} />
          </td>
          <td data-label="Answers">
            <span>
              <Answers row={row} />
            </span>
          </td>
          <td data-label="Time" className="right nowrap">
            <span>
              {row.state === 'waiting' ? (
                <>
                  ends <Until at={row.expires_at} />
                </>
              ) : (
                <Ago at={row.decided_at ?? row.expires_at} />
              )}
              <span className="cell-note">
                asked <Ago at={row.asked_at} />
              </span>
            </span>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

export function Requester({ row }: { row: QuestionRow }) {
  const note = requesterNote(row)
  if (note === null) return <span className="quiet">not named</span>
  return (
    <span>
      {row.requester === null ? null : <Text value={row.requester} />}
      <span className="cell-note">{note}</span>
    </span>
  )
}

function Answers({ row: { state, have, needed, delivered } }: { row: QuestionRow }) {
  if (state !== 'waiting') return <Badge tone={STATES[state].tone}>{STATES[state].word}</Badge>
  return (
    <>
      {have} of {needed}
      {delivered ? null : <span className="cell-note doubt-note">no notice arrived</span>}
    </>
  )
}
