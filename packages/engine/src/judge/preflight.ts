import { type ContractFailure, type JsonValue, LIMITS, type Remaining } from '@countersign/protocol'
import { checkInvariants, findAmong, foundBy, readByPath } from '../contract/check-invariant.js'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { compareDecimals, decimalText, subtractDecimals } from '../json/decimal.js'
import { saltedHash } from '../json/hash.js'
import { lookUp } from '../json/look-up.js'
import type { SessionState } from '../state/state.js'
import { MINUTE_MS } from '../state/state.js'
import type { SharedCounts } from './rules/draws.js'
import { firstFailures, remedyOf } from './rules/rule.js'
import { sharedCostUsedUp } from './rules/shared-limits.js'

/** What a preflight check depends on. */
export interface PreflightInput {
  readonly plan: Plan
  readonly state: SessionState
  readonly nowMs: number
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  /** A request without tools cannot take a step, so only its cost is checked. */
  readonly toolless?: boolean | undefined
  /** Absent: limits that sessions share are not judged. */
  readonly shared?: SharedCounts | undefined
}

/** Why the model need not be called at all. */
export interface PreflightBlock {
  readonly reason: 'session_limit_exceeded'
  readonly detail: string
  readonly remedy: string
}

/** Checks before the model is called whether any call could still be allowed, and what remains of the limits. */
export function checkPreflight(input: PreflightInput): { blocked: PreflightBlock | null; remaining: Remaining } {
  const remaining = remainingIn(input)
  return { blocked: blockBy(input, remaining), remaining }
}

/** The same without what remains. Most sessions have no limits, and then this costs nothing. */
export function preflightBlock(input: PreflightInput): PreflightBlock | null {
  return input.plan.session.session_limits === undefined && input.plan.shared === null
    ? null
    : blockBy(input, remainingIn(input))
}

const blockBy = (input: PreflightInput, remaining: Remaining): PreflightBlock | null =>
  costBlock(input) ?? sharedCostBlock(input) ?? (input.toolless === true ? null : callBlock(input, remaining))

const exceeded = (detail: string, remedy: string): PreflightBlock => ({
  reason: 'session_limit_exceeded',
  detail,
  remedy,
})

function costBlock({ plan, state, provider, model }: PreflightInput): PreflightBlock | null {
  const most = plan.session.session_limits?.max_cost_per_session
  if (most === undefined) return null
  const unpriced = priceBlock({ plan, provider, model })
  if (unpriced !== null) return unpriced
  if (compareDecimals(state.actualCost, decimalText(most)) < 0) return null
  return exceeded('max_cost_per_session', `The session has spent its ${most}. Start a new one to go on.`)
}

function priceBlock({
  plan,
  provider,
  model,
}: Pick<PreflightInput, 'plan' | 'provider' | 'model'>): PreflightBlock | null {
  if (plan.priceOf(provider ?? null, model ?? null) !== null) return null
  const name = [provider, model].filter((part) => part != null).join('/') || 'this model'
  return exceeded('no_price', `The session has a cost limit and no price for ${name}: add it to \`pricing\`.`)
}

function sharedCostBlock({ plan, shared, nowMs, provider, model }: PreflightInput): PreflightBlock | null {
  if (plan.shared === null || plan.shared.cost.length === 0 || shared === undefined) return null
  const finding = sharedCostUsedUp(plan, shared, nowMs)
  return finding === null ? priceBlock({ plan, provider, model }) : exceeded('shared_limit', remedyOf(finding, null))
}

function callBlock({ plan, state }: PreflightInput, remaining: Remaining): PreflightBlock | null {
  const limits = plan.session.session_limits
  if (remaining.steps === 0) {
    return exceeded('max_steps', `The session has used its ${limits?.max_steps} steps. Start a new one to go on.`)
  }
  if (remaining.tool_calls === 0) {
    return exceeded(
      'max_tool_calls',
      `The session has used its ${limits?.max_tool_calls} tool calls. Start a new one to go on.`,
    )
  }
  if (remaining.calls_this_minute === 0) {
    return exceeded(
      'max_calls_per_minute',
      'The session has made its tool calls for this minute. Wait, then try again.',
    )
  }
  const breaker = limits?.circuit_breaker
  const blocks = breaker?.consecutive_blocks !== undefined && state.consecutiveBlocks >= breaker.consecutive_blocks
  const errors = breaker?.consecutive_errors !== undefined && state.consecutiveErrors >= breaker.consecutive_errors
  if (!blocks && !errors) return null
  return exceeded('circuit_breaker', 'The circuit breaker of the session has tripped. Start a new one to go on.')
}

