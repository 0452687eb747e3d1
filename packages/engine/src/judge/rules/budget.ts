import { type ContractFailure, type JsonValue, LIMITS } from '@countersign/protocol'
import type { PreparedAggregate, PreparedBound } from '../../contract/plan.js'
import { compareDecimals, decimalText } from '../../json/decimal.js'
import { lookUp } from '../../json/look-up.js'
import { establishedAs } from '../../state/kept-values.js'
import { MINUTE_MS } from '../../state/state.js'
import { type Added, totalWith } from './amounts.js'
import { slotFor } from './call-keys.js'
import { tooManyKeys } from './keys.js'
import { advised, argumentPath, argumentsAt, block, type CallContext, type Finding, quoted, type Rule } from './rule.js'
import { sharedLimitReached } from './shared-limits.js'

/** The first limit of the session that this call would exceed. */
export const sessionLimit: Rule = (context) => {
  for (const limit of LIMIT_CHECKS) {
    const finding = limit(context)
    if (finding !== null) return block('session_limit_exceeded', context.contract, finding)
  }
  return null
}

type LimitCheck = (context: CallContext) => Finding | null

const steps: LimitCheck = ({ plan, state }) => {
  const most = plan.session.session_limits?.max_steps
  if (most === undefined || state.stateVersion < most) return null
  return { detail: 'max_steps', remedy: `The session has used its ${most} steps. Finish without more tool calls.` }
}

const toolCalls: LimitCheck = ({ plan, state, tally }) => {
  const most = plan.session.session_limits?.max_tool_calls
  if (most === undefined || state.usedCalls + tally.calls < most) return null
  return { detail: 'max_tool_calls', remedy: `The session has used its ${most} tool calls. Finish without more.` }
}

const cost: LimitCheck = ({ plan, spent }) => {
  const most = plan.session.session_limits?.max_cost_per_session
  if (most === undefined || compareDecimals(spent, decimalText(most)) <= 0) return null
  return {
    detail: 'max_cost_per_session',
    remedy: `The session has spent ${spent} of ${most}. Finish without more tool calls.`,
  }
}

const callsOfTool: LimitCheck = ({ plan, state, tally, tool }) => {
  const limits = plan.session.session_limits?.max_calls_per_tool
  const most = limits === undefined ? undefined : lookUp(limits, tool)
  if (most === undefined) return null
  const used = (lookUp(state.used, tool) ?? 0) + (tally.used.get(tool) ?? 0)
  if (used < most) return null
  const times = most === 1 ? 'once' : `${most} times`
  const remedy = `${quoted(tool)} may be called at most ${times} in a session. Go on without it.`
  return { detail: 'max_calls_per_tool', remedy }
}

const callsAMinute: LimitCheck = ({ plan, state, tally, nowMs }) => {
  const most = plan.session.session_limits?.max_calls_per_minute
  if (most === undefined) return null
  const recent = state.recentTimes.filter((time) => time > nowMs - MINUTE_MS)
  if (recent.length + tally.calls < most) return null
  const remedy = `The session may make ${most} tool calls a minute. Wait a minute, then call again.`
  return { detail: 'max_calls_per_minute', remedy }
}

/** Without contracts the model chooses the names, so their number must be bounded. */
const toolNames: LimitCheck = ({ state, tally, tool }) => {
  if (Object.hasOwn(state.used, tool) || tally.used.has(tool)) return null
  if (Object.keys(state.used).length + tally.newNames < LIMITS.countedToolNamesPerSession) return null
  const remedy = `The session has used ${LIMITS.countedToolNamesPerSession} different tools. Use one of those.`
  return { detail: 'tool_names', remedy }
}

const LIMIT_CHECKS: readonly LimitCheck[] = [
  steps,
  toolCalls,
  cost,
  callsOfTool,
  callsAMinute,
  toolNames,
  tooManyKeys,
  sharedLimitReached,
]

/** A call is a loop if it would be the `threshold`th identical one among the last `window` calls, itself included. */
export const loopDetected: Rule = ({ plan, state, tally, tool, argumentHash, contract }) => {
  const loops = plan.session.session_limits?.loop_detection
  if (loops === undefined || loops.window < 2 || argumentHash === null) return null
  const before = tally.recent.length === 0 ? state.recent : [...state.recent, ...tally.recent]
  let same = 0
  for (let at = Math.max(0, before.length - loops.window + 1); at < before.length; at++) {
    if (before[at]?.hash === argumentHash && before[at]?.tool === tool) same++
  }
  if (same + 1 < loops.threshold) return null
  return block('loop_detected', contract, {
    detail: `${same + 1} of ${loops.window}`,
    remedy: `${quoted(tool)} was called with the same arguments ${same} times. Use its result, or change the arguments.`,
  })
}

