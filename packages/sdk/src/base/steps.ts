/** What is often known at once. Waiting for it all the same costs more than most answers do. */
export type KnownOrPromised<T> = T | Promise<T>

/**
 * Code that reads from top to bottom and may have to wait: it yields promises, and nothing else. Such generators are
 * declared at the top of a file: one made anew for each call is never optimised.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>

/** As `await`, in the form `yield* wait(value)`, but a value that is no promise is there at once. */
export function wait<T>(value: KnownOrPromised<T>): Steps<T> {
  return value instanceof Promise ? promised(value) : known(value)
}

function* promised<T>(value: Promise<T>): Steps<T> {
  return (yield value) as T
}

/** Steps that have ended before they began: iterator and result in one, at a fraction of the cost of a generator. */
function known<T>(value: T): Steps<T> {
  return { done: true, value, next: itself, [Symbol.iterator]: itself } as unknown as Steps<T>
}

function itself(this: unknown): unknown {
  return this
}

/** Runs the steps. The result is known at once unless one of them had to wait. */
export function runSteps<T>(steps: Steps<T>): KnownOrPromised<T> {
  const step = steps.next()
  return step.done ? step.value : resume(steps, step.value)
}

/** The same where the caller waits in any case: what is thrown at once rejects, too. */
export function runToPromise<T>(steps: Steps<T>): Promise<T> {
  try {
    const step = steps.next()
    return step.done ? Promise.resolve(step.value) : resume(steps, step.value)
  } catch (error) {
    return Promise.reject(error)
  }
}

async function resume<T>(steps: Steps<T>, first: Promise<unknown>): Promise<T> {
  for (let waiting = first; ; ) {
    let step: IteratorResult<Promise<unknown>, T>
    try {
      step = steps.next(await waiting)
    } catch (error) {
      // Steps that threw this themselves have ended, and throw it again.
      step = steps.throw(error)
    }
    if (step.done) return step.value
    waiting = step.value
  }
}
