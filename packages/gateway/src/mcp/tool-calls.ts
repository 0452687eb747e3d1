import { randomUUID } from 'node:crypto'
import { type BlockReason, LIMITS } from '@countersign/protocol'
import {
  CallsWaitingError,
  type CallVerdict,
  NotExecutedError,
  ReplayUnavailableError,
  type Session,
} from '@countersign/sdk'
import type { RpcResponse } from './message.js'
import { withoutClientPrefix } from './tool-names.js'
import { evidenceOf } from './tool-result.js'

/** Why the gateway does not run a call that was allowed. */
export interface Stop {
  readonly reason: BlockReason
  readonly why: string
}

/** A call of a tool, as the host made it. */
export interface HostCall {
  /** As contracts name the tool. */
  readonly name: string
  readonly arguments: unknown
  /** The server's tools that may be called, as contracts name them. */
  readonly offered: readonly string[]
  /** Null where the gateway runs what is allowed. */
  readonly stopped: Stop | null
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
  readonly session: () => Session<unknown>
  /** Only calls that a model proposed in the session are run. */
  readonly requiresProposal?: boolean
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

/** The ids of calls that no model proposed begin so: no conversation will tell what became of them. */
const OWN_ID = 'mcp_'

/**
 * A call that a model proposed in the session is that call: it was judged, and runs under its id. Others that arrive
 * together are one turn: they are judged together, so that they cannot pass a limit side by side, and run side by side.
 * Later ones wait for their outcomes, which decide about what comes next.
 */
export function createToolCalls(options: ToolCallsOptions): ToolCalls {
  let waiting: Waiting[] = []
  let isBusy = false
  const listeners = new Set<() => void>()
  const tellTurnEnd = (): void => {
    for (const listener of listeners) listener()
  }

  const work = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    while (waiting.length > 0) {
      await new Promise((gathered) => setTimeout(gathered, GATHER_MS))
      const batch = waiting.slice(0, LIMITS.callsPerProposal)
      waiting = waiting.slice(batch.length)
      // These were cancelled before anything happened.
      const wanted = batch.filter(({ call }) => !call.signal.aborted)
      for (const one of batch) if (one.call.signal.aborted) one.end(refused(CANCELLED))
      if (wanted.length > 0) await runTurn({ ...options, session: options.session(), tellTurnEnd }, wanted)
      tellTurnEnd()
    }
    isBusy = false
  }

  return {
    async call(call) {
      const session = options.session()
      const proposed = session.proposedCall(meantBy(session, call), call.arguments)
      if (proposed !== null) {
        const end = await runCall(session, { id: proposed.callId, call })
        tellTurnEnd()
        return end
      }
      return new Promise((end) => {
        waiting.push({ id: `${OWN_ID}${randomUUID()}`, call, end })
        void work()
      })
    },
    onTurnEnd(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** As for a tool of the SDK that is run for no allowed call. */
const NOT_PROPOSED: Stop = {
  reason: 'execution_constraint_violated',
  why: 'no model has proposed this call in the session, and the gateway runs only what a model proposed: let the model call it',
}

const CANCELLED = 'the call was cancelled before it ran'

const refused = (text: string): CallEnd => ({ ran: false, text })

/**
 * Whether the model's call of a tool, under this id, may be the one that the host makes. With the prefix of a client it
 * was judged under another name: where that has no contract and the tool has one, it was not judged by what counts.
 */
const meantBy =
  (session: Session<unknown>, { name }: HostCall) =>
  (toolName: string, callId: string): boolean => {
    if (!isOfModel(callId) || withoutClientPrefix(toolName) !== name) return false
    return toolName === name || session.hasContract(toolName) || !session.hasContract(name)
  }

const isOfModel = (callId: string): boolean => !callId.startsWith(OWN_ID)

interface TurnParts extends Pick<ToolCallsOptions, 'requiresProposal'> {
  readonly session: Session<unknown>
  tellTurnEnd(): void
}

async function runTurn(parts: TurnParts, given: readonly Waiting[]): Promise<void> {
  const { session, requiresProposal } = parts
  let batch = given
  let verdicts: readonly CallVerdict[]
  try {
    const tools = [...new Set(batch.flatMap(({ call }) => call.offered))]
    const begin = () => session.prepare({ provider: 'mcp', model: MODEL, tools, waitsFor: isOfModel })
    const turn = await begin().catch(async (error: unknown) => {
      if (!(error instanceof CallsWaitingError)) throw error
      // The model may have proposed them through another gateway.
      const { left, hasSettled } = await runProposedElsewhere(parts, batch)
      batch = left
      if (left.length > 0 && !hasSettled) throw error
      return left.length === 0 ? null : begin()
    })
    if (turn === null) return
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
      const { id, call, end } = one
      const own = requiresProposal ? { ...call, stopped: call.stopped ?? NOT_PROPOSED } : call
      const isJudged = verdicts.some(({ callId }) => callId === id)
      end(isJudged ? await runCall(session, { id, call: own }) : refused(notJudged(call.name, null)))
    }),
  )
}

/** Lets those run that a model has proposed through another process, and gives the others back. */
async function runProposedElsewhere(
  { session, tellTurnEnd }: TurnParts,
  batch: readonly Waiting[],
): Promise<{ left: readonly Waiting[]; hasSettled: boolean }> {
  const left: Waiting[] = []
  let hasSettled = false
  for (const one of batch) {
    const { call } = one
    // Unknown: it waits, like the others.
    const found = await session.proposedElsewhere(meantBy(session, call), call.arguments).catch(() => null)
    hasSettled ||= found?.hasSettled ?? false
    if (found === null || found.call === null) left.push(one)
    else void runCall(session, { id: found.call.callId, call }).then(one.end).then(tellTurnEnd)
  }
  return { left, hasSettled }
}

async function runCall(session: Session<unknown>, { id, call }: Pick<Waiting, 'id' | 'call'>): Promise<CallEnd> {
  let response: RpcResponse | null = null
  const { stopped } = call
  const run = async (judged: unknown, { signal }: { readonly signal: AbortSignal }) => {
    if (stopped !== null) throw new NotExecutedError(stopped.why, { reason: stopped.reason })
    response = await call.run(judged, AbortSignal.any([signal, call.signal]))
    return evidenceOf(response)
  }
  try {
    const done = await session.execute(id, { run, args: call.arguments, exclusive: isOfModel(id) })
    if (!done.ran) return refused(done.result)
    return answered(response, call.name)
  } catch (error) {
    if (stopped !== null && response === null) return refused(blockedText(call.name, stopped))
    if (error instanceof ReplayUnavailableError) return refused(notJudged(call.name, error))
    return response === null
      ? refused(`${call.name} did not finish: ${messageOf(error)}`)
      : answered(response, call.name)
  }
}

const blockedText = (name: string, { reason, why }: Stop): string =>
  `${JSON.stringify(name)} was blocked (${reason}). ${why}.`

const answered = (response: RpcResponse | null, name: string): CallEnd =>
  response === null ? refused(`${name} gave no answer`) : { ran: true, response }

const notJudged = (name: string, error: unknown): string =>
  `${name} did not run: ${error === null ? 'nothing was decided about it' : messageOf(error)}`

/** A model reads it. */
function messageOf(error: unknown): string {
  if (error instanceof ReplayUnavailableError) return error.remedy
  return error instanceof Error ? error.message : String(error)
}
