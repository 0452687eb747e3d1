import { idSchema } from '@countersign/protocol'
import { isObject } from '../base/json-object.js'
import { endpointOf } from '../clients/endpoints.js'

/** What a request over the wire of a provider is, for the code that decides where it goes. */
export type ModelRequest =
  /** It calls a model: `ids` are those of calls and responses in its history, oldest first. */
  | { readonly as: 'governed'; readonly ids: readonly string[] }
  /** It cannot bring a tool call. */
  | { readonly as: 'harmless' }
  /** It could reach a model without its tool calls being judged. */
  | { readonly as: 'refused' }

const QUESTION_ID = /\bQ-[0-9A-Z]{12}\b/g

/** Reads a request by its method, its URL and, for a call of a model, its parsed body. */
export function readModelRequest(method: string, url: string, body: unknown = null): ModelRequest {
  const endpoint = endpointOf(method, url)
  if (endpoint.as !== 'governed') return { as: endpoint.as }
  if (!isObject(body)) return { as: 'governed', ids: [] }
  const { answeredCallIds, previousResponseId } = endpoint.provider.readRequest(body)
  const messages = endpoint.provider.readMessages(body)
  const calls = messages.flatMap((message) => message.calls.map(({ id }) => id))
  // A call that waits for people stands in no history: what was said in its place names its question.
  const asked = messages.flatMap(({ role, text }) => (role === 'assistant' ? (text.match(QUESTION_ID) ?? []) : []))
  const ids = [...asked, ...calls, ...answeredCallIds, ...(previousResponseId === null ? [] : [previousResponseId])]
  return { as: 'governed', ids: [...new Set(ids.filter((id) => idSchema.safeParse(id).success))] }
}
