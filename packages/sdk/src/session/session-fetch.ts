import { ReplayConfigError, ReplayContractError, ReplayKillError } from '../base/errors.js'
import { isObject, type JsonObject } from '../base/json-object.js'
import type { GovernedPromise } from '../clients/api-promise.js'
import { isClientStream, readableOf } from '../clients/client-stream.js'
import { endpointOf } from '../clients/endpoints.js'
import { readEventStream } from '../clients/event-stream.js'
import type { ModelCall } from '../clients/govern-client.js'
import { parseReceived, type ReceivedTexts, receivedText } from '../clients/received-texts.js'
import { openaiChat } from '../providers/openai-chat/openai-chat.js'
import type { Provider } from '../providers/provider.js'
import { createTurnMemory, type WireAnswer, type WireRequest } from './turn-memory.js'

export type Fetch = typeof globalThis.fetch

export interface FetchGovernor {
  runTurn(call: ModelCall): GovernedPromise
  /** Verdicts can stop a call. Where they cannot, whatever is not governed passes. */
  binds(): boolean
}

/**
 * A `fetch` for whatever speaks the wire of OpenAI or Anthropic. A refusal is an answer, or a 4xx that clients do not
 * retry: as an error of the network it would be tried again.
 */
export function createSessionFetch(governor: FetchGovernor, upstream: Fetch): Fetch {
  const memory = createTurnMemory()
  return async (input, init) => {
    const request = await readRequest(input, init)
    const endpoint = endpointOf(request.method, request.url)
    if (endpoint.as === 'refused' && governor.binds()) return refuse(openaiChat, notGoverned(request))
    if (endpoint.as !== 'governed') return upstream(input, init)
    const { provider } = endpoint
    const texts: ReceivedTexts = new WeakMap()
    const body = parsed(request.body, texts)
    if (body === null) {
      return governor.binds() ? refuse(provider, new ReplayConfigError(NO_JSON, null)) : upstream(input, init)
    }
    const send = (sent: JsonObject) => sendTo(upstream, request, sent, texts)
    const turn = () => answered(governor.runTurn({ provider, request: body, send }), provider, texts)
    return memory.remember(request, turn)
  }
}

async function readRequest(input: Parameters<Fetch>[0], init: RequestInit = {}): Promise<WireRequest> {
  const given = input instanceof Request ? input : null
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  const headers = new Headers(init.headers ?? given?.headers)
  const url = given?.url ?? String(input)
  const needsBody = method === 'POST' && endpointOf(method, url).as === 'governed'
  const body = !needsBody ? '' : init.body == null ? ((await given?.clone().text()) ?? '') : await textOf(init.body)
  return {
    url,
    method,
    headers,
    body,
    init: { ...init, ...(given !== null && { signal: init.signal ?? given.signal }) },
  }
}

const textOf = async (body: NonNullable<RequestInit['body']>): Promise<string> =>
  typeof body === 'string' ? body : await new Response(body).text()

function parsed(body: string, texts: ReceivedTexts): JsonObject | null {
  try {
    const value = parseReceived(body, texts)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const NO_JSON = 'the body of a request to a model must be a JSON object, so that its tools can be read'

const notGoverned = ({ method, url }: WireRequest): ReplayConfigError =>
  new ReplayConfigError(
    `${method} ${new URL(url).pathname} is not governed: it could reach a model without its tool calls being judged. ` +
      'Use chat/completions, responses or v1/messages over HTTP; send anything else by another fetch.',
    null,
  )

/** The provider answered with an error: the program gets it as it came. */
class UpstreamError extends Error {
  readonly response: Response

  constructor(response: Response) {
    super(`the provider answered with status ${response.status}`)
    this.response = response
  }
}

const writtenAs = (value: unknown, texts: ReceivedTexts): string => receivedText(value, texts) ?? JSON.stringify(value)

/** Sends the request to the provider. What it gives is what a client's `create` gives. */
function sendTo(
  upstream: Fetch,
  { url, method, headers, init }: WireRequest,
  sent: JsonObject,
  texts: ReceivedTexts,
): Promise<unknown> {
  const outgoing = new Headers(headers)
  outgoing.delete('content-length')
  const response = upstream(url, { ...init, method, headers: outgoing, body: writtenAs(sent, texts) })
  const data = response.then(async (answer) => {
    if (!answer.ok || answer.body === null) throw new UpstreamError(answer)
    if (isEventStream(answer)) return readEventStream(answer.body, texts)
    return parseReceived(await answer.text(), texts)
  })
  return Object.assign(data, { withResponse: async () => ({ response: await response }) })
}

const isEventStream = ({ headers }: Response): boolean =>
  (headers.get('content-type') ?? '').includes('text/event-stream')

async function answered(turn: GovernedPromise, provider: Provider, texts: ReceivedTexts): Promise<WireAnswer> {
  try {
    const { data, response } = await turn.withResponse()
    const headers = new Headers(response.headers)
    for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name)
    const { status, statusText } = response
    if (!isClientStream(data)) {
      if (!/\bjson\b/.test(headers.get('content-type') ?? '')) headers.set('content-type', 'application/json')
      const body = writtenAs(data, texts)
      return { again: () => new Response(body, { status, statusText, headers }) }
    }
    if (!isEventStream(response)) headers.set('content-type', 'text/event-stream')
    const { encode, end } = provider.wire
    const written = (event: unknown): string => receivedText(event, texts) ?? encode(event)
    const body = readableOf(toldRefusals(data, provider), written, () => texts.get(data) ?? end)
    return { once: new Response(body, { status, statusText, headers }) }
  } catch (error) {
    if (error instanceof UpstreamError) return { once: error.response }
    if (isOurs(error)) return { once: refuse(provider, error) }
    throw error
  }
}

/** A refusal inside a stream is its last event, and every client reads that as an error of the API. */
async function* toldRefusals(events: AsyncIterable<unknown>, provider: Provider): AsyncGenerator<unknown> {
  try {
    yield* events
  } catch (error) {
    if (!isOurs(error)) throw error
    yield provider.wire.problem(problemOf(error))
  }
}

type Refusal = ReplayContractError | ReplayConfigError | ReplayKillError

const isOurs = (error: unknown): error is Refusal =>
  error instanceof ReplayContractError || error instanceof ReplayConfigError || error instanceof ReplayKillError

function refuse(provider: Provider, error: Refusal): Response {
  return Response.json(provider.wire.problem(problemOf(error)), {
    status: error instanceof ReplayConfigError ? 400 : 403,
    headers: { 'x-should-retry': 'false' },
  })
}

const problemOf = (error: Refusal): JsonObject => ({
  message: error.message,
  code: `countersign_${error.name}`,
  ...(error instanceof ReplayContractError && { countersign: error.decision }),
})
