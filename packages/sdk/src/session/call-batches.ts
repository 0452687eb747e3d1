import { LIMITS } from '@countersign/protocol'
import { CallsWaitingError } from '../base/errors.js'
import { findElsewhere, findProposed } from '../calls/find-proposed.js'
import type { SessionContext } from './core/session-context.js'
import type { CallVerdict } from './core/verdicts.js'
import type { TurnMaker } from './session-turn.js'

/** A call that a runtime shows by itself, without the model's answer that it stands in. */
export interface ShownCall {
  /** The id of the call. */
  readonly id: string
  /** The name of the tool, as contracts know it. */
  readonly name: string
  /** The arguments, to be judged. */
  readonly arguments: unknown
  /** Calls of different agents are never of one answer. */
  readonly agent: string
  /** The tools that the model may have been offered. Default: those that are judged together. */
  readonly offered?: readonly string[]
  /** Aborted when the runtime no longer waits for the verdict: then it does not run the call. */
  readonly signal?: AbortSignal | undefined
}

/** How the calls of a runtime are gathered. */
export interface BatchOptions<Call extends ShownCall> {
  /** The provider that contracts and patterns see. */
  readonly provider: string
  /** The model that they see. */
  readonly model: string
  /** `own` where the runtime passes the arguments that it showed: then no person can change them. */
  readonly runs: 'judged' | 'own'
  /** The runtime shows the calls of one answer within this time. */
  readonly gatherMs: number
  /**
   * A call holds the next ones up this long: nothing may be heard of it any more. If it still runs when the next one is
   * judged, it is unknown, and opens nothing. Default: until its end.
   */
  readonly patienceMs?: number
  /** Where models propose calls in the session as well: a call that is shown may be one of theirs. */
  readonly proposals?: {
    /** Whether the model's call of this tool, under this id, may be the one that is shown. */
    isMeant(call: Call, toolName: string, callId: string): boolean
    /** Whether a call of this id is a model's: it has its outcome before the next call is judged. */
    isOfModel(callId: string): boolean
  }
}

/** Judges calls that a runtime shows one by one. */
export interface CallBatches<Call extends ShownCall> {
  /** The verdict about a call, or about the proposed one that it is. That one has another id. */
  judge(call: Call): Promise<CallVerdict>
  /** The call may run, and has no outcome yet. */
  isOpen(callId: string): boolean
  /** The call has its outcome. */
  ended(callId: string): void
  /** Those of the running calls that this is true of hold up no other any longer. */
  passBy(isOver: (call: Call) => boolean): void
}

interface Waiting<Call> {
  readonly call: Call
  resolve(verdict: CallVerdict): void
  reject(error: unknown): void
}

interface Running<Call> {
  readonly call: Call
  /** Not waited for: it ends later than the next call, or nothing will be heard of it. */
  isPassedBy: boolean
  readonly timer: NodeJS.Timeout | undefined
}

/**
 * The calls of one agent that arrive together are proposed together, as one turn, so that they cannot pass a limit side
 * by side. The next ones wait until these have an outcome: what they led to decides about the next.
 */
