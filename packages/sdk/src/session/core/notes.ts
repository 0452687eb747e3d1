import type { Decision, NarrowedTool, NarrowingSnapshot } from '@countersign/protocol'
import type { Authority } from '../../authority/authority.js'
import { LONG_WAIT_MS, type OpenCall } from '../../authority/open-calls.js'
import { deepFreeze } from '../../base/deep-freeze.js'
import { type Diagnostic, messageOf, type Report } from '../../base/diagnostics.js'
import type { EnforcementDecision } from '../../base/errors.js'
import type { NarrowResult } from '../../options/replay-options.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import type { OfferedTool } from '../../providers/provider.js'
import { isAsked, isBlocked } from './gate.js'
import { protectionLevelOf, type SessionRules, type Stance } from './session-rules.js'
import { type ShadowDelta, shadowDelta } from './shadow-delta.js'
import type { Trace, TraceEntry } from './trace.js'

/** What turns and tools leave behind for the accessors, the callbacks and the diagnostics. */
export interface Notes {
  narrowed(allowed: readonly OfferedTool[], removed: readonly NarrowedTool[]): void
  blocked(decision: EnforcementDecision): void
  /** What would have been removed and blocked, in a session that only watches or advises. */
  watched(stance: Stance, removed: readonly NarrowedTool[], decisions: readonly Decision[]): void
  /** A call was answered without evidence: its wrapper did not run it, or it has none and the contract asks for it. */
  unproven(toolName: string, isWrapped: boolean): void
  /** A newer turn began before these calls ran. */
  gaveUp(calls: readonly OpenCall[]): void
  /** Something waits for wrapped tools that do not end. */
  toolWaits(tools: readonly string[]): void
  /** The program called a tool with other arguments than were allowed; with these it `ran` all the same. */
  argumentsDiffer(tool: string, names: readonly string[], ran: boolean): void
  traced(trace: Trace): void
  failed(error: unknown): void
  lastNarrowing(): NarrowResult | null
  narrowingSnapshot(): NarrowingSnapshot | null
  lastShadowDelta(): ShadowDelta | null
  lastTrace(): readonly TraceEntry[]
  shadowEvaluations(): number
  errors(): number
}

interface NotesOptions {
  readonly settings: ReplaySettings
  readonly report: Report
  rules(): SessionRules
  authority(): Authority
}

