import { LIMITS } from '@countersign/protocol'
import { upperBound } from './bound.js'
import type { LearnedRef } from './draft-refs.js'
import type { ToolSummary } from './summary.js'

/** A rule that held in everything seen. A person decides whether to enforce it: the bound says what it may cost. */
export interface Suggestion {
  readonly rule:
    | { readonly requires_prior_tool: string }
    /** For `max_calls_per_tool` of the session. */
    | { readonly max_calls: number }
    /** An argument that always equalled the latest value of a result. */
    | { readonly ref: string; readonly result: string; readonly path: string }
  readonly seen: number
  /** Upper 95 % limit of the share of future first calls that the rule would block wrongly. */
  readonly falseBlockBound: number
}

export const suggestRef = ({ path, boundBy, resultPath, seen, falseBlockBound }: LearnedRef): Suggestion => ({
  rule: { ref: path, result: boundBy, path: resultPath },
  seen,
  falseBlockBound,
})

export function draftSuggestions({ order }: ToolSummary): Suggestion[] {
  if (order.firsts < LIMITS.mediumConfidenceSamples) return []
  const evidence = { seen: order.firsts, falseBlockBound: upperBound(0, order.firsts) }
  const before = order.after.entries.filter(([, { count }]) => count === order.firsts).map(([tool]) => tool)
  return [
    ...before.sort().map((tool) => ({ rule: { requires_prior_tool: tool }, ...evidence })),
    { rule: { max_calls: order.mostCalls }, ...evidence },
  ]
}
