import { Link } from '@tanstack/react-router'
import { count } from '../../text/format.js'
import type { Tone } from './badge.js'

interface TileProps {
  readonly label: string
  readonly value: number
  readonly note?: string | undefined
  readonly tone?: Tone | undefined
  /** The list behind the number: it has as many rows. */
  readonly to?: '/sessions' | '/calls'
  readonly search?: Record<string, string>
}

export function Tile({ label, value, note, tone = 'neutral', to, search = {} }: TileProps) {
  const content = (
    <>
      <span className="tile-label">{label}</span>
      <span className="tile-value">{count(value)}</span>
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
