import { LIMITS } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { PendingCall, SessionState, UnansweredCall } from './state.js'

type Asked = Pick<UnansweredCall, 'tool' | 'hash'>

/** Until when the program's question about a call stands; null: none does. */
export const askedUntil = (
  { unanswered }: Pick<SessionState, 'unanswered'>,
  { tool, hash }: Asked,
  atMs: number,
): string | null =>
  unanswered?.find((one) => one.tool === tool && one.hash === hash && Date.parse(one.until) >= atMs)?.until ?? null

export const isUnanswered = (state: Pick<SessionState, 'unanswered'>, call: Asked, atMs: number): boolean =>
  askedUntil(state, call, atMs) !== null

/** As many as a session asks about. One that was parked before has no more time than it had. */
export function withUnanswered(
  before: SessionState['unanswered'],
  calls: readonly PendingCall[],
  plan: Plan,
): SessionState['unanswered'] {
  const added = calls.map((call) => {
    const until = call.asked_until ?? new Date(Date.parse(call.proposed_at) + askedMs(call, plan)).toISOString()
    return { tool: call.tool_name, hash: call.argument_hash, until }
  })
  return [...(before ?? []), ...added].slice(-LIMITS.checkpointTriggersPerSession)
}

/** How long its program asks about a call: the longest of its checkpoints. */
function askedMs({ tool_name, checkpoints }: PendingCall, plan: Plan): number {
  const known = plan.contracts.get(tool_name)?.checkpoints ?? []
  const seconds = checkpoints.map((id) => {
    const index = Number(id.slice(id.lastIndexOf('#') + 1))
    const given = known[index]?.definition.timeout_seconds ?? LIMITS.checkpointTimeoutDefaultSeconds
    return Math.min(Math.max(given, LIMITS.checkpointTimeoutMinSeconds), LIMITS.checkpointTimeoutMaxSeconds)
  })
  return Math.max(0, ...seconds) * 1_000
}

/** Proposed again: the next time counts as another question. */
export function withoutUnanswered(
  before: SessionState['unanswered'],
  { tool, hash }: Asked,
): SessionState['unanswered'] {
  const at = before?.findIndex((one) => one.tool === tool && one.hash === hash) ?? -1
  return at < 0 ? before : before?.filter((_, index) => index !== at)
}
