/** Lets turns of one session through one at a time, in the order in which they came. */
export interface TurnQueue {
  enter(): QueuePlace
}

export interface QueuePlace {
  /** Resolves when the turn before has ended; null when no other turn was under way when this one came. */
  readonly turnBefore: Promise<void> | null
  /** The answer is here and is judged, perhaps by a person: this turn ends by itself, however long that takes. */
  stay(): void
  /** Lets the next one in; may be called twice. */
  leave(): void
}

/**
 * `patienceMs`: a program may drop a stream without reading it, and then nothing ever ends that turn. After this time
 * the next turn goes ahead; the server voids the older prepared request, so the dropped stream can allow nothing.
 */
export function createTurnQueue(patienceMs = 120_000): TurnQueue {
  let last: Turn | null = null
  let inside = 0
  return {
    enter() {
      const turn: Turn = { isOver: false, stays: false, onOver: () => {} }
      const turnBefore = inside > 0 && last !== null ? withPatience(last, patienceMs) : null
      last = turn
      inside++
      const leave = (): void => {
        if (turn.isOver) return
        turn.isOver = true
        inside--
        turn.onOver()
      }
      const stay = (): void => {
        turn.stays = true
      }
      return { turnBefore, stay, leave }
    },
  }
}

interface Turn {
  isOver: boolean
  stays: boolean
  /** Wakes the one that comes next. */
  onOver(): void
}

function endOf(turn: Turn): Promise<void> {
  return new Promise((resolve) => {
    if (turn.isOver) resolve()
    else turn.onOver = resolve
  })
}

async function withPatience(turn: Turn, patienceMs: number): Promise<void> {
  const over = endOf(turn)
  let timer: NodeJS.Timeout | undefined
  const tired = new Promise<void>((resolve) => {
    timer = setTimeout(() => (turn.stays ? over.then(resolve) : resolve()), patienceMs)
    timer.unref()
  })
  await Promise.race([over, tired])
  clearTimeout(timer)
}
