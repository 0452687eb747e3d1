import { Link } from '@tanstack/react-router'
import { countOrMore } from '../../text/format.js'
import type { Tone } from './badge.js'

interface TileProps {
  readonly label: string
  readonly value: number
  /** There may be more of them than were counted. */
  readonly isMore?: boolean | undefined
  readonly note?: string | undefined
  readonly tone?: Tone | undefined
  /** The list behind the number: it has as many rows. */
  readonly to?: '/sessions' | '/calls'
  readonly search?: Record<string, string>
}

export function Tile({ label, value, isMore, note, tone = 'neutral', to, search = {} }: TileProps) {
  const content = (
    <>
      <span className="tile-label">{label}</span>
      <span className="tile-value">{countOrMore(value, isMore)}</span>
      <span className="tile-note">{note}</span>
    </>
  )
  const className = `tile tile-${tone}`
  if (to === undefined) return <div className={className}>{content}</div>
  return (
    <Link to={to} search={search} className={className} data-count={value}>
      {content}
    </Link>
  )
}
