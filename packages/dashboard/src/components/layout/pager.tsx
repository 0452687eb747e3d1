import { Link } from '@tanstack/react-router'
import { Empty } from './states.js'

interface PagerProps {
  readonly to: '/sessions' | '/calls' | '/questions' | '/captures' | '/workflows' | '/plans' | '/audit'
  /** What the address of the list says beside the place in it. */
  readonly search?: Readonly<Record<string, string>>
  /** What is listed, in the plural. */
  readonly what: string
  /** Where the next page begins; null on the last one. */
  readonly next: string | null
  readonly order?: 'newest' | 'oldest'
}

/** The way through a list that comes in pages: back to its beginning, and on. */
export function Pager({ to, search = {}, what, next, order = 'newest' }: PagerProps) {
  const further = order === 'newest' ? 'older' : 'newer'
  return (
    <div className="pager">
      {search.cursor === undefined ? (
        <span />
      ) : (
        <Link to={to} search={{ ...search, cursor: '' }} className="button button-plain">
          {order === 'newest' ? 'Newest' : 'Oldest'}
        </Link>
      )}
      {next === null ? (
        <span className="quiet">
          No {further} {what}
        </span>
      ) : (
        <Link to={to} search={{ ...search, cursor: next }} className="button button-plain">
          {further === 'older' ? 'Older' : 'Newer'} {what}
        </Link>
      )}
    </div>
  )
}

/** A page without rows that is not the last: of the records that it looked through none fits. */
export const NoneSoFar = (props: PagerProps) => (
  <>
    <Empty title={`No matching ${props.what} so far`}>
      <p>There are too many to look through at once. The next page looks further.</p>
    </Empty>
    <Pager {...props} />
  </>
)
