import type { SessionQuestion } from '@countersign/protocol'
import type { ProposalVerdict } from '../authority/authority.js'
import { deepFreeze } from '../base/deep-freeze.js'
import { CallsWaitingError } from '../base/errors.js'
import type { JsonObject } from '../base/json-object.js'
import { isAsked } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { proposeOnce } from './propose.js'
import type { Answer } from './read-answer.js'
import type { Asked } from './read-request.js'

export interface Judged {
  readonly answer: Answer
  readonly verdict: ProposalVerdict
}

interface Redeeming {
  /** How long the answer may wait for people. */
  readonly seconds: number
  /** Off the queue: other turns of the session go on while this one waits. */
  leave(): void
  /** Has the request of the answer prepared once more, in its turn. */
  prepare(): Promise<Asked>
}

/**
 * Waits for what people are asked about an answer, and proposes all of it again when they have decided. Where a part of
 * the answer is registered that is left to later: the session takes no other turn before that part has its outcome.
 */
export async function redeem(session: SessionContext, judged: Judged, turn: Redeeming): Promise<Judged> {
  const { decisions } = judged.verdict
  const ids = new Map(
    decisions
      .filter(isAsked)
      .flatMap(({ call_id, question }) => (question === undefined ? [] : [[call_id, question.question_id] as const])),
  )
  if (ids.size === 0) return judged
  const isRegistered = decisions.some(({ pending_call_id }) => pending_call_id !== null)
  const seconds = isRegistered ? 0 : turn.seconds
  if (seconds > 0) turn.leave()
  let questions: readonly SessionQuestion[]
  try {
    questions = await session.questions.whenDecided(new Set(ids.values()), seconds)
  } catch {
    // The question stands all the same.
    return judged
  }
  session.assertUsable()
  const own = questions.filter(({ question_id }) => [...ids.values()].includes(question_id))
  if (isRegistered || own.length < ids.size || own.some(({ state }) => state === 'waiting')) return judged
  if (judged.answer.asked.runs === 'own' && own.some(({ edited_hash }) => edited_hash !== null)) return judged
  turn.leave()
  try {
    const prepared = await turn.prepare()
    if (prepared.prepared === null) return judged
    const asked = { ...judged.answer.asked, prepared: prepared.prepared }
    const again = answerAgain({ ...judged.answer, asked }, ids, own)
    return { answer: again, verdict: await proposeOnce(session, again, prepared.prepared, session.settings.gate) }
  } catch (error) {
    // Calls of another turn come first: these wait until they are resumed.
    if (error instanceof CallsWaitingError) return judged
    throw error
  }
}

/** The same calls, with what a person has set in place of the model's arguments. */
function answerAgain(
  answer: Answer,
  redeems: ReadonlyMap<string, string>,
  questions: readonly SessionQuestion[],
): Answer {
  const edits = new Map(
    questions.flatMap(({ question_id, edited_hash, arguments: args }) =>
      edited_hash === null || args === null ? [] : [[question_id, args] as const],
    ),
  )
  const changed = new Map<string, JsonObject | null>()
  const calls = answer.read.calls.map((call) => {
    const edited = edits.get(redeems.get(call.id) ?? '')
    if (edited === undefined) return call
    changed.set(call.id, call.arguments)
    return { ...call, arguments: edited, argumentsText: JSON.stringify(edited) }
  })
  return { ...answer, read: deepFreeze({ ...answer.read, calls }), again: { redeems, changed } }
}
