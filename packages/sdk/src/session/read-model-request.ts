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

/** Reads a request by its method, its URL and, for a call of a model, its parsed body. */
export function readModelRequest(method: string, url: string, body: unknown = null): ModelRequest {
  const endpoint = endpointOf(method, url)
  if (endpoint.as !== 'governed') return { as: endpoint.as }
  if (!isObject(body)) return { as: 'governed', ids: [] }
  const { answeredCallIds, previousResponseId } = endpoint.provider.readRequest(body)
  const calls = endpoint.provider.readMessages(body).flatMap((message) => message.calls.map(({ id }) => id))
  const ids = [...calls, ...answeredCallIds, ...(previousResponseId === null ? [] : [previousResponseId])]
  return { as: 'governed', ids: [...new Set(ids.filter((id) => idSchema.safeParse(id).success))] }
}
