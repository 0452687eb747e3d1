import { type ReadResponse, readResponse } from '@countersign/engine'
import { type Decision, type Flows, idSchema, LIMITS } from '@countersign/protocol'
import type { DecidedBy } from '../authority/authority.js'
import { deepFreeze } from '../base/deep-freeze.js'
import { isObject, type JsonObject } from '../base/json-object.js'
import { responseIdOf } from '../clients/conversations.js'
import type { Provider } from '../providers/provider.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { Asked } from './read-request.js'

/** What came of a request, as the model's client gave it. */
export interface Came {
  readonly response: JsonObject
  /** False when a stream ended before the event that ends a response: its calls may be cut short. */
  readonly complete: boolean
  /** What a stream says in two ways about its calls; null when it does not. */
  readonly contradiction: string | null
  /** What of a stream looks like a call and was not read as one. */
  readonly oddShape: string | null
}

export const whole = (data: unknown): Came => ({
  response: isObject(data) ? data : {},
  complete: true,
  contradiction: null,
  oddShape: null,
})

/** An answer on its way through a judgement. */
export interface Answer {
  readonly asked: Asked
  readonly came: Came
  readonly read: ReadResponse
  readonly flows: Flows | undefined
  readonly latencyMs: number
  /** Null where it was not proposed before. */
  readonly again: ProposedAgain | null
}

/** An answer that is proposed once more, now that people have decided. */
export interface ProposedAgain {
  /** Questions whose answers its calls use, by call. */
  readonly redeems: ReadonlyMap<string, string>
  /** As the model wrote them, the arguments of calls that a person changed, by call. */
  readonly changed: ReadonlyMap<string, JsonObject | null>
}

export function readAnswer(session: SessionContext, asked: Asked, came: Came): Answer {
  const latencyMs = performance.now() - asked.sentAtMs
  // The calls are handed out in verdicts and callbacks, and run later: nothing may change them in between.
  const read = deepFreeze(readResponse(came.response))
  const flows = asked.opened?.answered(read, responseIdOf(asked.provider, came.response))
  asked.trace.add('llm_call', 'pass')
  session.settings.shared?.onAnswer(findableIds(asked.provider, came, read))
  return { asked, came, read, flows, latencyMs, again: null }
}

/** What a later request of the conversation may name: its calls, and the response that it continues. */
export function findableIds(provider: Provider, { response }: Came, { calls }: ReadResponse): string[] {
  const ids = [...calls.map(({ id }) => id), responseIdOf(provider, response) ?? '']
  return [...new Set(ids.filter((id) => idSchema.safeParse(id).success))].slice(0, LIMITS.findableIds)
}

export function capture(
  { captures }: SessionContext,
  { asked, read, flows, latencyMs }: Answer,
  decisions: readonly Decision[],
  by: DecidedBy | null,
): void {
  const { provider, view, opened, stance, sent: request } = asked
  if (opened === null || flows === undefined) return
  captures.take({ provider, view, request, latencyMs, response: read, opened, flows, stance, decisions, by })
}

/** Why none of an answer's calls can be judged, with what to do. */
export interface Fault {
  readonly detail: string
  readonly remedy: string
}

const CUT_SHORT: Fault = {
  detail: 'the stream was cut short',
  remedy: 'The stream ended before the answer was complete. Ask again.',
}

/** A stream that broke off inside its calls, or of which a program could read other calls than those in the response. */
export function faultOf({ came, read }: Answer): Fault | null {
  const { complete, contradiction, oddShape } = came
  if (oddShape !== null) return { detail: oddShape, remedy: `Answer again in the right form: ${oddShape}.` }
  if (contradiction !== null) {
    return { detail: contradiction, remedy: `The stream contradicts itself: ${contradiction}. Ask again.` }
  }
  return complete || read.calls.length === 0 ? null : CUT_SHORT
}