export const aggregatePathMissing: Rule = ({ call, contract, amounts, draws }) => {
  if (draws.unusableAmounts.length > 0) return sharedAmountMissing(call.index, contract, draws)
  if (amounts.unusable.length === 0) return null
  const failures = amounts.unusable.map(({ aggregate, found }): ContractFailure => {
    const path = aggregate.path === null ? argumentsAt(call.index) : argumentPath(call.index, aggregate.path.expression)
    const expected = aggregate.function === 'count' ? 'a value' : 'a number of at least 0'
    const message = `"${aggregate.name}" counts this value, but it ${found === undefined ? 'is missing' : 'cannot be used'}`
    return { path, operator: aggregate.function, expected, ...(found === undefined ? {} : { found }), message }
  })
  const paths = amounts.unusable.map(({ aggregate }) => aggregate.path?.expression ?? '$').join(', ')
  return block('aggregate_path_missing', contract, {
    detail: amounts.unusable.map(({ aggregate }) => aggregate.name).join(', '),
    remedy: `Give ${paths} as ${usable(amounts.unusable)}.`,
    rules: amounts.unusable.map(({ aggregate }) => aggregate),
    failures,
  })
}

/** What can be added, in view of what was found. */
function usable(unusable: readonly { readonly found: JsonValue | undefined }[]): string {
  const isTooLong = unusable.some(({ found }) => typeof found === 'number' && found > 0)
  return isTooLong ? '0 or a number between 1e-45 and 1e45' : 'a number of at least 0, not as text'
}

function sharedAmountMissing(
  index: number,
  contract: CallContext['contract'],
  { unusableAmounts }: CallContext['draws'],
) {
  const failures = unusableAmounts.map(({ limit, found }): ContractFailure => {
    const path = argumentPath(index, limit.path?.expression ?? '$')
    const message = `"${limit.name}" counts this value, but it ${found === undefined ? 'is missing' : 'cannot be used'}`
    return {
      path,
      operator: 'sum',
      expected: 'a number of at least 0',
      ...(found === undefined ? {} : { found }),
      message,
    }
  })
  const paths = unusableAmounts.map(({ limit }) => limit.path?.expression ?? '$').join(', ')
  return block('aggregate_path_missing', contract, {
    detail: unusableAmounts.map(({ limit }) => limit.name).join(', '),
    remedy: `Give ${paths} as ${usable(unusableAmounts)}.`,
    rules: unusableAmounts.map(({ limit }) => limit),
    failures,
  })
}

export const aggregateLimit: Rule = (context) => {
  const { call, contract, amounts, state, tally } = context
  if (amounts.added.length === 0) return null
  const failures: ContractFailure[] = []
  const remedies: string[] = []
  const rules: PreparedAggregate[] = []
  for (const added of amounts.added) {
    const { aggregate } = added
    const total = totalWith(added, state, tally)
    const exceeded = exceededBound(added, total, context)
    if (exceeded === null) continue
    rules.push(aggregate)
    const { operator, bound } = exceeded
    const path = aggregate.path === null ? argumentsAt(call.index) : argumentPath(call.index, aggregate.path.expression)
    const message = `${aggregate.function} "${aggregate.name}" would be ${total}`
    failures.push({ path, operator, expected: Number(bound), found: Number(total), message })
    const limit = operator === 'lte' ? `at most ${bound}` : `less than ${bound}`
    const where = aggregate.key === null ? 'in this session' : `for this ${aggregate.key.expression}`
    remedies.push(`"${aggregate.name}" may be ${limit} ${where} and would become ${total}.`)
  }
  if (failures.length === 0) return null
  return block('aggregate_limit_exceeded', contract, {
    detail: amounts.added.map(({ aggregate }) => aggregate.name).join(', '),
    ...advised(remedies.join(' '), 'Lower the value or go on without the call.', rules),
    failures,
  })
}

interface ExceededBound {
  readonly operator: PreparedBound['operator']
  readonly bound: string
}

/** The first bound that the total breaks. One that is not established yet is reported by its own rule. */
function exceededBound({ aggregate }: Added, total: string, { state, keys }: CallContext): ExceededBound | null {
  for (const { operator, value, ref } of aggregate.bounds) {
    const slot = ref === null ? null : slotFor(keys, ref)
    const bound = value ?? (slot === null ? undefined : establishedAs(state, slot)?.low)
    if (bound === undefined) continue
    const order = compareDecimals(total, bound)
    if (order > 0 || (order === 0 && operator === 'lt')) return { operator, bound }
  }
  return null
}
