import type { IncomingMessage } from 'node:http'
import { GatewayProblem } from '../base/problems.js'

/** Headers that decide something. Of duplicates, the gateway and the upstream may each believe another. */
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
  'x-countersign-principal-token',
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
      throw new GatewayProblem('header_repeated', `duplicate header ${name}: send it once`)
    }
    seen.add(name)
    headers.append(name, rawHeaders[at + 1] ?? '')
  }
  return headers
}

const LOOPBACK = /^(?:(?:.+\.)?localhost|host\.docker\.internal|127(?:\.\d{1,3}){3}|\[::1\])$/

const isOfThisMachine = (url: string): boolean => URL.canParse(url) && LOOPBACK.test(new URL(url).hostname)

/**
 * A page in a browser reaches loopback, too: it must not take turns in a session. Its requests need not carry an
 * origin, but then the browser says that they cross sites, or the host is a name that its owner has led to this machine.
 */
export function refuseForeignPage(headers: Headers, listensOn: string): void {
  const origin = headers.get('origin')
  const isForeign = origin === null ? headers.get('sec-fetch-site') === 'cross-site' : !isOfThisMachine(origin)
  if (isForeign) {
    throw new GatewayProblem(
      'origin_refused',
      'requests of web pages are refused: call the gateway from a program, or from a page on this machine',
    )
  }
  if (!isOfThisMachine(addressUrl(listensOn)) || isOfThisMachine(`http://${headers.get('host')}`)) return
  throw new GatewayProblem(
    'origin_refused',
    `the gateway listens on ${listensOn} and is asked under another name: call it at that address, or start it with --host`,
  )
}

const addressUrl = (address: string): string => `http://${address.includes(':') ? `[${address}]` : address}`
