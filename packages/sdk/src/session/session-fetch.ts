import {
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  ReplayParkedError,
  ReplayUnavailableError,
} from '../base/errors.js'
import { isObject, type JsonObject } from '../base/json-object.js'
import { isClientStream, readableOf } from '../clients/client-stream.js'
import { type Endpoint, endpointOf } from '../clients/endpoints.js'
import { readEventStream } from '../clients/event-stream.js'
import type { Blocked, ModelCall } from '../clients/govern-client.js'
import { parseReceived, type ReceivedTexts, receivedText } from '../clients/received-texts.js'
import { textResponse } from '../clients/text-response.js'
import { openaiChat } from '../providers/openai-chat/openai-chat.js'
import type { Provider } from '../providers/provider.js'
import { createTurnMemory, type WireAnswer, type WireRequest } from './turn-memory.js'

export type Fetch = typeof globalThis.fetch

export interface FetchGovernor {
  runTurn(call: ModelCall): PromiseLike<unknown>
  /** Verdicts can stop a call. Where they cannot, whatever is not governed passes. */
  binds(): boolean
}

/**
 * A `fetch` for whatever speaks the wire of OpenAI or Anthropic. A refusal is an answer, or a 4xx that clients do not
 * retry: as an error of the network it would be tried again. An outage is a 503, and a turn that another one overtook a 409,
 * which they do retry.
 */
export function createSessionFetch(governor: FetchGovernor, upstream: Fetch): Fetch {
  const memory = createTurnMemory()
  const endpointAt = lastEndpoint()
  return async (input, init) => {
    const { method, url } = addressOf(input, init)
    const endpoint = endpointAt(method, url)
    if (endpoint.as === 'refused' && governor.binds()) return refuse(openaiChat, notGoverned(method, url))
    if (endpoint.as !== 'governed') return upstream(input, init)
    const { provider } = endpoint
    const request = await readRequest(url, input, init)
    const texts: ReceivedTexts = new WeakMap()
    const body = parsed(request.body, texts)
    if (body === null) {
      return governor.binds() ? refuse(provider, new ReplayConfigError(NO_JSON, null)) : upstream(input, init)
    }
    return memory.remember(request, () => runTurn(governor, { provider, body, request, texts }, upstream))
  }
}

/** A client asks the same endpoint again and again. */
function lastEndpoint(): typeof endpointOf {
  let last: { readonly method: string; readonly url: string; readonly endpoint: Endpoint } | null = null
  return (method, url) => {
    if (last?.url !== url || last.method !== method) last = { method, url, endpoint: endpointOf(method, url) }
    return last.endpoint
  }
}

function addressOf(input: Parameters<Fetch>[0], init?: RequestInit): { method: string; url: string } {
  const given = input instanceof Request ? input : null
  return { method: (init?.method ?? given?.method ?? 'GET').toUpperCase(), url: given?.url ?? String(input) }
}

/** The request as it goes out, but for its body. */
async function readRequest(url: string, input: Parameters<Fetch>[0], init: RequestInit = {}): Promise<WireRequest> {
  const given = input instanceof Request ? input : null
  const headers = headersOf(init.headers ?? given?.headers)
  const signal = init.signal ?? given?.signal ?? null
  const body = typeof init.body === 'string' ? init.body : await bodyOf(given, init.body)
  return { url, headers, body, init: { ...init, method: 'POST', headers, signal } }
}

/** Without the length of the body that came: the one that is sent may be another. */
function headersOf(given: RequestInit['headers']): Headers {
  if (given instanceof Headers && !given.has('content-length')) return given
  const headers = new Headers(given)
  headers.delete('content-length')
  return headers
}

async function bodyOf(given: Request | null, body: RequestInit['body']): Promise<string> {
  return body == null ? ((await given?.clone().text()) ?? '') : new Response(body).text()
}

