import type { Block, JsonValue, NarrowedTool, NarrowingReason, UnmatchedPolicy } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { SessionState } from '../state/state.js'
import { EMPTY_TALLY } from '../state/tally.js'
import {
  forbiddenByCall,
  labelGate,
  manualFilter,
  outsideHandoff,
  outsideHours,
  policyDeniesTool,
  unmatchedTool,
} from './rules/access.js'
import type { SharedCounts } from './rules/draws.js'
import { preconditionMissing } from './rules/order.js'
import { illegalPhase } from './rules/phase.js'
import { block, type ToolContext } from './rules/rule.js'
import { type LimitsUsedUp, limitsUsedUp } from './rules/shared-limits.js'

/** A request's tools with everything that narrowing depends on. */
export interface Narrowing {
  readonly plan: Plan
  readonly state: SessionState
  /** `provider` tools are judged by the name of their type. */
  readonly tools: readonly { readonly name: string; readonly kind?: 'function' | 'custom' | 'provider' | undefined }[]
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly principal?: JsonValue | undefined
  readonly agent: string | null
  readonly nowMs: number
  /** False if nobody knows when the request is made. */
  readonly isTimed?: boolean | undefined
  /** Absent: limits that sessions share are not judged. */
  readonly shared?: SharedCounts | undefined
}

export interface Narrowed {
  readonly allowed: string[]
  readonly removed: NarrowedTool[]
}

/** Removes every tool from a request whose calls would be blocked whatever their arguments. */
export function narrowTools(narrowing: Narrowing): Narrowed {
  const { plan, shared, nowMs } = narrowing
  const usedUp = limitsUsedUp(plan, shared ?? null, nowMs)
  const allowed: string[] = []
  const removed: NarrowedTool[] = []
  // A request may name a tool more than once.
  const known = new Map<string, NarrowedTool | null>()
  for (const { name } of narrowing.tools) {
    let gone = known.get(name)
    if (gone === undefined) {
      gone = removal(contextOf(narrowing, name), usedUp)
      known.set(name, gone)
    }
    if (gone === null) allowed.push(name)
    else removed.push(gone)
  }
  return { allowed, removed }
}

const contextOf = ({ plan, state, isTimed, shared, ...narrowing }: Narrowing, tool: string): ToolContext => ({
  tool,
  contract: plan.contracts.get(tool) ?? null,
  plan,
  state,
  tally: EMPTY_TALLY,
  unmatchedPolicy: narrowing.unmatchedPolicy,
  principal: narrowing.principal,
  agent: narrowing.agent,
  nowMs: narrowing.nowMs,
  isTimed: isTimed !== false,
  shared: shared ?? null,
})

/** Earlier calls, of this session or of others, have used up a limit. */
function limitUsedUp({ plan, tool, contract }: ToolContext, usedUp: LimitsUsedUp): Block | null {
  if (usedUp.size === 0) return null
  const limit = plan.shared?.of(tool).find((one) => usedUp.has(one))
  const finding = limit === undefined ? undefined : usedUp.get(limit)
  return finding === undefined ? null : block('session_limit_exceeded', contract, finding)
}

type NarrowingRule = (context: ToolContext, usedUp: LimitsUsedUp) => Block | null

/** In the precedence of the block reasons: the first that applies is reported. */
const NARROWING: readonly { readonly reason: NarrowingReason; readonly rule: NarrowingRule }[] = [
  { reason: 'no_contract', rule: unmatchedTool },
  { reason: 'policy_denied', rule: policyDeniesTool },
  { reason: 'forbidden_in_state', rule: forbiddenByCall },
  { reason: 'label_gate', rule: labelGate },
  { reason: 'manual_filter', rule: manualFilter },
  { reason: 'manual_filter', rule: outsideHandoff },
  { reason: 'forbidden_in_state', rule: outsideHours },
  { reason: 'wrong_phase', rule: illegalPhase },
  { reason: 'precondition_not_met', rule: preconditionMissing },
  { reason: 'forbidden_in_state', rule: limitUsedUp },
]

function removal(context: ToolContext, usedUp: LimitsUsedUp): NarrowedTool | null {
  for (const { reason, rule } of NARROWING) {
    const found = rule(context, usedUp)
    if (found === null) continue
    // The policy stays secret.
    const detail = reason === 'policy_denied' ? {} : { detail: found.remedy }
    const file = found.contract_file === undefined ? {} : { contract_file: found.contract_file }
    return { tool: context.tool, reason, ...detail, ...file }
  }
  return null
}