const remainingIn = ({ plan, state, nowMs }: PreflightInput): Remaining =>
  remainingOf(plan.session.session_limits ?? {}, state, nowMs)

/** What remains of the limits of a session. */
export function remainingOf(
  limits: NonNullable<Plan['session']['session_limits']>,
  state: SessionState,
  nowMs: number,
): Remaining {
  const left = (most: number | undefined, used: number) => (most === undefined ? null : Math.max(0, most - used))
  const recent = state.recentTimes.filter((time) => time > nowMs - MINUTE_MS).length
  const cost = limits.max_cost_per_session
  return {
    steps: left(limits.max_steps, state.stateVersion),
    tool_calls: left(limits.max_tool_calls, state.usedCalls),
    cost: cost === undefined ? null : Math.max(0, Number(subtractDecimals(decimalText(cost), state.actualCost))),
    calls_this_minute: left(limits.max_calls_per_minute, recent),
    calls_per_tool: limits.max_calls_per_tool === undefined ? {} : callsLeft(limits.max_calls_per_tool, state),
    checkpoints: Math.max(0, LIMITS.checkpointTriggersPerSession - state.checkpointsTriggered),
  }
}

function callsLeft(most: Readonly<Record<string, number>>, { used }: SessionState): Remaining['calls_per_tool'] {
  const left = Object.entries(most).map(([tool, count]) => [tool, Math.max(0, count - (lookUp(used, tool) ?? 0))])
  return Object.fromEntries(left)
}

/** The values of a request that the plan's input invariants read, by path: all that preflight sends of the request. */
export function readInputValues(plan: Plan, request: JsonValue): Record<string, JsonValue> {
  const paths = [...plan.contracts.values()].flatMap((contract) => contract.inputInvariants.map(({ path }) => path))
  return readByPath(paths, request)
}

/** Checks the request against every contract's input invariants. The result contains only the tools that fail. */
export function judgeInputInvariants(
  { plan, state, salt }: { readonly plan: Plan; readonly state: SessionState; readonly salt: string },
  request: Readonly<Record<string, JsonValue>>,
): ReadonlyMap<string, ContractFailure[]> {
  if (plan.inputPaths.length === 0) return NO_FAILURES
  const failures = new Map<string, ContractFailure[]>()
  for (const contract of plan.contracts.values()) {
    if (contract.inputInvariants.length === 0) continue
    const found = [
      ...checkInvariants(contract.inputInvariants, findAmong(request), (path) => path),
      ...refFailures(contract, request, state, salt),
    ]
    // They are stored with the request, and an operand may have a megabyte.
    if (found.length > 0) failures.set(contract.tool, firstFailures(found))
  }
  return failures
}

const NO_FAILURES: ReadonlyMap<string, ContractFailure[]> = new Map()

function refFailures(
  contract: PreparedContract,
  request: Readonly<Record<string, JsonValue>>,
  state: SessionState,
  salt: string,
): ContractFailure[] {
  const finder = findAmong(request)
  return contract.inputInvariants.flatMap(({ path, ref }): ContractFailure[] => {
    if (ref === null) return []
    const bound = lookUp(state.bindings, ref)
    const values = path.singular ? [finder.first(path)] : foundBy(finder, path).map(({ value }) => value)
    const isSame =
      bound !== undefined && values.every((value) => value !== undefined && bound.hash === saltedHash(salt, value))
    const message = `must be the value bound as "${ref}"`
    return isSame ? [] : [{ path: path.expression, operator: 'ref', expected: { ref }, message }]
  })
}
