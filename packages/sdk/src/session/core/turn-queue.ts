/** Lets turns of one session through one at a time, in the order in which they came. */
export interface TurnQueue {
  enter(): QueuePlace
  /** The session has ended: nothing waits any more. */
  release(): void
}

export interface QueuePlace {
  /** Resolves when the turn before has ended; null when no other turn was under way when this one came. */
  readonly turnBefore: Promise<void> | null
  /** The answer is here and is judged, perhaps by a person: this turn ends by itself, however long that takes. */
  stay(): void
  /** Lets the next one in; may be called twice. */
  leave(): void
}

export interface TurnQueueOptions {
  /**
   * A program may drop a stream without reading it, and then nothing ever ends that turn. After this time the next turn
   * goes ahead; the server voids the older prepared request, so the dropped stream can allow nothing.
   */
  readonly timeoutMs?: number
  /** Called when a turn has waited so long that a dropped stream is likely. */
  readonly onLongWait?: () => void
  readonly longWaitMs?: number
}

export const TURN_TIMEOUT_MS = 120_000

export function createTurnQueue(options: TurnQueueOptions = {}): TurnQueue {
  let last: Turn | null = null
  let inside = 0
  let isReleased = false
  const waiting = new Set<() => void>()
  return {
    release() {
      isReleased = true
      for (const wake of waiting) wake()
    },
    enter() {
      const turn: Turn = { isOver: false, stays: false, onOver: () => {} }
      const turnBefore = inside > 0 && last !== null && !isReleased ? withPatience(last, waiting, options) : null
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

/** The timers keep the program running: the turn is waited for. */
async function withPatience(turn: Turn, waiting: Set<() => void>, options: TurnQueueOptions): Promise<void> {
  const { timeoutMs = TURN_TIMEOUT_MS, onLongWait = () => {}, longWaitMs = 10_000 } = options
  let wake = (): void => {}
  const awake = new Promise<void>((resolve) => {
    wake = resolve
  })
  waiting.add(wake)
  void endOf(turn).then(wake)
  const patience = setTimeout(() => turn.stays || wake(), timeoutMs)
  const warning = setTimeout(() => turn.stays || onLongWait(), longWaitMs)
  await awake
  waiting.delete(wake)
  clearTimeout(patience)
  clearTimeout(warning)
}
