import type { AgentRow } from '@countersign/protocol'
import { plural } from '../../text/format.js'

/** Captures are learned from some minutes after they came: what was learned lags behind until then. */
export function Learning({ agent: { waiting_captures } }: { agent: AgentRow }) {
  if (waiting_captures === 0) return null
  return (
    <p className="quiet" role="status">
      Learning: {plural(waiting_captures, 'capture')} to go.
    </p>
  )
}
