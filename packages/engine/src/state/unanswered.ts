import { LIMITS } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { PendingCall, SessionState, UnansweredCall } from './state.js'

export const isUnanswered = (
  { unanswered }: Pick<SessionState, 'unanswered'>,
  { tool, hash }: Pick<UnansweredCall, 'tool' | 'hash'>,
  atMs: number,
): boolean =>
  unanswered?.some((one) => one.tool === tool && one.hash === hash && Date.parse(one.until) >= atMs) === true

/** As many as a session asks about. */
export function withUnanswered(
  before: SessionState['unanswered'],
  calls: readonly PendingCall[],
  plan: Plan,
): SessionState['unanswered'] {
  const added = calls.map((call) => {
    const until = new Date(Date.parse(call.proposed_at) + askedMs(call, plan)).toISOString()
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
  { tool, hash }: Pick<UnansweredCall, 'tool' | 'hash'>,
): SessionState['unanswered'] {
  const at = before?.findIndex((one) => one.tool === tool && one.hash === hash) ?? -1
  return at < 0 ? before : before?.filter((_, index) => index !== at)
}
