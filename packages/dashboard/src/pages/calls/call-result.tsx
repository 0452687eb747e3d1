import type { CallRow } from '@countersign/protocol'
import { Badge } from '../../components/basic/badge.js'
import { reasonTitle } from '../../text/reasons.js'

export function CallDecision({ row }: { row: CallRow }) {
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
  return decision === 'allow' ? <span className="doubt-note">No receipt</span> : null
}
