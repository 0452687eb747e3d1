import type { Block, JsonValue, NarrowedTool, NarrowingReason, UnmatchedPolicy } from '@countersign/protocol'
import type { Plan, PreparedContract } from '../contract/plan.js'
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
import { applicable, type Choose, ifSure, sceneOf, unlessFailing } from './rules/scene.js'
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
  /** False if the time of the request is unknown. */
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
  const { state, principal } = narrowing
  const scene = sceneOf({ state, tally: EMPTY_TALLY, principal, salt: null }, null)
  const allowed: string[] = []
  const removed: NarrowedTool[] = []
  // A request may name a tool more than once.
  const known = new Map<string, NarrowedTool | null>()
  for (const { name, kind } of narrowing.tools) {
    // Calls of the provider's own tools are not judged before they run.
    const choose = kind === 'provider' ? unlessFailing(scene) : ifSure(scene)
    const asked = `${kind} ${name}`
    let gone = known.get(asked)
    if (gone === undefined) {
      gone = removal(contextOf(narrowing, name, choose), { usedUp, choose })
      known.set(asked, gone)
    }
    if (gone === null) allowed.push(name)
    else removed.push(gone)
  }
  return { allowed, removed }
}

const contextOf = (
  { plan, state, isTimed, shared, ...narrowing }: Narrowing,
  tool: string,
  choose: Choose,
): ToolContext => ({
  tool,
  contract: contractOf(plan, tool, choose),
  plan,
  state,
  tally: EMPTY_TALLY,
  unmatchedPolicy: narrowing.unmatchedPolicy,
  principal: narrowing.principal,
  agent: narrowing.agent,
  nowMs: narrowing.nowMs,
  isTimed: isTimed !== false,
  shared: shared ?? null,
  hours: choose(plan.hours),
})

function contractOf(plan: Plan, tool: string, choose: Choose): PreparedContract | null {
  const contract = plan.contracts.get(tool)
  return contract === undefined ? null : applicable(contract, choose)
}

/** Earlier calls, of this session or of others, have used up a limit. */
function limitUsedUp({ plan, tool, contract }: ToolContext, { usedUp, choose }: Known): Block | null {
  if (usedUp.size === 0) return null
  const limit = choose(plan.shared?.of(tool) ?? []).find((one) => usedUp.has(one))
  const finding = limit === undefined ? undefined : usedUp.get(limit)
  return finding === undefined ? null : block('session_limit_exceeded', contract, finding)
}

interface Known {
  readonly usedUp: LimitsUsedUp
  readonly choose: Choose
}

type NarrowingRule = (context: ToolContext, known: Known) => Block | null

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

function removal(context: ToolContext, known: Known): NarrowedTool | null {
  for (const { reason, rule } of NARROWING) {
    const found = rule(context, known)
    if (found === null) continue
    // The policy stays secret.
    const detail = reason === 'policy_denied' ? {} : { detail: found.remedy }
    const file = found.contract_file === undefined ? {} : { contract_file: found.contract_file }
    return { tool: context.tool, reason, ...detail, ...file }
  }
  return null
}
