/** Work that can be interleaved with other work at every `yield`. */
export type Steps<Result> = Generator<void, Result, void>

/** Runs all steps at once and returns the result. */
export function runToEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
