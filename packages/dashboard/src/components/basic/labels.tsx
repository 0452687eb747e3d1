import { Link } from '@tanstack/react-router'
import { plainText } from '../../text/visible-text.js'
import { None } from './none.js'
import { Text } from './text.js'

interface LabelsProps {
  readonly labels: readonly string[]
  readonly most?: number
  /** Those that new sessions of the same principal start with. */
  readonly sticky?: readonly string[]
}

/** Labels of a session; each links to the sessions that have it. */
export function Labels({ labels, most = 128, sticky = [] }: LabelsProps) {
  if (labels.length === 0) return <None />
  const hidden = labels.slice(most)
  return (
    <ul className="labels">
      {labels.slice(0, most).map((label) => (
        <li key={label}>
          <Link to="/sessions" search={{ label }} className="label">
            <Text value={label} />
          </Link>
          {sticky.includes(label) ? (
            <span className="cell-note" title="New sessions of the same principal start with this label">
              {' '}
              sticks to the principal
            </span>
          ) : null}
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
