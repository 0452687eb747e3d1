import type { Plan } from '../../contract/plan.js'
import { freesAtMs, liveBuckets, type PreparedSharedLimit, sumOf } from '../../contract/shared-limit.js'
import { addDecimals, compareDecimals, subtractDecimals } from '../../json/decimal.js'
import { type Draw, knownDraws, type SharedCounts } from './draws.js'
import { advised, argumentPath, argumentsAt, type CallContext, type Finding, quoted } from './rule.js'

/** The first shared limit that has no room for this call. */
export function sharedLimitReached({ shared, draws, spends, tally, nowMs, call }: CallContext): Finding | null {
  if (shared === null) return null
  const [nameless] = draws.nameless
  if (nameless !== undefined) {
    const remedy = `"${nameless.name}" is counted for each ${nameless.per}, and this session names none. Start a session that does.`
    return { detail: 'shared_limit', remedy }
  }
  for (const draw of [...spends, ...draws.draws]) {
    const isCost = draw.limit.counts === 'cost'
    const finding = exceeded(draw, shared, { taken: isCost ? '0' : (tally.shared.get(draw.id) ?? '0'), nowMs })
    if (finding === null) continue
    const { path } = draw.limit
    const at = path === null ? argumentsAt(call.index) : argumentPath(call.index, path.expression)
    return { ...finding.block, failures: [{ path: at, operator: 'shared_limit', ...finding.values }] }
  }
  return null
}

/** The limits that are used up whatever the arguments of a call are, with what to say. They are the same for all tools. */
export function limitsUsedUp(plan: Plan, shared: SharedCounts | null, nowMs: number): LimitsUsedUp {
  const found = new Map<PreparedSharedLimit, Finding>()
  if (shared === null || plan.shared === null) return found
  for (const draw of knownDraws(plan.shared.all, shared)) {
    const finding = exceeded(draw, shared, { taken: '0', nowMs })
    if (finding !== null) found.set(draw.limit, finding.block)
  }
  return found
}

export type LimitsUsedUp = ReadonlyMap<PreparedSharedLimit, Finding>

/** A cost limit that is used up: the model need not be called. */
export function sharedCostUsedUp(plan: Plan, shared: SharedCounts | null, nowMs: number): Finding | null {
  if (shared === null || plan.shared === null) return null
  for (const draw of knownDraws(plan.shared.cost, shared)) {
    const finding = exceeded(draw, shared, { taken: '0', nowMs })
    if (finding !== null) return finding.block
  }
  return null
}

interface Exceeded {
  readonly block: Finding
  readonly values: { readonly expected: number; readonly found: number; readonly message: string }
}

/** Nothing more is allowed once a limit is used up, not even an amount of nothing. */
function exceeded(
  { limit, id, amount }: Draw,
  shared: SharedCounts,
  { taken, nowMs }: { readonly taken: string; readonly nowMs: number },
): Exceeded | null {
  const { name, most, definition } = limit
  const used = shared.used(id)
  if (used === null) {
    const remedy = `"${name}" is counted by the server for all sessions, and the server cannot be asked now. Try again later.`
    const values = { expected: Number(most), found: 0, message: `what is used of "${name}" is not known` }
    return { block: { detail: 'shared_limit', remedy }, values }
  }
  const live = liveBuckets(limit, used, nowMs)
  const before = addDecimals(sumOf(live), taken)
  const total = addDecimals(before, amount)
  if (compareDecimals(total, most) <= 0 && compareDecimals(before, most) < 0) return null
  const left = compareDecimals(before, most) < 0 ? subtractDecimals(most, before) : '0'
  const freesAt = freesAtMs(limit, live, amount, taken)
  const when = freesAt === null ? '' : ` There is room again from ${new Date(freesAt).toISOString()}.`
  const action = freesAt === null ? 'Lower the value or go on without the call.' : 'Go on without it until then.'
  const fact = `${quoted(name)} allows ${most} within ${definition.window} for ${SCOPE_WORDS[limit.per]}, over all sessions; ${left} is left.${when}`
  return {
    block: {
      detail: 'shared_limit',
      ...advised(fact, action, [limit]),
      sharedLimit: { name, left, frees_at: freesAt === null ? null : new Date(freesAt).toISOString() },
    },
    values: {
      expected: Number(most),
      found: Number(total),
      message: `"${name}" would be ${total} within ${definition.window}`,
    },
  }
}

const SCOPE_WORDS = {
  argument: 'this value',
  principal: 'this principal',
  agent: 'this agent',
  workflow: 'this workflow',
  tenant: 'all agents together',
} as const
