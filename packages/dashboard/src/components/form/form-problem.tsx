import type { ApiProblem } from '../../api/api.js'
import { sentence } from '../../text/format.js'
import { Text } from '../basic/text.js'

/** Why the server refused a form. */
export function FormProblem({ problem }: { problem: ApiProblem | null }) {
  if (problem === null) return null
  const wait = problem.retryAfterSeconds
  return (
    <p className="form-problem" role="alert">
      <Text value={sentence(problem.detail ?? problem.message)} />.
      {problem.code === 'LAST_OWNER' ? ' Make another member an owner first.' : ''}
      {problem.status === 429 && wait !== undefined ? ` Try again in ${waitWords(wait)}.` : ''}
    </p>
  )
}

const waitWords = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`
