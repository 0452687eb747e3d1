import type { BlockReason, Decision } from '@countersign/protocol'
import type { PreparedTurn } from '../authority/authority.js'
import type { JsonObject } from '../base/json-object.js'
import type { OpenRequest } from '../clients/conversations.js'
import type { RequestView, SaidInstead } from '../providers/provider.js'
import type { Trace } from '../session/core/trace.js'

/** What decides about one governed call of a model. One object serves one call, with its retries. */
export interface TurnHooks {
  /** Before the model is asked, each time. Throwing means that it is not asked. */
  prepare(request: JsonObject): Promise<Prepared>
  /** Once per answer, before the program sees a part of any tool call. Throwing is what the program then sees. */
  judge(answer: ModelAnswer): Promise<TurnResult>
  /** There is nothing to judge: the model call failed, or the program left the stream. Must not throw. */
  abandon(answer: AbandonedAnswer): Promise<void>
  /** The model may be asked again after an answer: then its streams are joined. Known once a request is prepared. */
  mayRetry(): boolean
  /** Nothing of the prepared request is enforced: it is sent as it is, and the answer passes untouched. */
  onlyWatches(): boolean
}

/** The request to send, or the text to answer with instead of asking the model. */
export type Prepared = { request: JsonObject } | { said: SaidInstead; reason: BlockReason }

export interface ModelAnswer {
  /** As it was sent. */
  request: JsonObject
  response: JsonObject
  /** False when a stream ended before the event that ends a response: its calls may be cut short. */
  complete: boolean
  /** What a stream says in two ways about its calls; null when it does not. */
  contradiction: string | null
  /** What of a stream looks like a call and was not read as one. */
  oddShape?: string | null
  streamed: boolean
  latencyMs: number
}

export interface AbandonedAnswer {
  request: JsonObject
  /** What had been received; null when nothing had. */
  response: JsonObject | null
  why: 'failed' | 'left'
  /** True when the program left after the end of the answer, which then held no calls. */
  complete: boolean
  error: unknown
}

/** What the program gets of an answer, or that the model is asked again. */
export type TurnResult =
  | { action: 'release'; marked?: readonly Decision[] }
  /** Only the calls of these ids stay, with the text said beside them. Those in `marked` are blocked all the same. */
  | { action: 'keep'; callIds: ReadonlySet<string>; marked?: readonly Decision[]; text?: string }
  /** No call stays, and this is said. */
  | { action: 'answer'; text: string }
  /** What is held of the answer is thrown away, and the model is asked again. Only with `mayRetry`. */
  | { action: 'retry'; request: JsonObject }

/** A request on its way through a turn. */
export interface TurnRequest {
  readonly request: JsonObject
  readonly view: RequestView
  readonly trace: Trace
  /** Null where nobody asks what came from where. */
  readonly opened: OpenRequest | null
  /** Null until preflight, and where nobody judges. */
  prepared: PreparedTurn | null
}
