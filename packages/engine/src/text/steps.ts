/** Work that can be interleaved with other work at every `yield`. */
export type Steps<Result> = Generator<void, Result, void>

/** `list.flatMap(make)`, one item at a step. */
export function* flatMapInSteps<Item, Made>(
  list: readonly Item[] | undefined,
  make: (item: Item, index: number) => readonly Made[],
): Steps<Made[]> {
  const made: Made[] = []
  for (const [index, item] of (list ?? []).entries()) {
    made.push(...make(item, index))
    yield
  }
  return made
}

/** Runs all steps at once and returns the result. */
export function runToEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
