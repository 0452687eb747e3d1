import type { IncomingMessage } from 'node:http'

/** What is asked, without a copy of it: a header is looked for when somebody wants it. */
export interface HttpRequest {
  readonly method: string
  /** As it was sent, percent signs and all. Null: the request target has no path. */
  readonly path: string | null
  /** With its question mark; empty without one. */
  readonly query: string
  /** By its name in lower case. Sent more than once, its values are joined; null when it was not sent. */
  readonly header: (name: string) => string | null
  /** The body while it arrives, and the connection. */
  readonly incoming: IncomingMessage
  /** How long the body was, once it has been read. */
  bodyBytes: number
}

export function readRequest(incoming: IncomingMessage): HttpRequest {
  const { method = 'GET', url = '' } = incoming
  const { path, query } = readTarget(url)
  return { method, path, query, incoming, bodyBytes: 0, header: (name) => headerOf(incoming.rawHeaders, name) }
}

/** Nothing that has to be read as a URL: no percent sign, fragment or backslash. A segment `..` is looked for apart. */
const PLAIN_TARGET = /^\/[!$&-;=?-[\]_a-z~]*$/

function readTarget(target: string): Pick<HttpRequest, 'path' | 'query'> {
  if (PLAIN_TARGET.test(target) && !target.includes('/.')) {
    const end = target.indexOf('?')
    return end === -1 ? { path: target, query: '' } : { path: target.slice(0, end), query: target.slice(end) }
  }
  const absolute = target.startsWith('/') ? `http://localhost${target}` : target
  // A URL takes a backslash for a slash: what a proxy let through might be another path.
  const isRefused = /^[^?]*\\/.test(target) || !/^https?:\/\//.test(absolute) || !URL.canParse(absolute)
  if (isRefused) return { path: null, query: '' }
  const { pathname, search } = new URL(absolute)
  return { path: pathname, query: search }
}

/** Not from `incoming.headers`, which keeps the first of two and says nothing of the second. */
function headerOf(rawHeaders: readonly string[], name: string): string | null {
  let found: string | null = null
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? ''
    if (sent.length !== name.length || sent.toLowerCase() !== name) continue
    const value = rawHeaders[at + 1] ?? ''
    found = found === null ? value : `${found}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return found
}
