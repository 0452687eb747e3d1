import type { CallRow } from '@countersign/protocol'
import { Badge } from '../../components/basic/badge.js'
import { reasonTitle } from '../../text/reasons.js'

/** A block without a reason is no block: people were asked about the call. */
export const isAsked = ({ decision, reason }: Pick<CallRow, 'decision' | 'reason'>): boolean =>
  decision === 'block' && reason === null

export function CallDecision({ row }: { row: CallRow }) {
  if (isAsked(row)) return <Badge tone="accent">Asked</Badge>
  return (
    <Badge tone={row.decision === 'allow' ? 'allow' : 'block'}>
      {row.decision === 'allow' ? 'Allowed' : 'Blocked'}
    </Badge>
  )
}

const OUTCOMES = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  not_executed: 'Not executed',
  unknown: 'Outcome unknown',
} as const

/** What came of a call. */
export function CallEnd({ row }: { row: CallRow }) {
  const { reason, decision, outcome } = row
  if (reason !== null) return reasonTitle(reason)
  if (outcome !== null) return OUTCOMES[outcome]
  if (isAsked(row)) return 'People were asked'
  return decision === 'allow' ? <span className="doubt-note">No receipt</span> : null
}
