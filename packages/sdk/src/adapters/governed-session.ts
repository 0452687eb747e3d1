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
  readonly toolName: string
  /** As the framework would pass them on. */
  readonly args: unknown
  /** The framework's own run of the tool, with the arguments that were judged. */
  run(judged: unknown, context: Pick<ToolContext, 'signal'>): unknown
  /** Who approved the call, where the framework has asked a person; null where it has not. */
  readonly approvedBy: string | null
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
  if (verdict.verdict === 'ask' && approvedBy !== null) {
    await session.answer(verdict.id, { decision: 'approve', decided_by: approvedBy })
  }
  return session.execute(callId, { args, executor: (judged, context) => call.run(judged, context) })
}

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
