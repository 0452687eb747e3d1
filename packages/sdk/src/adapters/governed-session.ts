import { ReplayConfigError } from '../base/errors.js'
import type { Session } from '../session/session.js'
import type { SessionTurn, TurnInput } from '../session/session-turn.js'

/** What an adapter needs of a session. */
export type GovernedSession = Pick<
  Session<unknown>,
  | 'sessionId'
  | 'prepare'
  | 'batches'
  | 'verdictOf'
  | 'invoke'
  | 'settle'
  | 'answer'
  | 'addTools'
  | 'questions'
  | 'questionOf'
  | 'withdraw'
  | 'proposeAgain'
>

/** The time that the contract gives the tool was up: the tool has not said how it ended. */
export const isTimeUp = (error: unknown): error is DOMException =>
  error instanceof DOMException && error.name === 'TimeoutError'

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
