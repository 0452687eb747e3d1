import { setImmediate } from 'node:timers/promises'
import type { Steps } from '@countersign/engine'

/** Work that takes longer than this lets other requests in. */
const TURN_MS = 20

/**
 * Does work step by step, with other requests in between. What takes more than one turn is done one after another: many
 * long works at once would each take their step between two replies.
 */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  const first = takeTurn(steps)
  if (first !== null) return first.value
  const work = long.then(() => goOn(steps))
  long = work.catch(() => {})
  return work
}

let long: Promise<unknown> = Promise.resolve()

async function goOn<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    await setImmediate()
    const done = takeTurn(steps)
    if (done !== null) return done.value
  }
}

/** Null while there is more to do. */
function takeTurn<Result>(steps: Steps<Result>): { readonly value: Result } | null {
  const until = performance.now() + TURN_MS
  do {
    const step = steps.next()
    if (step.done === true) return { value: step.value }
  } while (performance.now() < until)
  return null
}
