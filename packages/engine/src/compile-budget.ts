/**
 * What preparing one plan may cost, in microseconds of a usual machine. A plan of a megabyte can hold tens of thousands
 * of patterns and schemas, each harmless; together they would keep the process from everything else for minutes.
 */
const PLAN_COST = 5_000_000

let left = Number.POSITIVE_INFINITY

/** Everything compiled inside of `work` is paid from one budget. It counts, so the same plan always ends the same. */
export function withinCompileBudget<Result>(work: () => Result): Result {
  const before = left
  left = PLAN_COST
  try {
    return work()
  } finally {
    left = before
  }
}

/** Null, or why this may not be compiled any more. */
export function spendOnCompiling(cost: number): string | null {
  left -= cost
  return left >= 0 ? null : 'the schemas and regular expressions of the plan are too large together'
}
