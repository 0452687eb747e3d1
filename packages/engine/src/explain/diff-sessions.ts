import { type CompiledSession, type SharedLimit, windowMs } from '@countersign/protocol'
import { compareConditional } from './compare-when.js'
import type { Comparison } from './comparison.js'
import { underConditions } from './condition-words.js'
import { diffHours } from './diff-contracts.js'
import { diffSurpriseLevel } from './diff-learned.js'
import { EFFECT_OF, namesApart, type PlanChange, type Say } from './plan-change.js'
import { type Strength, same, strengthOf } from './rule-strength.js'

type Session = CompiledSession['session']
type Limits = NonNullable<Session['session_limits']>

const say: Say = (effect, text) => ({ tool: null, effect, text })

/** Limits, phases and policy of a session. `was` is null before the first plan. Risk defaults are told tool by tool. */
export function diffSessions(was: Session | null, is: Session, comparison: Comparison): PlanChange[] {
  const before = was ?? {}
  return [
    ...diffLimits(before.session_limits ?? {}, is.session_limits ?? {}),
    ...diffShared(before.shared_limits ?? [], is.shared_limits ?? [], comparison),
    ...diffPresence('policy', before.policy, is.policy),
    ...diffHours(before.hours, is.hours, { say, comparison }),
    ...diffSet(
      'model patterns that are refused',
      before.provider_constraints?.block_incompatible,
      is.provider_constraints?.block_incompatible,
    ),
    ...diffTransitions(before, is),
    ...diffSurpriseLevel(before.surprise, is.surprise, say),
    ...OTHERS.filter((key) => !same(before[key], is[key])).map((key) =>
      say(
        'changes',
        `${key} of the session ${before[key] === undefined ? 'is new' : is[key] === undefined ? 'is gone' : 'changes'}`,
      ),
    ),
  ]
}

/** What neither narrows nor widens by itself. */
const OTHERS = ['agent', 'phases', 'pricing', 'ask'] as const satisfies readonly (keyof Session)[]

/** A limit that is new or lower blocks more; one that is gone or higher allows more. */
function diffLimits(was: Limits, is: Limits): PlanChange[] {
  const tools = [
    ...new Set([...Object.keys(was.max_calls_per_tool ?? {}), ...Object.keys(is.max_calls_per_tool ?? {})]),
  ]
  return [
    ...NUMBERS.flatMap((key) => diffNumber(key, was[key], is[key])),
    ...tools
      .sort()
      .flatMap((tool) =>
        diffNumber(`max_calls_per_tool of ${tool}`, was.max_calls_per_tool?.[tool], is.max_calls_per_tool?.[tool]),
      ),
    ...BREAKERS.flatMap((key) =>
      diffNumber(`circuit_breaker ${key}`, was.circuit_breaker?.[key], is.circuit_breaker?.[key]),
    ),
    ...diffLoops(was.loop_detection, is.loop_detection),
  ]
}

const NUMBERS = ['max_steps', 'max_tool_calls', 'max_cost_per_session', 'max_calls_per_minute'] as const
const BREAKERS = ['consecutive_blocks', 'consecutive_errors'] as const

function diffNumber(name: string, was: number | undefined, is: number | undefined): PlanChange[] {
  if (was === is) return []
  if (is === undefined) return [say('allows', `${name} is no longer limited (was ${was})`)]
  if (was === undefined) return [say('blocks', `${name} is now limited to ${is}`)]
  return [say(is < was ? 'blocks' : 'allows', `${name} is ${is} (was ${was})`)]
}

function diffLoops(was: Limits['loop_detection'], is: Limits['loop_detection']): PlanChange[] {
  if (same(was, is)) return []
  const words = (loop: NonNullable<typeof is>) => `${loop.threshold} equal calls among ${loop.window}`
  if (is === undefined) return [say('allows', 'loops are no longer detected')]
  if (was === undefined) return [say('blocks', `loops are detected: ${words(is)}`)]
  const stricter = is.threshold <= was.threshold && is.window >= was.window
  const looser = is.threshold >= was.threshold && is.window <= was.window
  return [say(stricter ? 'blocks' : looser ? 'allows' : 'changes', `a loop is ${words(is)} (was ${words(was)})`)]
}

