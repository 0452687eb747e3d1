import type { CallVerdict } from '../../session/core/verdicts.js'
import type { GovernedSession } from '../governed-session.js'

export interface BatchedCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
  /** The query that made it. */
  readonly query: string
  /** The sub-agent of the query that made it; empty where it is none. */
  readonly agent: string
  /** The prompt of the query that led to it. */
  readonly prompt: string
  /** Aborted when the runtime waits for the verdict no more: then it does not run the call. */
  readonly signal?: AbortSignal | undefined
}

/** Judges calls that a runtime shows one by one. */
export interface CallBatches {
  judge(call: BatchedCall): Promise<CallVerdict>
  /** The call may run, and has no outcome yet. */
  isOpen(callId: string): boolean
  /** The runtime has told the outcome of a call. */
  ended(callId: string): void
}

/** The runtime shows the calls of one answer at about the same time. */
const GATHER_MS = 10
/**
 * A call holds the next ones up this long: nothing may be heard of it any more, as of one that a person refused. If it
 * still runs when the next one is judged, it is unknown, and opens nothing.
 */
const WAITED_FOR_MS = 30_000

interface Waiting {
  readonly call: BatchedCall
  resolve(verdict: CallVerdict): void
  reject(error: unknown): void
}

interface RunningCall {
  readonly query: string
  readonly prompt: string
  /** Not waited for: it ends later than the next call, or nothing will be heard of it. */
  isPassedBy: boolean
  readonly timer: NodeJS.Timeout
}

/**
 * The calls of one agent that arrive together are proposed together, as one turn, so that they cannot pass a limit side
 * by side. The next ones wait until these have an outcome: what they led to decides about the next.
 */
export function createCallBatches(session: GovernedSession, model: string): CallBatches {
  const waiting = new Map<string, Waiting[]>()
  const running = new Map<string, RunningCall>()
  const agents = new Set<string>()
  let isJudging = false
  let changed = whenChanged()

  const change = (): void => {
    changed.now()
    changed = whenChanged()
  }

  const mustWait = (): boolean => isJudging || [...running.values()].some(({ isPassedBy }) => !isPassedBy)

  /** One batch at a time, and none before the calls that run have an outcome. */
  const takeTurn = async (): Promise<void> => {
    while (mustWait()) await changed.promise
    isJudging = true
  }

  const runs = ({ id, query, prompt }: BatchedCall): void => {
    const timer = setTimeout(() => {
      call.isPassedBy = true
      change()
    }, WAITED_FOR_MS)
    const call: RunningCall = { query, prompt, isPassedBy: false, timer: timer.unref() }
    running.set(id, call)
  }

  const isOver = (id: string): void => {
    clearTimeout(running.get(id)?.timer)
    running.delete(id)
  }

  const judgeBatch = async (key: string): Promise<void> => {
    await new Promise((gathered) => setTimeout(gathered, GATHER_MS))
    await takeTurn()
    const all = waiting.get(key) ?? []
    waiting.delete(key)
    const batch = all.filter(({ call }) => !isLeft(call))
    for (const { call, reject } of all) if (isLeft(call)) reject(new Error('the verdict was not waited for'))
    try {
      if (batch.length === 0) return
      // A session gives every call an outcome before its next turn: that of these is unknown.
      for (const [id, { isPassedBy }] of running) if (isPassedBy) isOver(id)
      const verdicts = await propose(
        session,
        model,
        batch.map(({ call }) => call),
      )
      for (const [at, { call, resolve, reject }] of batch.entries()) {
        const verdict = verdicts[at]
        if (verdict === undefined) {
          reject(new Error(`nothing was decided about ${call.name}`))
          continue
        }
        // One that the runtime has given up meanwhile does not run: nothing will be heard of it.
        if (verdict.verdict !== 'block' && !isLeft(call)) runs(call)
        resolve(verdict)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      isJudging = false
      change()
    }
  }

  /**
   * A sub-agent that waited for the call which started it would wait for ever. The runtime says nothing of a call that
   * was interrupted: it is over when the agent makes one for a later prompt.
   */
  const passBy = ({ query, agent, prompt }: BatchedCall): void => {
    const isNewAgent = agent !== '' && !agents.has(agent)
    if (isNewAgent) agents.add(agent)
    for (const call of running.values()) {
      if (call.query !== query) continue
      if (isNewAgent || (agent === '' && call.prompt !== prompt)) call.isPassedBy = true
    }
    change()
  }

  return {
    judge: (call) =>
      new Promise((resolve, reject) => {
        passBy(call)
        const key = JSON.stringify([call.query, call.agent])
        const batch = waiting.get(key)
        if (batch !== undefined) return void batch.push({ call, resolve, reject })
        waiting.set(key, [{ call, resolve, reject }])
        void judgeBatch(key)
      }),
    isOpen: (callId) => running.has(callId),
    ended(callId) {
      isOver(callId)
      change()
    },
  }
}

const isLeft = ({ signal }: BatchedCall): boolean => signal?.aborted === true

async function propose(
  session: GovernedSession,
  model: string,
  calls: readonly BatchedCall[],
): Promise<readonly CallVerdict[]> {
  const tools = [...new Set(calls.map(({ name }) => name))]
  const turn = await session.prepare({ provider: 'anthropic', model, tools })
  if (turn.refusal !== null) throw new Error(turn.refusal.remedy)
  return turn.propose({
    calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    finishReason: 'tool_calls',
  })
}

function whenChanged(): { readonly promise: Promise<void>; now(): void } {
  let now = (): void => {}
  const promise = new Promise<void>((resolve) => {
    now = resolve
  })
  return { promise, now: () => now() }
}
