import { randomUUID } from 'node:crypto'
import { LIMITS } from '@countersign/protocol'
import type { CallVerdict, Session } from '@countersign/sdk'
import type { RpcResponse } from './message.js'
import { evidenceOf } from './tool-result.js'

/** What governing calls needs of a session. */
export type CallingSession = Pick<Session<unknown>, 'prepare' | 'execute'>

/** A call of a tool, as the host made it. */
export interface HostCall {
  /** As contracts name the tool. */
  readonly name: string
  readonly arguments: unknown
  /** The server's tools that may be called, as contracts name them. */
  readonly offered: readonly string[]
  /** Aborted when the host no longer wants the answer. */
  readonly signal: AbortSignal
  /** Sends the call to the server, with the arguments that were judged. Rejects when it gets no answer. */
  run(judged: unknown, signal: AbortSignal): Promise<RpcResponse>
}

/** The server's answer, or what the model is told in its place. */
export type CallEnd =
  | { readonly ran: true; readonly response: RpcResponse }
  | { readonly ran: false; readonly text: string }

/** The calls of one session, of all its hosts and servers, judged and run. */
export interface ToolCalls {
  /** Never rejects: what cannot be judged is refused. */
  call(call: HostCall): Promise<CallEnd>
  /** Calls the listener whenever a turn has ended and its outcome is known to the session. Returns how to stop that. */
  onTurnEnd(listener: () => void): () => void
}

export interface ToolCallsOptions {
  readonly session: () => CallingSession
}

/** Contracts and patterns that name a model see this one. */
const MODEL = 'mcp'

/** Hosts send the calls of one answer of the model at about the same time. */
const GATHER_MS = 2

interface Waiting {
  readonly id: string
  readonly call: HostCall
  end(end: CallEnd): void
}

/**
 * Calls that arrive together are one turn: they are judged together, so that they cannot pass a limit side by side, and
 * run side by side. Later ones wait for their outcomes, which decide about what comes next.
 */
export function createToolCalls(options: ToolCallsOptions): ToolCalls {
  let waiting: Waiting[] = []
  let isBusy = false
  const listeners = new Set<() => void>()

  const work = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    while (waiting.length > 0) {
      await new Promise((gathered) => setTimeout(gathered, GATHER_MS))
      const batch = waiting.slice(0, LIMITS.callsPerProposal)
      waiting = waiting.slice(batch.length)
      // Nobody wants these any more, and nothing has happened yet.
      const wanted = batch.filter(({ call }) => !call.signal.aborted)
      for (const one of batch) if (one.call.signal.aborted) one.end(refused(CANCELLED))
      if (wanted.length > 0) await runTurn(options.session(), wanted)
      for (const listener of listeners) listener()
    }
    isBusy = false
  }

  return {
    call: (call) =>
      new Promise((end) => {
        waiting.push({ id: `mcp_${randomUUID()}`, call, end })
        void work()
      }),
    onTurnEnd(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

const CANCELLED = 'the call was cancelled before it ran'

const refused = (text: string): CallEnd => ({ ran: false, text })

async function runTurn(session: CallingSession, batch: readonly Waiting[]): Promise<void> {
  let verdicts: readonly CallVerdict[]
  try {
    const tools = [...new Set(batch.flatMap(({ call }) => call.offered))]
    const turn = await session.prepare({ provider: 'mcp', model: MODEL, tools })
    if (turn.refusal !== null) {
      for (const { end } of batch) end(refused(turn.refusal.remedy))
      return
    }
    const calls = batch.map(({ id, call }) => ({ id, name: call.name, arguments: call.arguments }))
    verdicts = await turn.propose({ calls, finishReason: 'tool_calls' })
  } catch (error) {
    for (const { call, end } of batch) end(refused(notJudged(call.name, error)))
    return
  }
  await Promise.all(
    batch.map(async (one) => {
      const verdict = verdicts.find(({ callId }) => callId === one.id)
      one.end(verdict === undefined ? refused(notJudged(one.call.name, null)) : await runCall(session, one))
    }),
  )
}

async function runCall(session: CallingSession, { id, call }: Pick<Waiting, 'id' | 'call'>): Promise<CallEnd> {
  let response: RpcResponse | null = null
  const executor = async (judged: unknown, { signal }: { readonly signal: AbortSignal }) => {
    response = await call.run(judged, AbortSignal.any([signal, call.signal]))
    return evidenceOf(response)
  }
  try {
    const run = await session.execute(id, { executor })
    if (!run.ran) return refused(run.result)
    return answered(response, call.name)
  } catch (error) {
    return response === null
      ? refused(`${call.name} did not finish: ${messageOf(error)}`)
      : answered(response, call.name)
  }
}

const answered = (response: RpcResponse | null, name: string): CallEnd =>
  response === null ? refused(`${name} gave no answer`) : { ran: true, response }

const notJudged = (name: string, error: unknown): string =>
  `${name} did not run: ${error === null ? 'nothing was decided about it' : messageOf(error)}`

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
