import { Link } from '@tanstack/react-router'
import { plainText } from '../../text/visible-text.js'
import { None } from './none.js'
import { Text } from './text.js'

/** Labels of a session; each links to the sessions that have it. */
export function Labels({ labels, most = 128 }: { labels: readonly string[]; most?: number }) {
  if (labels.length === 0) return <None />
  const hidden = labels.slice(most)
  return (
    <ul className="labels">
      {labels.slice(0, most).map((label) => (
        <li key={label}>
          <Link to="/sessions" search={{ label }} className="label">
            <Text value={label} />
          </Link>
        </li>
      ))}
      {hidden.length === 0 ? null : (
        <li className="quiet" title={hidden.map(plainText).join(', ')}>
          and {hidden.length} more
        </li>
      )}
    </ul>
  )
}
