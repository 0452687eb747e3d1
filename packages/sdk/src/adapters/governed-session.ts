import { ReplayConfigError } from '../base/errors.js'
import type { ToolContext } from '../options/replay-options.js'
import type { Session } from '../session/session.js'
import type { SessionTurn, TurnInput } from '../session/session-turn.js'

/** What an adapter needs of a session. */
export type GovernedSession = Pick<
  Session<unknown>,
  'sessionId' | 'prepare' | 'verdictOf' | 'execute' | 'settle' | 'answer' | 'addTools'
>

/** A call that a framework wants to run. */
export interface FrameworkCall {
  readonly callId: string
  /** Of the tool that `run` runs. */
  readonly toolName: string
  /** As the framework would pass them on. */
  readonly args: unknown
  /** The framework's own run of the tool, with the arguments that were judged. */
  run(judged: unknown, context: Pick<ToolContext, 'signal'>): unknown
  /** Who approved the call, where the framework has asked a person; null where it has not. */
  readonly approvedBy: string | null
  /** Aborted where the framework gives the call up; undefined where it never does. */
  readonly signal?: AbortSignal | undefined
}

/** What came of a call: the tool's result, or what the model is told in its place. */
export type FrameworkResult =
  | { readonly ran: true; readonly result: unknown }
  | { readonly ran: false; readonly result: string }

/** Runs a call of a framework for an allowed call of the session, once, and leaves a receipt. */
export async function runFrameworkCall(session: GovernedSession, call: FrameworkCall): Promise<FrameworkResult> {
  const { callId, toolName, args, approvedBy } = call
  const verdict = session.verdictOf(callId)
  if (verdict === null) return { ran: false, result: notProposed(toolName) }
  if (verdict.verdict === 'ask' && approvedBy !== null && verdict.toolName === toolName) {
    await session.answer(verdict.id, { decision: 'approve', decided_by: approvedBy })
  }
  return session.execute(callId, {
    args,
    tool: toolName,
    executor: (judged, context) => {
      const running = call.run(judged, context)
      return call.signal === undefined ? running : untilGivenUp(running, call.signal)
    },
  })
}

/** So long a tool may still say how it ended after its framework gave it up. */
const GIVEN_UP_GRACE_MS = 250

/** The framework goes on without a tool that it gave up, and the next turn must not wait for that tool for ever. */
function untilGivenUp(running: unknown, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const giveUp = (): void => {
      const error = new DOMException('the framework gave the call up; its outcome is unknown', 'AbortError')
      timer = setTimeout(() => reject(error), GIVEN_UP_GRACE_MS)
    }
    const ended = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    Promise.resolve(running).then(resolve, reject).finally(ended)
  })
}

/** The time that the contract gives the tool was up: the tool has not said how it ended. */
export const isTimeUp = (error: unknown): error is DOMException =>
  error instanceof DOMException && error.name === 'TimeoutError'

/** Code of the program, or of the model, called the tool by itself. */
const notProposed = (toolName: string): string =>
  `${toolName} did not run: no answer of the model that this session judged holds the call.`

/** Marks the tools that an adapter runs: only its run is evidence that they ran. */
export function addFrameworkTools(session: GovernedSession, names: Iterable<string>): void {
  session.addTools(Object.fromEntries([...names].map((name) => [name, runByAdapter])))
}

function runByAdapter(): never {
  throw new ReplayConfigError('this tool is run by its framework: let the agent run it, not session.run', null)
}

/** Asks a model in a turn of the session. */
export type AskInTurn = <Result>(input: TurnInput, ask: (turn: SessionTurn) => PromiseLike<Result>) => Promise<Result>

/** The turns of an agent. The framework may try a failed model call again: with the same key that is the same turn. */
export function createAgentTurns(session: GovernedSession): AskInTurn {
  let failed: { readonly key: unknown; readonly turn: SessionTurn } | null = null
  return async (input, ask) => {
    // It was not tried again, and would keep the next turn waiting.
    if (failed !== null && failed.key !== input.key) await failed.turn.abandon()
    failed = null
    const turn = await session.prepare(input)
    try {
      return await ask(turn)
    } catch (error) {
      if (turn.refusal === null) failed = { key: input.key, turn }
      throw error
    }
  }
}
