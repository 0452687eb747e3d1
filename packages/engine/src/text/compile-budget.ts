import type { Steps } from './steps.js'

/**
 * What preparing one plan may cost, in microseconds on an ordinary machine. A plan of a megabyte can hold tens of
 * thousands of patterns and schemas. Each is harmless; together they would block the process for minutes.
 */
const PLAN_COST = 5_000_000
/** What one contract of it may cost. The process can do other work between contracts. */
const CONTRACT_COST = 1_000_000

interface Left {
  plan: number
  contract: number
}

let left: Left = { plan: Number.POSITIVE_INFINITY, contract: Number.POSITIVE_INFINITY }

/** Runs the steps on one budget. Costs are counted, not timed, so the same plan always gives the same result. */
export function* withinCompileBudget<Result>(steps: Steps<Result>): Steps<Result> {
  const own: Left = { plan: PLAN_COST, contract: CONTRACT_COST }
  for (;;) {
    const before = left
    left = own
    let step: IteratorResult<void, Result>
    try {
      step = steps.next()
    } finally {
      left = before
    }
    if (step.done === true) return step.value
    own.contract = CONTRACT_COST
    yield
  }
}

/** Takes a cost from the budget. Null, or why nothing more may be compiled. */
export function spendOnCompiling(cost: number): string | null {
  left.plan -= cost
  left.contract -= cost
  if (left.plan < 0) return 'the paths, schemas and regular expressions of the plan are too large together'
  return left.contract < 0 ? 'the paths, schemas and regular expressions of the contract are too large together' : null
}
