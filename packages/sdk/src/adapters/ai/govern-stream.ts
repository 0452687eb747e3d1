import type { SessionTurn } from '../../session/session-turn.js'
import type { AnswerPart } from './ai-types.js'
import { type AgentCalls, judgeParts, stopped } from './judge-parts.js'
import { isClientCall } from './neutral-turn.js'

/** A stream in which text flows, and from the first call on everything waits until all calls are judged. */
export function governStream(
  turn: SessionTurn,
  source: ReadableStream<AnswerPart>,
  agent: AgentCalls,
): ReadableStream<AnswerPart> {
  const reader = source.getReader()
  const seen: AnswerPart[] = []
  let held: AnswerPart[] | null = null

  return new ReadableStream<AnswerPart>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) {
            // Without its end it is unknown whether a call is whole: none is shown.
            await turn.abandon()
            return controller.close()
          }
          if (value.type === 'text-delta' || value.type === 'tool-call') seen.push(value)
          if (value.type === 'finish') {
            for (const part of await judged(turn, seen, held ?? [], value, agent)) controller.enqueue(part)
            held = null
            return
          }
          if (held === null && value.type.startsWith('tool-')) held = []
          if (held === null) return controller.enqueue(value)
          held.push(value)
        }
      } catch (error) {
        await turn.abandon(error)
        throw error
      }
    },
    async cancel(reason) {
      await turn.abandon(reason)
      await reader.cancel(reason)
    },
  })
}

async function judged(
  turn: SessionTurn,
  seen: readonly AnswerPart[],
  held: readonly AnswerPart[],
  finish: AnswerPart,
  agent: AgentCalls,
): Promise<AnswerPart[]> {
  const { finishReason, usage } = finish
  const dropped = await judgeParts(turn, seen, finishReason, usage, agent)
  if (dropped.size === 0) return [...held, finish]
  const kept = held.filter(({ toolCallId, id }) => !dropped.has(toolCallId ?? id ?? ''))
  const said = [...dropped].flatMap(([callId, delta]): AnswerPart[] => {
    const id = `countersign-${callId}`
    return [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta },
      { type: 'text-end', id },
    ]
  })
  const isOver = finishReason !== undefined && !kept.some(isClientCall)
  return [...kept, ...said, isOver ? { ...finish, finishReason: stopped(finishReason) } : finish]
}
