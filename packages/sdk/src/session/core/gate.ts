import { type Decision, type Gate, NARROWING_REASONS, type NarrowedTool, RESTRICTED } from '@countersign/protocol'
import { deepFreeze } from '../../base/deep-freeze.js'
import type { EnforcementDecision } from '../../base/errors.js'
import { quoteName } from '../../base/quote-name.js'
import type { SessionGate } from '../../options/replay-options.js'

/** What the program gets to see of a judged response. */
export type GateResult =
  | { readonly action: 'release'; readonly marked?: readonly Decision[] }
  | {
      readonly action: 'keep'
      readonly callIds: ReadonlySet<string>
      readonly blocked: readonly Decision[]
      readonly marked?: readonly Decision[]
      /** Said beside the calls that stay, so that the next request tells the model of those that do not. */
      readonly text?: string
    }
  | { readonly action: 'answer'; readonly text: string; readonly blocked: readonly Decision[] }
  | { readonly action: 'refuse' }

/**
 * `reject_all` refuses for one blocked call; the strip gates drop it and differ only when nothing is left. `answer` drops
 * only what the program could run by itself: a call that `stays` is run by its wrapper, which gives the remedy.
 */
export function passGate(
  gate: SessionGate,
  decisions: readonly Decision[],
  stays: (blocked: Decision) => boolean = () => false,
): GateResult {
  const blocked = decisions.filter(isBlocked)
  if (blocked.length === 0) return { action: 'release' }
  if (gate === 'reject_all') return { action: 'refuse' }
  const marked = gate === 'answer' ? blocked.filter(stays) : []
  if (marked.length === blocked.length) return { action: 'release', marked }
  const shown = decisions.filter((call) => !isBlocked(call) || marked.includes(call))
  if (shown.length > 0) {
    const callIds = new Set(shown.map(({ call_id }) => call_id))
    if (gate !== 'answer') return { action: 'keep', callIds, blocked, marked }
    const text = explainToModel(blocked.filter((call) => !marked.includes(call)))
    return { action: 'keep', callIds, blocked, marked, text }
  }
  return gate === 'strip_partial' ? { action: 'refuse' } : { action: 'answer', text: explainToModel(blocked), blocked }
}

/** Each call is judged by itself, as by `strip_blocked`; what the program then sees is no matter of the authority. */
export const proposedAs = (gate: SessionGate): Gate => (gate === 'answer' ? 'strip_blocked' : gate)

export const isBlocked = (call: Decision): boolean => call.decision === 'block'

/** People are asked about the call: it is not blocked, and does not run yet. */
export const isAsked = ({ decision, reason, question }: Decision): boolean =>
  decision === 'block' && reason === null && question !== undefined

/** `reject_all` lets nothing of a response through when one call is blocked, so that its outcome is `blocked`. */
export function enforcementOf(decisions: readonly Decision[], gate: SessionGate): EnforcementDecision {
  const blocked = decisions.filter(isBlocked)
  const isPartial = gate !== 'reject_all' && blocked.length < decisions.length
  const outcome = blocked.length === 0 ? 'allowed' : isPartial ? 'partial' : 'blocked'
  return deepFreeze({ outcome, decisions, blocked })
}

/** For the program: each blocked call, why, and what to do. */
export function explain(blocked: readonly Decision[]): string {
  return blocked.map((call) => sentence(call, call.reason)).join('\n')
}

/** The same for the model, from which policies stay hidden. */
export function explainToModel(blocked: readonly Decision[]): string {
  return blocked.map((call) => sentence(call, call.reason === 'policy_denied' ? RESTRICTED : call.reason)).join('\n')
}

function sentence({ tool_name, remedy, question }: Decision, reason: string | null): string {
  if (question !== undefined && remedy !== null) return remedy
  return `${quoteName(tool_name)} was blocked (${reason}). ${remedy ?? ''}`.trim()
}

const SHOWN_TOOLS = 20

/** The system text that tells the model which tools it does not have, and why. A policy stays hidden. */
export function narrowingText(removed: readonly NarrowedTool[]): string {
  const lines = removed
    .slice(0, SHOWN_TOOLS)
    .map(
      ({ tool, reason }) =>
        `- ${quoteName(tool)}: ${reason === 'policy_denied' ? RESTRICTED : `${reason} (${NARROWING_REASONS[reason]})`}`,
    )
  if (removed.length > SHOWN_TOOLS) lines.push(`- and ${removed.length - SHOWN_TOOLS} more`)
  return `These tools are not available in this step:\n${lines.join('\n')}`
}
