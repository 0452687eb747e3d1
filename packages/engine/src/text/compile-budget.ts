import type { Steps } from './steps.js'

/**
 * What preparing one plan may cost, in microseconds on an ordinary machine. A plan of a megabyte can hold tens of
 * thousands of patterns and schemas. Each is harmless; together they would block the process for minutes.
 */
const PLAN_COST = 5_000_000
/** What one contract of it may cost. The process can do other work between its paths, patterns, schemas and policies. */
const CONTRACT_COST = 1_000_000
/** What they may keep in memory, in bytes: large patterns weigh ten thousand times their text. */
const PLAN_WEIGHT = 64 * 1024 * 1024
const CONTRACT_WEIGHT = 32 * 1024 * 1024

interface Left {
  planCost: number
  contractCost: number
  planWeight: number
  contractWeight: number
}

const UNLIMITED = Number.POSITIVE_INFINITY

let left: Left = {
  planCost: UNLIMITED,
  contractCost: UNLIMITED,
  planWeight: UNLIMITED,
  contractWeight: UNLIMITED,
}

/** Runs the steps on one budget. Costs are counted, not timed, so the same plan always gives the same result. */
export function* withinCompileBudget<Result>(steps: Steps<Result>): Steps<Result> {
  const own: Left = {
    planCost: PLAN_COST,
    contractCost: CONTRACT_COST,
    planWeight: PLAN_WEIGHT,
    contractWeight: CONTRACT_WEIGHT,
  }
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
    yield
  }
}

/** What some work costs to compile, in microseconds, with its result. It may cost what one contract may. */
export function compilingCost<Result>(work: () => Result): [microseconds: number, result: Result] {
  const before = left
  left = {
    planCost: CONTRACT_COST,
    contractCost: CONTRACT_COST,
    planWeight: CONTRACT_WEIGHT,
    contractWeight: CONTRACT_WEIGHT,
  }
  try {
    const result = work()
    return [CONTRACT_COST - left.planCost, result]
  } finally {
    left = before
  }
}

/** Gives the contract that is prepared from now on what one contract may cost. */
export function beginContract(): void {
  if (left.planCost === UNLIMITED) return
  left.contractCost = CONTRACT_COST
  left.contractWeight = CONTRACT_WEIGHT
}

/** Takes a cost from the budget. Null, or why nothing more may be compiled. */
export function spendOnCompiling(cost: number): string | null {
  left.planCost -= cost
  left.contractCost -= cost
  if (left.planCost < 0 || left.planWeight < 0) return tooLarge('plan')
  return left.contractCost < 0 || left.contractWeight < 0 ? tooLarge('contract') : null
}

const tooLarge = (what: string) =>
  `the paths, schemas, policies and regular expressions of the ${what} are too large together`

/** Notes what a compiled part keeps in memory, in bytes as measured. */
export function addWeight(bytes: number): void {
  left.planWeight -= bytes
  left.contractWeight -= bytes
}

/** What the parts compiled so far within the budget keep in memory, in bytes. */
export const weightSoFar = (): number => PLAN_WEIGHT - left.planWeight
