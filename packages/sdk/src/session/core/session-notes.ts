import type { NarrowedTool, NarrowingSnapshot } from '@countersign/protocol'
import { deepFreeze } from '../../base/deep-freeze.js'
import { messageOf } from '../../base/diagnostics.js'
import type { NarrowResult } from '../../options/replay-options.js'
import type { OfferedTool } from '../../providers/provider.js'
import { isBlocked } from '../../turn/gate.js'
import type { Trace, TraceEntry } from '../../turn/trace.js'
import type { TurnNotes } from '../../turn/turn-session.js'
import type { ReplayCaptures } from './replay-captures.js'
import { reportPolicyErrors } from './report-policy-errors.js'
import { reportToolWaits } from './report-tool-waits.js'
import type { SessionCore } from './session-core.js'
import { protectionLevelOf } from './session-rules.js'
import { type ShadowDelta, shadowDelta } from './shadow-delta.js'

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
  let narrowing: { allowed: readonly OfferedTool[]; removed: readonly NarrowedTool[] } | null = null
  let delta: ShadowDelta | null = null
  let trace: Trace | null = null
  let shadowEvaluations = 0
  let errors = 0
  const unproven = new Set<string>()
  const policyErrors = reportPolicyErrors(core)

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
      narrowing = { allowed, removed }
      // With `metadata` the accessors alone show it.
      if (removed.length > 0 && settings.onNarrow !== undefined && settings.narrowingFeedback !== 'metadata') {
        callBack('onNarrow', settings.onNarrow, narrowResult(allowed, removed))
      }
    },
    blocked(decision) {
      policyErrors(decision.blocked)
      callBack('onBlock', settings.onBlock, decision)
    },
    watched(stance, removed, decisions) {
      policyErrors(decisions)
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
    unproven(toolName, isWrapped) {
      if (unproven.has(toolName)) return
      unproven.add(toolName)
      const detail = isWrapped
        ? `a call of ${toolName} was answered although its wrapper did not run it, so its outcome is unknown and it opens nothing: ` +
          `run it with session.tools.${toolName}`
        : `${toolName} ran without a wrapper, so its call does not count as executed, which its contract requires: ` +
          (settings.shared === null
            ? `add ${toolName} to the option tools`
            : 'the gateway sees only the result that the program reports; set commit_requirement: reported in its contract')
      const level = protectionLevelOf(core.rules())
      report({ type: 'replay_protection_level', session_id: sessionId, level, detail })
    },
    gaveUp(given) {
      const tools = [...new Set(given)]
      const detail =
        `calls of ${tools.join(', ')} were given up when a newer turn began before they ran: ` +
        'run the calls of an answer before the next model call, or use a session for each conversation'
      report({ type: 'replay_calls_given_up', session_id: sessionId, tools, detail })
    },
    toolWaits: reportToolWaits(core),
    traced(begun) {
      trace = begun
    },
    failed(error) {
      errors++
      report({ type: 'replay_judgement_failed', session_id: sessionId, detail: messageOf(error) })
    },
    answered: captures.take,
    lastNarrowing: () => narrowing && narrowResult(narrowing.allowed, narrowing.removed),
    narrowingSnapshot: () =>
      narrowing && { allowed: narrowing.allowed.map(({ name }) => name), removed: [...narrowing.removed] },
    lastShadowDelta: () => delta,
    lastTrace: () => trace?.entries() ?? [],
    shadowEvaluations: () => shadowEvaluations,
    errors: () => errors,
  }
}

/** A copy: tool definitions belong to the program, which may go on changing them. */
function narrowResult(allowed: readonly OfferedTool[], removed: readonly NarrowedTool[]): NarrowResult {
  const definitions = allowed.map(({ definition }) => JSON.parse(JSON.stringify(definition)) as unknown)
  return deepFreeze({ allowed: definitions, removed: structuredClone(removed) })
}
