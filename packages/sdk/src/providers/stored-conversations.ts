import type { JsonObject } from '../base/json-object.js'

/** An API whose provider stores conversations: a request names what it continues, and brings only what is new. */
export interface StoredConversations {
  /** What the request goes on from; null when it begins anew. */
  threadOf(request: JsonObject): Thread | null
  /** The request going on from another thread, or none, with these items before its own. */
  onThread(request: JsonObject, thread: Thread | null, items: readonly unknown[]): JsonObject
  /** What the request brings, as items. */
  itemsOf(request: JsonObject): unknown[]
  /** The calls of a response that the program has to answer, but for these. */
  callsExcept(response: JsonObject, shownIds: ReadonlySet<string>): JsonObject[]
  /** The item that answers a call with why it was not run; null where only the program can answer. */
  answerTo(call: JsonObject, why: string): JsonObject | null
  /** What the model is taken to have said. */
  saidItem(text: string): JsonObject
  /** The id that the program sees of an answer that was given without asking the model. */
  saidInsteadId(id: string): string
}

export interface Thread {
  readonly kind: 'response' | 'conversation'
  readonly id: string
}
