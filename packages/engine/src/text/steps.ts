/** Work that others may come between, at every `yield`. */
export type Steps<Result> = Generator<void, Result, void>

/** Does all of it at once. */
export function runToEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
