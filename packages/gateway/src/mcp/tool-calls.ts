import { randomUUID } from 'node:crypto'
import type { BlockReason } from '@countersign/protocol'
import {
  type AskVerdict,
  type CallBatches,
  NotExecutedError,
  ReplayUnavailableError,
  type Session,
  type ShownCall,
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
  | { readonly ran: false; readonly text: string; readonly question?: PeopleQuestion }

/** What people are asked about a call that has not run. */
export interface PeopleQuestion {
  readonly id: string
  readonly url: string | null
  readonly expiresAt: string
  /** The person for whom the host works may answer it. */
  readonly confirms: boolean
}

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

/** The ids of calls that no model proposed begin so: no conversation will tell what became of them. */
const OWN_ID = 'mcp_'

interface ShownHostCall extends ShownCall {
  /** As the host made it. */
  readonly host: HostCall
}

/**
 * A call that a model proposed in the session is that call: it was judged, and runs under its id. Others that arrive
 * together are one turn: they are judged together, so that they cannot pass a limit side by side, and run side by side.
 * Later ones wait for their outcomes, which decide about what comes next.
 */
export function createToolCalls({ session: open, requiresProposal = false }: ToolCallsOptions): ToolCalls {
  const listeners = new Set<() => void>()
  let current: { readonly session: Session<unknown>; readonly batches: CallBatches<ShownHostCall> } | null = null
  let underWay = 0

  /** The one of the calls that are under way: asking for it anew would end it where it has failed. */
  const openBatches = (): NonNullable<typeof current> => {
    const session = underWay > 0 && current !== null ? current.session : open()
    if (session === current?.session) return current
    const isMeant = meantIn(session)
    const batches = session.batches<ShownHostCall>({
      ...{ provider: 'mcp', model: MODEL, gatherMs: GATHER_MS, runs: 'judged' },
      proposals: { isMeant: ({ host }, tool, callId) => isMeant(host, tool, callId), isOfModel },
    })
    current = { session, batches }
    return current
  }

  return {
    async call(host) {
      const { session, batches } = openBatches()
      underWay++
      const { name, arguments: args, offered, signal } = host
      const id = `${OWN_ID}${randomUUID()}`
      try {
        const verdict = await batches.judge({ id, name, arguments: args, offered, agent: '', signal, host })
        if (verdict.verdict === 'ask' && verdict.asks === 'people') return waits(verdict)
        const { callId } = verdict
        const stopped = host.stopped ?? (requiresProposal && callId === id ? NOT_PROPOSED : null)
        return await runCall(session, callId, { ...host, stopped })
      } catch (error) {
        return notRun(name, error)
      } finally {
        underWay--
        batches.ended(id)
        for (const listener of listeners) listener()
      }
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

function waits({ id, url, confirms, result, decision }: AskVerdict): CallEnd {
  const expiresAt = decision?.question?.expires_at ?? ''
  return { ran: false, text: `${result} ${AGAIN}`, question: { id, url, confirms, expiresAt } }
}

const AGAIN = 'Once a person has answered, call it again with the same arguments.'

const refused = (text: string): CallEnd => ({ ran: false, text })

/**
 * Whether the model's call of a tool, under this id, may be the one that the host makes. With the prefix of a client it
 * was judged under another name: where that has no contract and the tool has one, it was not judged by what counts.
 */
const meantIn =
  (session: Session<unknown>) =>
  ({ name }: HostCall, toolName: string, callId: string): boolean => {
    if (!isOfModel(callId) || withoutClientPrefix(toolName) !== name) return false
    return toolName === name || session.hasContract(toolName) || !session.hasContract(name)
  }

const isOfModel = (callId: string): boolean => !callId.startsWith(OWN_ID)

async function runCall(session: Session<unknown>, callId: string, call: HostCall): Promise<CallEnd> {
  let response: RpcResponse | null = null
  const { stopped } = call
  const run = async (judged: unknown, { signal }: { readonly signal: AbortSignal }) => {
    if (stopped !== null) throw new NotExecutedError(stopped.why, { reason: stopped.reason })
    response = await call.run(judged, AbortSignal.any([signal, call.signal]))
    return evidenceOf(response)
  }
  try {
    const done = await session.invoke({ callId, run, args: call.arguments, exclusive: isOfModel(callId) })
    if (!done.ran) return refused(done.result)
    return withNote(answered(response, call.name), done.note)
  } catch (error) {
    if (stopped !== null && response === null) return refused(blockedText(call.name, stopped))
    if (error instanceof ReplayUnavailableError) return notRun(call.name, error)
    return response === null
      ? refused(`${call.name} did not finish: ${messageOf(error)}`)
      : answered(response, call.name)
  }
}

const blockedText = (name: string, { reason, why }: Stop): string =>
  `${JSON.stringify(name)} was blocked (${reason}). ${why}.`

const answered = (response: RpcResponse | null, name: string): CallEnd =>
  response === null ? refused(`${name} gave no answer`) : { ran: true, response }

const notRun = (name: string, error: unknown): CallEnd => refused(`${name} did not run: ${messageOf(error)}`)

/** The model reads what a person changed beside the result. */
function withNote(end: CallEnd, note: string | null): CallEnd {
  if (note === null || !end.ran || end.response.result === null) return end
  const { result } = end.response
  const content = Array.isArray(result.content) ? result.content : []
  const noted = { ...result, content: [...content, { type: 'text', text: note }] }
  return { ran: true, response: { ...end.response, result: noted } }
}

/** A model reads it. */
function messageOf(error: unknown): string {
  if (error instanceof ReplayUnavailableError) return error.remedy
  return error instanceof Error ? error.message : String(error)
}