/** What a limit counts: another name, key or window makes it another limit, which starts with nothing used. */
function diffShared(was: readonly SharedLimit[], is: readonly SharedLimit[], comparison: Comparison): PlanChange[] {
  const names = [...new Set([...was, ...is].map(({ name }) => name))].sort()
  return names.flatMap((name) => {
    const before = was.find((limit) => limit.name === name)
    const after = is.find((limit) => limit.name === name)
    if (same(before, after)) return []
    if (before === undefined || after === undefined) {
      const gone = say('allows', `the shared limit ${name} is gone`)
      return [after === undefined ? gone : say('blocks', `new shared limit ${name}: ${limitWords(after)}`)]
    }
    const text = `the shared limit ${name} is ${limitWords(after)} (was ${limitWords(before)})`
    const strength = compareConditional(before, after, comparison, strengthOfLimits)
    return [say(strength === 'same' ? 'changes' : EFFECT_OF[strength], text)]
  })
}

function strengthOfLimits(was: SharedLimit, is: SharedLimit): Strength {
  const about = ({ tool, per, sum, cost }: SharedLimit) => ({ tool, per, sum, cost })
  if (!same(about(was), about(is))) return 'different'
  const bounds = boundOf(is) - boundOf(was)
  const windows = windowMs(is.window) - windowMs(was.window)
  return strengthOf(bounds <= 0 && windows >= 0, bounds >= 0 && windows <= 0)
}

const boundOf = ({ max_calls, lte }: SharedLimit): number => max_calls ?? lte ?? 0

/** A limit in words: `at most 3 calls of send_email for each $.to within 24h`. */
export function limitWords({ tool, per, max_calls, sum, lte, window, when }: SharedLimit): string {
  const of = tool === undefined ? '' : ` of ${tool}`
  const what =
    max_calls !== undefined
      ? `at most ${max_calls} calls${of}`
      : sum !== undefined
        ? `at most ${lte} in ${sum}${of}`
        : `model calls that cost at most ${lte}`
  const whom = typeof per === 'object' ? `for each ${per.argument}` : per === 'tenant' ? 'together' : `for each ${per}`
  return underConditions(when, `${what} ${whom} within ${window}`)
}

function diffPresence(name: string, was: unknown, is: unknown): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', `the session has a ${name} now, which must allow every call`)]
  return is === undefined
    ? [say('allows', `the session no longer has a ${name}`)]
    : [say('changes', `the ${name} of the session changes`)]
}

function diffSet(name: string, was: readonly string[] = [], is: readonly string[] = []): PlanChange[] {
  const { added, gone } = namesApart(was, is)
  return [
    ...(added.length === 0 ? [] : [say('blocks', `new ${name}: ${added.join(', ')}`)]),
    ...(gone.length === 0 ? [] : [say('allows', `no longer ${name}: ${gone.join(', ')}`)]),
  ]
}

/** A way from one phase to another that is new allows more. Phases that are new or gone are told as such. */
function diffTransitions(was: Session, is: Session): PlanChange[] {
  if (was.phases === undefined || is.phases === undefined) return []
  const ways = ({ transitions = {} }: Session) =>
    Object.entries(transitions).flatMap(([start, ends]) => ends.map((end) => `${start} to ${end}`))
  const { added, gone } = namesApart(ways(was), ways(is))
  return [
    ...(added.length === 0 ? [] : [say('allows', `new transitions: ${added.join(', ')}`)]),
    ...(gone.length === 0 ? [] : [say('blocks', `no more transitions: ${gone.join(', ')}`)]),
  ]
}
