import type { CompiledContract, Condition, Invariant } from '@countersign/protocol'
import { appliesWherever, subjectOf } from './compare-when.js'
import type { Comparison } from './comparison.js'
import { pairs } from './plan-change.js'
import { conditionsImply, type Strength, same, strengthOf } from './rule-strength.js'

/** One rule of a list of rules in a contract. */
export type RuleOf<K extends keyof CompiledContract> = Extract<
  NonNullable<CompiledContract[K]>,
  readonly unknown[]
>[number]

/** Budgets over the same values: the lower one is narrower, and one for all keys together than one for each. */
export function compareAggregates(
  was: RuleOf<'aggregates'>,
  is: RuleOf<'aggregates'>,
  comparison: Comparison,
): Strength {
  if (was.key !== is.key && was.key !== undefined && is.key !== undefined) return 'different'
  const implies = (given: typeof was, wanted: typeof was) =>
    (given.key === wanted.key || given.key === undefined) && boundsImply(given, wanted, comparison)
  return strengthOf(implies(is, was), implies(was, is))
}

/** Of an established value nothing is known before a session, so that only the same one is comparable. */
const boundsImply = (given: RuleOf<'aggregates'>, wanted: RuleOf<'aggregates'>, comparison: Comparison): boolean =>
  same(refsOf(given), refsOf(wanted)) && conditionsImply([boundOf(given)], [boundOf(wanted)], comparison)

const refsOf = ({ lte, lt }: RuleOf<'aggregates'>) => [lte, lt].map((bound) => (typeof bound === 'object' ? bound : 0))

/** An exclusive hold keeps out more than a shared one. */
export const compareResources = (was: RuleOf<'resources'>, is: RuleOf<'resources'>): Strength =>
  was.mode === is.mode ? 'same' : is.mode === 'exclusive' ? 'narrower' : 'wider'

const boundOf = ({ lte, lt }: RuleOf<'aggregates'>): Invariant => ({
  path: '$',
  ...(typeof lte === 'number' && { lte }),
  ...(typeof lt === 'number' && { lt }),
})

export function comparePreconditions(
  was: RuleOf<'preconditions'>,
  is: RuleOf<'preconditions'>,
  comparison: Comparison,
): Strength {
  if ('requires_step_count' in was || 'requires_step_count' in is) {
    const steps = (item: RuleOf<'preconditions'>) => ('requires_step_count' in item ? item.requires_step_count.gte : 0)
    return strengthOf(steps(is) >= steps(was), steps(was) >= steps(is))
  }
  const implies = (given: typeof was, wanted: typeof was) =>
    (given.consumes === true || wanted.consumes !== true) &&
    (given.latest === true || wanted.latest !== true) &&
    comparison.missing(wanted.same ?? [], given.same ?? []).length === 0 &&
    pairs(given.with_output ?? [], wanted.with_output ?? [], ({ path }) => path).every(({ before, after }) =>
      conditionsImply(before, after, comparison),
    )
  return strengthOf(implies(is, was), implies(was, is))
}

export function compareEnvelopes(was: RuleOf<'envelopes'>, is: RuleOf<'envelopes'>): Strength {
  if (was.key !== is.key) return 'different'
  const implies = (given: typeof was, wanted: typeof was) =>
    (given.direction === wanted.direction || given.direction === 'within') &&
    given.tolerance_percent <= wanted.tolerance_percent
  return strengthOf(implies(is, was), implies(was, is))
}

/** An argument that is missing or of another type is as good as none here; of the others, only the same are compared. */
const isAnswered = (before: readonly Condition[], after: readonly Condition[], comparison: Comparison): boolean =>
  [...before, ...after].every(({ path }) => path !== undefined)
    ? conditionsImply(before as Invariant[], after as Invariant[], comparison)
    : appliesWherever(after, before, comparison)

/** More conditions ask less often; a timeout that allows asks for less. */
export function compareCheckpoints(
  was: RuleOf<'checkpoint'>,
  is: RuleOf<'checkpoint'>,
  comparison: Comparison,
): Strength {
  const asksWhenever = (given: typeof was, wanted: typeof was) =>
    pairs(wanted.when, given.when, subjectOf).every(({ before, after }) => isAnswered(before, after, comparison)) &&
    (given.on_timeout === wanted.on_timeout || given.on_timeout === 'deny')
  const strength = strengthOf(asksWhenever(is, was), asksWhenever(was, is))
  return strength === 'same' && !same({ ...was, when: [] }, { ...is, when: [] }) ? 'different' : strength
}