export function createCallBatches<Call extends ShownCall>(
  session: SessionContext,
  { prepare }: TurnMaker,
  { provider, model, runs: whose, gatherMs, patienceMs, proposals }: BatchOptions<Call>,
): CallBatches<Call> {
  const waiting = new Map<string, Waiting<Call>[]>()
  const running = new Map<string, Running<Call>>()
  let isJudging = false
  let changed = whenChanged()

  const change = (): void => {
    changed.now()
    changed = whenChanged()
  }

  /** One batch at a time, and none before the calls that run have an outcome. */
  const takeTurn = async (): Promise<void> => {
    while (isJudging || [...running.values()].some(({ isPassedBy }) => !isPassedBy)) await changed.promise
    isJudging = true
  }

  const runs = (call: Call): void => {
    const passBy = (): void => {
      one.isPassedBy = true
      change()
    }
    const timer = patienceMs === undefined ? undefined : setTimeout(passBy, patienceMs).unref()
    const one: Running<Call> = { call, isPassedBy: false, timer }
    running.set(call.id, one)
  }

  const isOver = (id: string): void => {
    clearTimeout(running.get(id)?.timer)
    running.delete(id)
  }

  const judgeAll = async (agent: string): Promise<void> => {
    await new Promise((gathered) => setTimeout(gathered, gatherMs))
    for (let isLast = false; !isLast; ) {
      await takeTurn()
      const all = waiting.get(agent) ?? []
      const batch = all.splice(0, LIMITS.callsPerProposal)
      isLast = all.length === 0
      if (isLast) waiting.delete(agent)
      await judgeBatch(batch)
      isJudging = false
      change()
    }
  }

  const judgeBatch = async (all: readonly Waiting<Call>[]): Promise<void> => {
    let batch = all.filter(({ call }) => !isLeft(call))
    for (const { call, reject } of all) if (isLeft(call)) reject(new Error('it was cancelled before it was judged'))
    if (batch.length === 0) return
    // A session gives every call an outcome before its next turn: that of these is unknown.
    for (const [id, { isPassedBy }] of running) if (isPassedBy) isOver(id)
    const tools = [...new Set(batch.flatMap(({ call }) => call.offered ?? [call.name]))]
    const begin = () =>
      prepare({ provider, model, tools, runs: whose, ...(proposals && { waitsFor: proposals.isOfModel }) })
    try {
      const turn = await begin().catch(async (error: unknown) => {
        if (!(error instanceof CallsWaitingError)) throw error
        // The model may have proposed them through another process.
        const { left, hasSettled } = await findAllElsewhere(batch)
        batch = left
        if (left.length > 0 && !hasSettled) throw error
        return left.length === 0 ? null : begin()
      })
      if (turn === null) return
      if (turn.refusal !== null) throw new Error(turn.refusal.remedy)
      const calls = batch.map(({ call: { id, name, arguments: args } }) => ({ id, name, arguments: args }))
      const verdicts = await turn.propose({ calls, finishReason: 'tool_calls' })
      for (const [at, one] of batch.entries()) decided(one, verdicts[at])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const decided = ({ call, resolve, reject }: Waiting<Call>, verdict: CallVerdict | undefined): void => {
    if (verdict?.callId === call.id) {
      // One that the runtime has given up meanwhile does not run: nothing will be heard of it.
      if (mayRun(verdict) && !isLeft(call)) runs(call)
      resolve(verdict)
    } else reject(new Error('nothing was decided about it'))
  }

  /** Gives the verdict of those that a model has proposed through another process, and the others back. */
  const findAllElsewhere = async (batch: readonly Waiting<Call>[]) => {
    const left: Waiting<Call>[] = []
    let hasSettled = false
    for (const one of batch) {
      // Unknown: it waits like the others.
      const found = await findElsewhere(session, meantBy(one.call), one.call.arguments).catch(() => null)
      hasSettled ||= found?.hasSettled ?? false
      if (found === null || found.call === null) left.push(one)
      else one.resolve(found.call)
    }
    return { left, hasSettled }
  }

  const meantBy = (call: Call) => (toolName: string, callId: string) =>
    proposals?.isMeant(call, toolName, callId) === true

  return {
    judge: (call) =>
      new Promise((resolve, reject) => {
        const proposed = proposals === undefined ? null : findProposed(session, meantBy(call), call.arguments)
        if (proposed !== null) return resolve(proposed)
        const batch = waiting.get(call.agent)
        if (batch !== undefined) return void batch.push({ call, resolve, reject })
        waiting.set(call.agent, [{ call, resolve, reject }])
        void judgeAll(call.agent)
      }),
    isOpen: (callId) => running.has(callId),
    ended(callId) {
      isOver(callId)
      change()
    },
    passBy(isPassed) {
      for (const one of running.values()) if (isPassed(one.call)) one.isPassedBy = true
      change()
    },
  }
}

/** One that people are asked about does not run: it is made again. */
const mayRun = (verdict: CallVerdict): boolean =>
  verdict.verdict === 'allow' || (verdict.verdict === 'ask' && verdict.asks === 'program')

const isLeft = ({ signal }: ShownCall): boolean => signal?.aborted === true

function whenChanged(): { readonly promise: Promise<void>; now(): void } {
  let now = (): void => {}
  const promise = new Promise<void>((resolve) => {
    now = resolve
  })
  return { promise, now: () => now() }
}
