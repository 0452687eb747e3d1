import type { CallVerdict } from '../../turn/verdicts.js'
import type { GovernedSession } from '../governed-session.js'

export interface BatchedCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

/** Judges calls that a runtime shows one by one. */
export interface CallBatches {
  judge(call: BatchedCall): Promise<CallVerdict>
  /** The calls that may run and have no outcome yet. */
  running(): readonly string[]
  /** The runtime has told the outcome of a call. */
  ended(callId: string): void
}

/** The runtime shows the calls of one answer at about the same time. */
const GATHER_MS = 10
/** A call of which nothing is heard any more, such as one that a person refused, holds the next ones up this long. */
const LONGEST_RUN_MS = 600_000

interface Waiting {
  readonly call: BatchedCall
  resolve(verdict: CallVerdict): void
  reject(error: unknown): void
}

/**
 * The calls that arrive together are proposed together, as one turn, so that they cannot pass a limit side by side. The
 * next ones wait until these have an outcome: what they led to decides about the next.
 */
export function createCallBatches(session: GovernedSession, model: string): CallBatches {
  let waiting: Waiting[] = []
  let running = new Set<string>()
  let wake = (): void => {}
  let turns: Promise<void> = Promise.resolve()

  const whenEnded = async (): Promise<void> => {
    let timer: NodeJS.Timeout | undefined
    const timeUp = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_RUN_MS)
      timer.unref()
    })
    while (running.size > 0) {
      const ended = new Promise<'ended'>((resolve) => {
        wake = () => resolve('ended')
      })
      if ((await Promise.race([ended, timeUp])) !== 'ended') running = new Set()
    }
    clearTimeout(timer)
  }

  const judgeBatch = async (): Promise<void> => {
    await whenEnded()
    const batch = waiting
    waiting = []
    try {
      const tools = [...new Set(batch.map(({ call }) => call.name))]
      const turn = await session.prepare({ provider: 'anthropic', model, tools })
      if (turn.refusal !== null) throw new Error(turn.refusal.remedy)
      const verdicts = await turn.propose({ calls: batch.map(({ call }) => call), finishReason: 'tool_calls' })
      for (const [at, { call, resolve, reject }] of batch.entries()) {
        const verdict = verdicts[at]
        if (verdict === undefined) reject(new Error(`nothing was decided about ${call.name}`))
        else {
          if (verdict.verdict !== 'block') running.add(call.id)
          resolve(verdict)
        }
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return {
    judge: (call) =>
      new Promise((resolve, reject) => {
        waiting.push({ call, resolve, reject })
        if (waiting.length > 1) return
        turns = turns.then(() => new Promise((gathered) => setTimeout(gathered, GATHER_MS))).then(judgeBatch)
      }),
    running: () => [...running],
    ended(callId) {
      running.delete(callId)
      wake()
    },
  }
}
