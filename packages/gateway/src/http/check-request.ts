import type { IncomingMessage } from 'node:http'
import { GatewayProblem } from '../base/problems.js'

/** Headers that decide something. Where one stands twice, the gateway and the upstream may each believe another. */
const SINGLE = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'origin',
  'x-countersign-session',
  'idempotency-key',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
])

/** The headers of a request, where nothing in them can be read in two ways. */
export function readHeaders({ rawHeaders }: IncomingMessage): Headers {
  const seen = new Set<string>()
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (SINGLE.has(name) && seen.has(name)) {
      throw new GatewayProblem('header_repeated', `the header ${name} stands twice in the request: send it once`)
    }
    seen.add(name)
    headers.append(name, rawHeaders[at + 1] ?? '')
  }
  return headers
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** A page in somebody's browser reaches loopback, too: it must not take turns in a session. */
export function refuseForeignOrigin(headers: Headers): void {
  const origin = headers.get('origin')
  if (origin === null) return
  if (URL.canParse(origin) && LOOPBACK.test(new URL(origin).hostname)) return
  throw new GatewayProblem(
    'origin_refused',
    'requests of web pages are refused: call the gateway from a program, or from a page on this machine',
  )
}
