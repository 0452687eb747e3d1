import type { SessionTurn } from '../../session/session-turn.js'
import type { GovernedSession } from '../governed-session.js'
import type { AnswerPart, FinishReason, Generated } from './ai-types.js'
import { turnAnswer } from './neutral-turn.js'

/**
 * Judges the calls of an answer together. Returns those that must not reach the program, with what is said instead: a
 * blocked call that the agent runs stays, since its run gives the remedy.
 */
export async function judgeParts(
  turn: SessionTurn,
  parts: readonly AnswerPart[],
  finishReason: FinishReason | undefined,
  usage: Generated['usage'] | undefined,
  { waiting, runs }: AgentCalls,
): Promise<ReadonlyMap<string, string>> {
  const verdicts = await turn.propose(turnAnswer(parts, finishReason, usage))
  const dropped = new Map<string, string>()
  for (const verdict of verdicts) {
    const { callId, toolName } = verdict
    if (runs(toolName)) {
      if (verdict.verdict === 'allow') waiting.add(callId)
    } else if (verdict.verdict === 'block') dropped.set(callId, verdict.result)
    else if (verdict.verdict === 'ask')
      dropped.set(callId, verdict.asks === 'people' ? verdict.result : notAskedHere(toolName))
  }
  return dropped
}

export const stopped = (reason: FinishReason): FinishReason =>
  typeof reason === 'string' ? 'stop' : { unified: 'stop', raw: reason.raw }

/** What the model shares with the tools of its agent. */
export interface AgentCalls {
  readonly session: GovernedSession
  /** Whether the agent runs a tool of this name here. */
  runs(toolName: string): boolean
  /** Allowed calls that the agent has not started. */
  readonly waiting: Set<string>
  /** Who answers the SDK's approval requests. */
  readonly approver: string
}

const notAskedHere = (tool: string): string => `${tool} needs the approval of a person, who cannot be asked here.`
