import type { NarrowingSnapshot } from '@countersign/protocol'
import { messageOf } from './diagnostics.js'
import { isBlocked } from './gate.js'
import type { ReplayCaptures } from './replay-captures.js'
import type { NarrowResult } from './replay-options.js'
import type { SessionCore } from './session-core.js'
import { type ShadowDelta, shadowDelta } from './shadow-delta.js'
import { deepFreeze } from './snapshot-with.js'
import type { Trace, TraceEntry } from './trace.js'
import type { TurnNotes } from './turn-session.js'

/** What turns leave behind for the accessors, the callbacks and the captures. */
export interface SessionNotes extends TurnNotes {
  lastNarrowing(): NarrowResult | null
  narrowingSnapshot(): NarrowingSnapshot | null
  lastShadowDelta(): ShadowDelta | null
  lastTrace(): readonly TraceEntry[]
  shadowEvaluations(): number
  errors(): number
}

export function createSessionNotes(core: SessionCore, captures: ReplayCaptures): SessionNotes {
  const { settings, report } = core
  const { sessionId } = settings
  let narrowing: NarrowResult | null = null
  let names: NarrowingSnapshot | null = null
  let delta: ShadowDelta | null = null
  let trace: Trace | null = null
  let shadowEvaluations = 0
  let errors = 0

  const callBack = <T>(callback: string, call: ((value: T) => void) | undefined, value: T): void => {
    try {
      call?.(value)
    } catch (error) {
      errors++
      report({ type: 'callback_error', callback, detail: messageOf(error) })
    }
  }

  return {
    narrowed(allowed, removed) {
      names = { allowed: allowed.map(({ name }) => name), removed: [...removed] }
      narrowing = deepFreeze(structuredClone({ allowed: allowed.map(({ definition }) => definition), removed }))
      if (removed.length > 0) callBack('onNarrow', settings.onNarrow, narrowing)
    },
    blocked: (decision) => callBack('onBlock', settings.onBlock, decision),
    watched(stance, removed, decisions) {
      if (stance === 'shadow') {
        shadowEvaluations++
        const { plan } = core.authority()
        delta = deepFreeze(shadowDelta(plan, core.snapshot(null).currentPhase, removed, decisions))
        return
      }
      if (removed.length > 0) report({ type: 'replay_advisory_narrow', session_id: sessionId, removed })
      for (const { tool_name, reason, remedy } of decisions.filter(isBlocked)) {
        if (reason !== null) report({ type: 'replay_advisory_block', session_id: sessionId, tool_name, reason, remedy })
      }
    },
    traced(begun) {
      trace = begun
    },
    failed(error) {
      errors++
      report({ type: 'replay_judgement_failed', session_id: sessionId, detail: messageOf(error) })
    },
    answered: captures.take,
    lastNarrowing: () => narrowing,
    narrowingSnapshot: () => names,
    lastShadowDelta: () => delta,
    lastTrace: () => trace?.entries() ?? [],
    shadowEvaluations: () => shadowEvaluations,
    errors: () => errors,
  }
}