export function createNotes({ settings, report, rules, authority }: NotesOptions): Notes {
  const session_id = settings.sessionId
  let narrowing: { allowed: readonly OfferedTool[]; removed: readonly NarrowedTool[] } | null = null
  let delta: ShadowDelta | null = null
  let trace: Trace | null = null
  let shadowEvaluations = 0
  let errors = 0
  const reported = new Set<string>()

  /** What every call would say again is reported once. */
  const once = (event: Diagnostic & { readonly detail: string }): void => {
    const key = `${event.type} ${event.detail}`
    if (reported.has(key)) return
    reported.add(key)
    report(event)
  }

  const callBack = <T>(callback: string, call: ((value: T) => void) | undefined, value: T): void => {
    try {
      call?.(value)
    } catch (error) {
      errors++
      report({ type: 'callback_error', callback, detail: messageOf(error) })
    }
  }

  /** Tells the program which policies failed instead of deciding. The model is never told. */
  function policyErrors(blocked: readonly Decision[]): void {
    for (const { tool_name, reasons } of blocked) {
      const failed = reasons.find(({ detail }) => detail === 'policy_error')
      if (failed === undefined) continue
      const contract_file = failed.contract_file ?? null
      const detail = policyFailed(tool_name)
      once({ type: 'replay_policy_error', session_id, tool_name, contract_file, detail })
    }
  }

  /** No person can be asked, which the model learns and people have to put right. */
  function unanswerable(blocked: readonly Decision[]): void {
    for (const { tool_name, reasons } of blocked) {
      const details = new Set(reasons.map(({ detail }) => detail))
      if (details.has('ask_needs_service')) {
        report({ type: 'ask_needs_service', session_id, tool_name, detail: needsService(tool_name) })
      }
      if (details.has('not_asked')) {
        report({ type: 'question_unanswerable', session_id, tool_name, detail: tooFew(tool_name) })
      }
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
      const blocked = decision.blocked.filter((call) => !isAsked(call))
      if (blocked.length === 0) return
      policyErrors(blocked)
      unanswerable(blocked)
      callBack('onBlock', settings.onBlock, deepFreeze({ ...decision, blocked }))
    },
    watched(stance, removed, decisions) {
      policyErrors(decisions)
      if (stance === 'shadow') {
        shadowEvaluations++
        const { plan, current } = authority()
        delta = deepFreeze(shadowDelta(plan, current().state().phase, removed, decisions))
        return
      }
      if (removed.length > 0) report({ type: 'replay_advisory_narrow', session_id, removed })
      for (const { tool_name, reason, remedy } of decisions.filter(isBlocked)) {
        if (reason !== null) report({ type: 'replay_advisory_block', session_id, tool_name, reason, remedy })
      }
    },
    unproven(toolName, isWrapped) {
      const detail = unprovenBecause(toolName, isWrapped, settings.shared !== null)
      once({ type: 'replay_protection_level', session_id, level: protectionLevelOf(rules()), detail })
    },
    gaveUp(calls) {
      const tools = [...new Set(calls.map(({ toolName }) => toolName))]
      const detail =
        `calls of ${tools.join(', ')} were given up when a newer turn began before they ran: ` +
        'run the calls of an answer before the next model call, or use a session for each conversation'
      report({ type: 'replay_calls_given_up', session_id, tools, detail })
    },
    toolWaits(tools) {
      const detail =
        `the session is waiting for ${tools.join(', ')}, which has not ended after ${LONG_WAIT_MS / 1_000} s, and needs its outcome ` +
        'to go on: give its contract timeouts.total_ms, or let the tool stop when the signal in its second argument is aborted'
      report({ type: 'replay_tool_waiting', session_id, tools, detail })
    },
    argumentsDiffer(tool_name, names, ran) {
      const detail = (ran ? ranAsJudged : didNotRun)(tool_name, names.join(', '))
      once({ type: 'replay_arguments_differ', session_id, tool_name, names, ran, detail })
    },
    traced(begun) {
      trace = begun
    },
    failed(error) {
      errors++
      report({ type: 'replay_judgement_failed', session_id, detail: messageOf(error) })
    },
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

const needsService = (tool: string): string =>
  `${tool} was blocked: a rule asks people about it, which only the service does, and none decides here. ` +
  'Set COUNTERSIGN_API_KEY and pass the option tools, or wait until the service answers again'

const tooFew = (tool: string): string =>
  `no one can be asked about ${tool}, and the call was blocked: too few members have the role or group that the rule asks, ` +
  'or it says `self: never` and the principal of the session is not proven, or 1,000 questions are open'

const policyFailed = (tool: string): string =>
  `the policy for ${tool} failed on its call, which is blocked: it reads what the principal or the arguments do ` +
  'not have, or compares what cannot be compared; test with `has` first'

function unprovenBecause(tool: string, isWrapped: boolean, isShared: boolean): string {
  if (isWrapped) {
    return (
      `a call of ${tool} was answered although its wrapper did not run it, so its outcome is unknown and it opens nothing: ` +
      `run it with session.tools.${tool}`
    )
  }
  const fix = isShared
    ? 'the gateway sees only the result that the program reports; set commit_requirement: reported in its contract'
    : `add ${tool} to the option tools`
  return `${tool} ran without a wrapper, so its call does not count as executed, which its contract requires: ${fix}`
}

const ranAsJudged = (tool: string, names: string): string =>
  `${tool} was called with other arguments than the model gave it (${names}), probably by a schema with defaults or ` +
  'conversions; it ran with those of the model, which were judged: apply the schema inside of the tool'

const didNotRun = (tool: string, names: string): string =>
  `${tool} did not run, because it was called with other arguments than were allowed (${names}): ` +
  'pass those of the call, unchanged'
