/** Lets turns of one session through one at a time, in the order in which they came. */
export interface TurnQueue {
  /** Waits for its turn; the returned function lets the next one in and may be called twice. */
  enter(): Promise<() => void>
  readonly waiting: number
}

/**
 * `patienceMs`: a program may drop a stream without reading it, and then nothing ever ends that turn. After this time
 * the next turn goes ahead; the server voids the older prepared request, so the dropped stream can allow nothing.
 */
export function createTurnQueue(patienceMs = 120_000): TurnQueue {
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  return {
    get waiting() {
      return waiting
    },
    async enter() {
      const before = last
      let leave = (): void => {}
      last = new Promise((resolve) => {
        leave = resolve
      })
      waiting++
      await withPatience(before, patienceMs)
      waiting--
      return leave
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
