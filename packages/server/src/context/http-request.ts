import type { IncomingMessage } from 'node:http'

/** What is asked, without a copy of it: a header is looked for when it is needed. */
export interface HttpRequest {
  readonly method: string
  /** As it was sent, percent signs and all. Null: the request target has no path. */
  readonly path: string | null
  /** With its question mark; empty without one. */
  readonly query: string
  /** By its name in lower case. Sent more than once, its values are joined; null when it was not sent. */
  readonly header: (name: string) => string | null
  /** The request as it arrives, with its connection. */
  readonly incoming: IncomingMessage
  /** How long the body was, once it has been read. */
  bodyBytes: number
}

export function readRequest(incoming: IncomingMessage): HttpRequest {
  const { method = 'GET', url = '' } = incoming
  const { path, query } = readTarget(url)
  return { method, path, query, incoming, bodyBytes: 0, header: (name) => headerOf(incoming.rawHeaders, name) }
}

/**
 * Cut at its question mark, and not read as a URL: that takes a millisecond for a target that a stranger made for it, and
 * makes another path of some, such as `/x/../metrics`, which a proxy may have let through for what it looked like.
 */
function readTarget(target: string): Pick<HttpRequest, 'path' | 'query'> {
  const sent = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]+/i, '')
  const end = sent.indexOf('?')
  const path = end === -1 ? sent : sent.slice(0, end)
  // A fragment is never sent, and a backslash is a slash to some.
  if (!path.startsWith('/') || path.includes('\\') || sent.includes('#')) return { path: null, query: '' }
  return { path, query: end === -1 ? '' : sent.slice(end) }
}

/** Not from `incoming.headers`, which keeps the first of two and says nothing of the second. */
export function headerOf(rawHeaders: readonly string[], name: string): string | null {
  let found: string | null = null
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? ''
    if (sent.length !== name.length || sent.toLowerCase() !== name) continue
    const value = rawHeaders[at + 1] ?? ''
    found = found === null ? value : `${found}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return found
}
