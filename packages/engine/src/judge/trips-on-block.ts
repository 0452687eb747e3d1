import type { Plan } from '../contract/plan.js'

/** So many blocks in a row trip the session's circuit breaker: it must be killed. */
export function tripsOnBlock({ session }: Plan, consecutiveBlocks: number): boolean {
  const most = session.session_limits?.circuit_breaker?.consecutive_blocks
  return most !== undefined && consecutiveBlocks >= most
}
