/** Lets turns of one session through one at a time, in the order in which they came. */
export interface TurnQueue {
  enter(): Promise<QueuePlace>
}

export interface QueuePlace {
  /** Another turn was under way when this one came. */
  readonly waited: boolean
  /** Lets the next one in; may be called twice. */
  leave(): void
}

/**
 * `patienceMs`: a program may drop a stream without reading it, and then nothing ever ends that turn. After this time
 * the next turn goes ahead; the server voids the older prepared request, so the dropped stream can allow nothing.
 */
export function createTurnQueue(patienceMs = 120_000): TurnQueue {
  let last: Promise<void> = Promise.resolve()
  let inside = 0
  return {
    async enter() {
      const before = last
      const waited = inside > 0
      inside++
      let leave = (): void => {}
      last = new Promise((resolve) => {
        leave = () => {
          leave = () => {}
          inside--
          resolve()
        }
      })
      if (waited) await withPatience(before, patienceMs)
      return { waited, leave: () => leave() }
    },
  }
}

async function withPatience(before: Promise<void>, patienceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const tired = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs)
    timer.unref()
  })
  await Promise.race([before, tired])
  clearTimeout(timer)
}
