/**
 * What judging may take, in steps of about a tenth of a microsecond. Steps are counted, not timed: the same call gets
 * the same answer on every machine, under any load, in the server and in the SDK. What each case takes is in
 * docs/decisions/0013-count-the-steps-of-judging.md.
 */
export const JUDGING_STEPS = {
  /** One response with all its calls, one request, or one batch of receipts. */
  whole: 200_000,
  /** What is kept for each call, receipt or contract that is still to be judged. */
  reserve: 2_500,
  /** The policies of all tools of one request: there are up to 512, and one question takes a tenth of a millisecond. */
  narrowing: 1_000_000,
} as const

/** Thrown when the steps are used up. Whoever judges turns it into a block; nothing is allowed because of it. */
export class TooCostlyError extends Error {
  /** The rule that used the last of the steps, as the contract names it; null if unknown. */
  readonly rule: string | null

  constructor(rule: string | null = null) {
    const where = rule === null ? '' : ` (the last one was ${rule})`
    // Without a stack, which would take longer than all that is left to do: there may be one for each of a thousand rules.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(
      `judging it takes more steps than one call may${where}: send less at once; the owner can write fewer or simpler rules`,
    )
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'TooCostlyError'
    this.rule = rule
  }
}

let left = Number.POSITIVE_INFINITY
/** What was spent of all outermost budgets together, and how many there were. */
let taken = 0
let budgets = 0

/** Takes steps from the current budget; throws if there are not enough. Outside of a budget it does nothing. */
export function spendOnJudging(steps: number): void {
  left -= steps
  if (left < 0) throw new TooCostlyError()
}

/** Takes steps for reading so many characters of a text, as comparing it does. */
export function spendOnText(characters: number): void {
  if (characters >= 1 << CHARACTERS_PER_STEP) spendOnJudging(characters >> CHARACTERS_PER_STEP)
}

/** As a power of two. */
const CHARACTERS_PER_STEP = 10

/** What the budget that ended last has spent. */
let spentLast = 0

/** Does work that may take so many steps. Inside another budget, the steps are taken from that one as well. */
export function withinJudgingBudget<Result>(steps: number, work: () => Result): Result {
  const outer = left
  const granted = Math.min(steps, Math.max(outer, 0))
  if (granted === Number.POSITIVE_INFINITY) return work()
  if (outer === Number.POSITIVE_INFINITY) budgets++
  left = granted
  try {
    return work()
  } finally {
    spentLast = granted - Math.max(left, 0)
    left = outer - spentLast
    if (outer === Number.POSITIVE_INFINITY) taken += spentLast
  }
}

/** Steps for several pieces of work, with other work in between: each may take what those before it left. */
export class JudgingBudget {
  constructor(private rest: number) {}

  within<Result>(work: () => Result): Result {
    try {
      return withinJudgingBudget(this.rest, work)
    } finally {
      this.rest -= spentLast
    }
  }
}

/** Which outermost piece of work this is: what is kept from one to the next must cost the same whoever made it. */
export const judgingBudgetNumber = (): number => budgets

/** How many steps some work took, with its result. */
export function judgingStepsTaken<Result>(work: () => Result): [steps: number, result: Result] {
  const before = taken
  const result = work()
  return [taken - before, result]
}

/** Does work on the current budget, or on one of its own if there is none. */
export function withinSomeBudget<Result>(work: () => Result): Result {
  return left === Number.POSITIVE_INFINITY ? withinJudgingBudget(JUDGING_STEPS.whole, work) : work()
}

/**
 * Does one piece of work of several: it may take all that is left except for a reserve for each that follows, so that a
 * costly piece cannot take the steps of the others.
 */
export function withinShare<Result>(following: number, work: () => Result): Result {
  const share = Math.max(left - following * JUDGING_STEPS.reserve, left / (following + 1))
  return withinJudgingBudget(share, work)
}

/** Does work that may take half of what is left. */
export const withinHalf = <Result>(work: () => Result): Result => withinJudgingBudget(left / 2, work)

/** The error with the rule that was being judged, if it is about the cost and names none. */
export function inRule(error: unknown, rule: string): unknown {
  return error instanceof TooCostlyError && error.rule === null ? new TooCostlyError(rule) : error
}

/** The result of the work, or another one if it is too costly. */
export function unlessTooCostly<Result>(work: () => Result, otherwise: (error: TooCostlyError) => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof TooCostlyError) return otherwise(error)
    throw error
  }
}
