import { Link } from '@tanstack/react-router'
import type { Tone } from './badge.js'

interface TileProps {
  readonly label: string
  readonly value: string
  readonly note?: string | undefined
  readonly tone?: Tone | undefined
  /** The sessions behind the number. */
  readonly search?: Record<string, string>
}

export function Tile({ label, value, note, tone = 'neutral', search }: TileProps) {
  const content = (
    <>
      <span className="tile-label">{label}</span>
      <span className="tile-value">{value}</span>
      <span className="tile-note">{note}</span>
    </>
  )
  const className = `tile tile-${tone}`
  if (search === undefined) return <div className={className}>{content}</div>
  return (
    <Link to="/sessions" search={search} className={className}>
      {content}
    </Link>
  )
}