function parsed(body: string, texts: ReceivedTexts): JsonObject | null {
  try {
    const value = parseReceived(body, texts, { binds: true })
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const NO_JSON =
  'the body of a request to a model must be a JSON object in which no member occurs twice, so that its tools can be read'

const notGoverned = (method: string, url: string): ReplayConfigError =>
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

const isEventStream = ({ headers }: Response): boolean =>
  (headers.get('content-type') ?? '').includes('text/event-stream')

const writtenAs = (value: unknown, texts: ReceivedTexts): string => receivedText(value, texts) ?? JSON.stringify(value)

interface WireTurn {
  readonly provider: Provider
  readonly body: JsonObject
  readonly request: WireRequest
  readonly texts: ReceivedTexts
}

async function runTurn(governor: FetchGovernor, turn: WireTurn, upstream: Fetch): Promise<WireAnswer> {
  const { provider, body, request, texts } = turn
  /** Null while the provider has not been asked. */
  let answer: Response | null = null
  // What this gives is what a client's `create` gives.
  const send = async (sent: JsonObject): Promise<unknown> => {
    answer = await upstream(request.url, { ...request.init, body: writtenAs(sent, texts) })
    if (!answer.ok || answer.body === null) throw new UpstreamError(answer)
    const binds = governor.binds()
    if (isEventStream(answer)) return readEventStream(answer.body, { texts, binds })
    return parseReceived(await answer.text(), texts, { binds })
  }
  let blocked: readonly Blocked[] = []
  const onBlocked = (calls: typeof blocked): void => {
    blocked = calls
  }
  try {
    const data = await governor.runTurn({ provider, request: body, send, onBlocked })
    return judged(data, { answer, blocked }, turn)
  } catch (error) {
    if (error instanceof UpstreamError) return { once: error.response }
    if (isOurs(error)) return { once: refuse(provider, error) }
    throw error
  }
}

/** The provider's response with the body that was judged. */
function judged(data: unknown, { answer, blocked }: Answered, { provider, texts }: WireTurn): WireAnswer {
  const { status = 200, statusText = '', headers: given } = answer ?? {}
  const headers = new Headers(given)
  headers.delete(BLOCKED_HEADER)
  const init = { status, statusText, headers: withBlocked(headers, blocked) }
  if (isClientStream(data)) {
    const { encode, end } = provider.wire
    const written = (event: unknown): string => receivedText(event, texts) ?? encode(event)
    const stream = readableOf(toldRefusals(data, provider), written, () => texts.get(data) ?? end)
    return { once: withHeaders(new Response(stream, init), /text\/event-stream/, 'text/event-stream') }
  }
  const body = writtenAs(data, texts)
  return { again: () => withHeaders(textResponse(body, init), /\bjson\b/, 'application/json') }
}

interface Answered {
  /** The provider's; null where it was not asked. */
  readonly answer: Response | null
  readonly blocked: readonly Blocked[]
}

/** Tells programs which calls were blocked, and why: `refund;budget_exceeded`, separated by commas. */
const BLOCKED_HEADER = 'x-countersign-blocked'
const MOST_NAMED = 16

function withBlocked(headers: Headers, blocked: readonly Blocked[]): Headers {
  const named = blocked.slice(0, MOST_NAMED).map((call) => {
    // Names come from the model.
    const name = call.tool_name === '*' ? '*' : encodeURIComponent(call.tool_name.slice(0, 128).toWellFormed())
    return `${name};${call.reason}`
  })
  if (named.length > 0) headers.set(BLOCKED_HEADER, named.join(', '))
  return headers
}

/** Without what the provider's headers say of the body as it came. */
function withHeaders(response: Response, type: RegExp, made: string): Response {
  const { headers } = response
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name)
  if (!type.test(headers.get('content-type') ?? '')) headers.set('content-type', made)
  return response
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
  const { status, headers } = refusalOf(error)
  const blocked = error instanceof ReplayContractError ? error.decision.blocked : []
  return Response.json(provider.wire.problem(problemOf(error)), {
    status,
    headers: withBlocked(new Headers(headers), blocked),
  })
}

/** With the two retries that clients make by default, a service that restarts has about five seconds. */
const RETRY_AFTER_S = '2'

const isOutage = (error: Refusal): error is ReplayUnavailableError =>
  error instanceof ReplayUnavailableError && error.mayRetry

/** Another turn of the session, such as one through another gateway, took the place of this one. */
const isOvertaken = (error: Refusal): boolean => error.code === 'PREPARED_REQUEST_STALE'
const OVERTAKEN = 'another turn of the session began while the model answered; nothing was let through: ask again'

function refusalOf(error: Refusal): { status: number; headers: Record<string, string> } {
  if (isOvertaken(error)) return { status: 409, headers: { 'x-should-retry': 'true' } }
  if (!isOutage(error)) {
    return { status: error instanceof ReplayConfigError ? 400 : 403, headers: { 'x-should-retry': 'false' } }
  }
  const status = error.code === 'RATE_LIMITED' ? 429 : 503
  return { status, headers: { 'x-should-retry': 'true', 'retry-after': RETRY_AFTER_S } }
}

const problemOf = (error: Refusal): JsonObject => ({
  ...(isOutage(error) && { type: error.code === 'RATE_LIMITED' ? 'rate_limit_error' : 'api_error' }),
  message: isOvertaken(error) ? OVERTAKEN : error.message,
  code: `countersign_${error.name}`,
  ...(error instanceof ReplayContractError && { countersign: error.decision }),
  ...(error instanceof ReplayParkedError && { questions: error.questions }),
})
