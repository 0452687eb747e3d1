import { GatewayProblem } from '../base/problems.js'
import { SESSION_HEADER } from '../base/session-header.js'
import { readJsonText } from '../http/read-json-text.js'
import type { GatewayRequest } from '../http/route.js'

/** Headers that belong to one connection, or to the gateway itself. */
const NOT_SENT = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'accept-encoding',
  'origin',
  // Some servers believe these rather than the request line, which is what was checked.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])

/** What of the client's headers goes to the upstream: its own key among them. */
export function outgoingHeaders(headers: Headers): Headers {
  const perConnection = new Set((headers.get('connection') ?? '').toLowerCase().split(/\s*,\s*/))
  const sent = new Headers()
  for (const [name, value] of headers) {
    if (NOT_SENT.has(name) || perConnection.has(name) || name.startsWith('x-countersign-')) continue
    sent.append(name, value)
  }
  // What is judged must be readable, and what is passed on stays as it came.
  sent.set('accept-encoding', 'identity')
  return sent
}

const NOT_PASSED = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'content-length',
  'content-encoding',
  // An upstream names no session.
  SESSION_HEADER,
]

/** The answer for the client, with the id of its session. */
export function withSession(response: Response, sessionId: string | null): Response {
  const headers = new Headers(response.headers)
  for (const name of NOT_PASSED) headers.delete(name)
  if (sessionId !== null) headers.set(SESSION_HEADER, sessionId)
  const { status, statusText, body } = response
  return new Response(body, { status, statusText, headers })
}

export interface JsonBody {
  readonly text: string
  readonly value: Readonly<Record<string, unknown>>
}

/** A body that is a JSON object in UTF-8, and nothing else. */
export async function readJsonBody(request: GatewayRequest): Promise<JsonBody> {
  const text = await readJsonText(request)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { text, value: { ...value } }
  } catch {
    // Said below: what the parser says repeats a part of the body.
  }
  throw new GatewayProblem('body_invalid', 'the body must be a JSON object in UTF-8')
}
