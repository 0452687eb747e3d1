import type { WireFormat } from '@countersign/engine'
import type { JsonObject } from '../base/json-object.js'
import type { StoredConversations } from './stored-conversations.js'

/**
 * One API of a model provider: what its requests, responses and streams look like.
 * The rest of the SDK knows none of this. Nothing given is changed; changed copies are returned.
 */
export interface Provider {
  /** As in patterns such as `openai/gpt-4o*`. */
  readonly name: string
  readonly format: WireFormat
  /** The method that calls the model, as a path on the client. */
  readonly createPath: string
  readRequest(request: JsonObject): RequestView
  /** For flows: who said what, oldest first. */
  readMessages(request: JsonObject): MessageView[]
  /** The request with only the tools of these names. A tool choice that can no longer be met becomes `none`. */
  withTools(request: JsonObject, allowed: ReadonlySet<string>): JsonObject
  /** The request with a system text before all others. */
  withSystemText(request: JsonObject, text: string): JsonObject
  /** The request with a text after all messages, such as the remedy of a retry. */
  withAppendedText(request: JsonObject, text: string): JsonObject
  /**
   * The request with what the model answered to it and, for each of its calls, why that was not run. Null where only the
   * program could answer a call, or the answer cannot be said back.
   */
  withRefusedAnswer(request: JsonObject, response: JsonObject, whyNotRun: (callId: string) => string): JsonObject | null
  /** Streams are asked for their usage; `readStream` hides the extra event where the program did not ask. */
  withStreamUsage(request: JsonObject): JsonObject
  /**
   * The response with only these calls: a call without an id, or not named here, is gone. `text` is then said beside
   * them, where it stays with the answer when the program sends the conversation back.
   */
  keepCalls(response: JsonObject, allowedIds: ReadonlySet<string>, text?: string): JsonObject
  /** The response without its calls, and with this text at its end. */
  withTextOnly(response: JsonObject, text: string): JsonObject
  /** An answer of a model that was not asked. It has an id of the provider's kind that ends in `id`. */
  textResponse(request: JsonObject, said: SaidInstead): JsonObject
  /** The same as the events of a stream that was never opened. */
  textEvents(request: JsonObject, said: SaidInstead): JsonObject[]
  /** Undefined where every request brings the whole conversation. */
  readonly stored?: StoredConversations
  readStream(request: JsonObject, options?: { holdAll?: boolean }): StreamHold
  /** Makes one stream of the answers to several requests of a turn. */
  joinStreams(): StreamJoin
  /** How one event is written in the body of a server-sent event stream, and what ends the stream. */
  readonly wire: {
    encode(event: unknown): string
    end: string
    /** The body, or the event, by which clients learn that the API refused. */
    problem(detail: JsonObject): JsonObject
  }
}

/** What the program gets in place of what the model would have said. */
export interface SaidInstead {
  text: string
  id: string
}

export type ProviderName = 'openai' | 'anthropic'

export interface RequestView {
  model: string
  tools: OfferedTool[]
  /** The calls whose results this request carries. */
  answeredCallIds: string[]
  streaming: boolean
  /** Responses only: the response that this request continues; null elsewhere. */
  previousResponseId: string | null
  toolChoice: unknown
  /** Why the request cannot be governed, each as a sentence; empty when it can. */
  refusals: string[]
}

/**
 * `function` and `custom` tools are run by the program and named as the model calls them.
 * `provider` tools are built in, and named by their type.
 */
export interface OfferedTool {
  name: string
  kind: 'function' | 'custom' | 'provider'
  definition: JsonObject
}

export interface MessageView {
  role: 'system' | 'user' | 'assistant' | 'tool'
  text: string
  /** The call that a tool message answers; null elsewhere. */
  callId: string | null
  /** The program says that the tool failed. */
  isError?: boolean
  /** The calls that an assistant message made, with their arguments as they stand in the message. */
  calls: readonly MessageCall[]
}

export interface MessageCall {
  id: string
  name: string
  arguments: unknown
}

/** What has flowed of an answer cannot be taken back: the next answer goes on from there, in the same stream. */
export interface StreamJoin {
  /** An event of the answer, as it follows on what has flowed before; none where that was said already. */
  join(event: JsonObject): JsonObject[]
  /** Another answer begins; gives the events that end what is open. */
  again(): JsonObject[]
}

/**
 * Reads a stream event by event. What comes before the first part of a tool call may flow;
 * from there on, or from the start with `holdAll`, events are held until the caller decides.
 */
export interface StreamHold {
  /** Takes the next event and returns those that may flow now: it, or none. */
  take(event: JsonObject): JsonObject[]
  /** From here on everything is held, and this is what the events say in two ways. */
  doubt(problem: string): void
  /** True while events are held. */
  holding(): boolean
  /** True once the event has been seen that ends a response. A stream that ends before is truncated. */
  complete(): boolean
  /** The response as the provider's own client would have put it together from the events so far. */
  response(): JsonObject
  /**
   * What the events say in two ways about calls, so that a program could read a call that is not in `response()`;
   * null when every way to read them gives the same calls.
   */
  contradiction(): string | null
  /** All held events, unchanged. */
  release(): JsonObject[]
  /**
   * The held events as if the other calls had never been made; `text` is then said beside those that stay, or before the
   * end. Of a stream that contradicts itself only the events that begin and end an answer are left.
   */
  releaseOnly(allowedIds: ReadonlySet<string>, text?: string): JsonObject[]
}
