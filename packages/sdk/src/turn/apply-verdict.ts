import { withoutOddShapes } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import { ReplayContractError, ReplayParkedError } from '../base/errors.js'
import { isObject, type JsonObject, withHiddenPropertiesOf } from '../base/json-object.js'
import type { ApiResult } from '../clients/api-promise.js'
import { streamOf } from '../clients/client-stream.js'
import type { Provider, SaidInstead } from '../providers/provider.js'
import { NOT_RUN, type SeenAnswer } from '../session/core/continuations.js'
import { enforcementOf, explain, explainToModel, type GateResult, passGate } from '../session/core/gate.js'
import type { SessionContext } from '../session/core/session-context.js'
import { type Answer, type Came, faultOf } from './read-answer.js'

/** What the program gets of an answer, or that the model is asked again. */
export type Shown =
  | { action: 'release'; marked?: readonly Decision[] }
  /** Only the calls of these ids stay, with the text said beside them. Those in `marked` are blocked all the same. */
  | {
      action: 'keep'
      callIds: ReadonlySet<string>
      blocked?: readonly Decision[]
      marked?: readonly Decision[]
      text?: string
    }
  /** No call stays, and this is said. */
  | { action: 'answer'; text: string; blocked?: readonly Decision[] }
  /** What is held of the answer is thrown away, and the model is asked again. Only with `mayRetry`. */
  | { action: 'retry'; request: JsonObject }

/** The calls that are blocked in an answer, whether or not they still stand in it. */
export function blockedIn(shown: Exclude<Shown, { action: 'retry' }>): readonly Decision[] {
  return (shown.action === 'release' ? shown.marked : shown.blocked) ?? []
}

/** What the program gets of an answer that came whole. */
export function applyVerdict(provider: Provider, data: unknown, shown: Exclude<Shown, { action: 'retry' }>): unknown {
  const response = isObject(data) ? data : {}
  switch (shown.action) {
    case 'release':
      return isMarked(shown) ? withMark(response, shown.marked) : data
    case 'keep': {
      const kept = provider.keepCalls(response, shown.callIds, shown.text)
      return isMarked(shown) ? withMark(kept, shown.marked) : kept
    }
    case 'answer':
      return provider.withTextOnly(knownShapes(provider, response), shown.text)
  }
}

/** What is blocked is gone: also what only another reader would take for a call. */
function knownShapes({ format }: Provider, response: JsonObject): JsonObject {
  const { value } = withoutOddShapes(response, format, 'whole')
  return value === response ? response : withHiddenPropertiesOf(response, value)
}

type Marked = Shown & { readonly marked: readonly Decision[] }

export const isMarked = (shown: Shown): shown is Marked =>
  'marked' in shown && shown.marked !== undefined && shown.marked.length > 0

/** Which calls of an answer are blocked, beside it: what stands in its messages is sent back to the provider. */
export const markOf = (marked: readonly Decision[]): JsonObject => ({
  blocked: marked.map((call) => ({
    call_id: call.call_id,
    tool_name: call.tool_name,
    reason: call.reason,
    remedy: explainToModel([call]),
  })),
})

const withMark = (response: JsonObject, marked: readonly Decision[]): JsonObject =>
  withHiddenPropertiesOf(response, { ...response, countersign: markOf(marked) })

/** The model was not asked, and this is said in its place. */
export function answerInstead(provider: Provider, request: JsonObject, said: SaidInstead): ApiResult {
  if (request.stream !== true) return { data: provider.textResponse(request, said), call: null }
  const events = provider.textEvents(request, said)
  return { data: streamOf(() => replay(events)), call: null }
}

async function* replay(events: readonly unknown[]): AsyncGenerator<unknown> {
  yield* events
}

/** `refuse`: the program sees the error, unless the model is asked again. */
export type Passed =
  | Exclude<GateResult, { action: 'refuse' }>
  | { readonly action: 'refuse'; readonly error: ReplayContractError }

export function passThroughGate(session: SessionContext, answer: Answer, decisions: readonly Decision[]): Passed {
  const { gate, tools } = session.settings
  const { trace, opened } = answer.asked
  const enforcement = enforcementOf(decisions, gate)
  const isReadable = gate === 'answer' && isReadInOneWay(answer)
  const result = passGate(gate, decisions, ({ tool_name }) => isReadable && tools?.has(tool_name) === true)
  if (enforcement.blocked.length > 0) {
    session.notes.blocked(enforcement)
    const stopped = result.action === 'refuse' ? answer.read.calls.map(({ id }) => id) : idsOf(enforcement.blocked)
    opened?.refused(stopped)
  }
  trace.add('gate', result.action === 'refuse' ? 'block' : 'pass', { reason: result.action })
  if (result.action !== 'refuse') return result
  const said = explain(enforcement.blocked)
  const parked = session.questions.parked(enforcement.blocked)
  if (parked.length === 0) return { action: 'refuse', error: new ReplayContractError(said, enforcement) }
  return { action: 'refuse', error: new ReplayParkedError(said, enforcement, parked) }
}

const idsOf = (decisions: readonly Decision[]): string[] => decisions.map(({ call_id }) => call_id)

/** A reader of the answer finds the calls that were judged, each under an id of its own. */
function isReadInOneWay(answer: Answer): boolean {
  const { calls, problems } = answer.read
  const ids = new Set(calls.map(({ id }) => id))
  return faultOf(answer) === null && problems.length === 0 && ids.size === calls.length && !ids.has('')
}

/** What of an answer the program gets, and what the provider stores beyond that. */
export function seenAnswer({ response, complete }: Came, passed: Passed): SeenAnswer {
  switch (passed.action) {
    case 'release':
      return { response, complete, shownIds: null, blocked: [] }
    case 'keep':
      return { response, complete, shownIds: passed.callIds, blocked: passed.blocked }
    case 'answer':
      return { response, complete, shownIds: NONE, blocked: passed.blocked }
    case 'refuse':
      return { response, complete, shownIds: NONE, blocked: passed.error.decision.blocked }
  }
}

const NONE: ReadonlySet<string> = new Set()

/** The model sees its own calls, each answered with why it was not run; or, where that cannot be said, only why. */
export function requestAgain({ asked, came }: Answer, blocked: readonly Decision[]): JsonObject {
  const { provider, request } = asked
  const remedies = new Map(blocked.map((decision) => [decision.call_id, explainToModel([decision])]))
  const whyNotRun = (callId: string): string => remedies.get(callId) ?? NOT_RUN
  const isWhole = came.complete && came.contradiction === null && !remedies.has('')
  const answered = isWhole ? provider.withRefusedAnswer(request, came.response, whyNotRun) : null
  return answered ?? provider.withAppendedText(request, explainToModel(blocked))
}
