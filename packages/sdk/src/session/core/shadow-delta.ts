import type { Plan, SessionState } from '@countersign/engine'
import type { BlockReason, Decision, NarrowedTool, NarrowingReason } from '@countersign/protocol'
import { isBlocked } from './gate.js'

/** What enforcement would have changed in the latest turn of a session in shadow mode. */
export interface ShadowDelta {
  /** Tools that would have been removed from the request. */
  readonly would_have_narrowed: readonly { readonly tool: string; readonly reason: NarrowingReason }[]
  /** Calls that would have been blocked. */
  readonly would_have_blocked: readonly {
    readonly tool_name: string
    readonly reason: BlockReason | null
    readonly detail: string | null
  }[]
  /** The phase of the session; null if its plan has no phases. */
  readonly current_phase: string | null
  /** The phases that may follow. */
  readonly legal_next_phases: readonly string[]
}

export function shadowDelta(
  plan: Plan,
  phase: SessionState['phase'],
  removed: readonly NarrowedTool[],
  decisions: readonly Decision[],
): ShadowDelta {
  return {
    would_have_narrowed: removed.map(({ tool, reason }) => ({ tool, reason })),
    would_have_blocked: decisions.filter(isBlocked).map(({ tool_name, reason, reasons }) => ({
      tool_name,
      reason,
      detail: reasons[0]?.detail ?? null,
    })),
    current_phase: phase,
    legal_next_phases: phase === null ? [] : [...(plan.phases?.moves.get(phase) ?? [])],
  }
}
