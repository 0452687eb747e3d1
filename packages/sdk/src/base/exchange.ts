import type { request } from 'node:http'

/** One request and its whole answer. Throws when none came in time. Follows no redirect: the key would go with it. */
export type Exchange = (sent: HttpRequest) => Promise<HttpAnswer>

export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly timeoutMs: number
}

export interface HttpAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

/** Nothing came in time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`)
  }
}

/** By the `fetch` that the program gave; else by Node's own client, and where there is none by the global `fetch`. */
export function exchangeBy(fetch: typeof globalThis.fetch | undefined): Exchange {
  if (fetch !== undefined) return exchangeByFetch(fetch)
  return isNode() ? exchangeByNode : exchangeByFetch((input, init) => globalThis.fetch(input, init))
}

/** Others, such as Bun, Deno and Workers, say that they are Node, too. */
const isNode = (): boolean =>
  typeof process === 'object' &&
  process.release?.name === 'node' &&
  !('Bun' in globalThis || 'Deno' in globalThis || 'WebSocketPair' in globalThis)

export function exchangeByFetch(fetch: typeof globalThis.fetch): Exchange {
  return async ({ method, url, headers, body, timeoutMs }) => {
    const ended = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new TimedOut(timeoutMs)
        ended.abort(error)
        // A `fetch` given as an option may ignore its signal.
        reject(error)
      }, timeoutMs)
    })
    const answered = async (): Promise<HttpAnswer> => {
      // Workers know no other way to say that a redirect is not followed.
      const init = { method, headers, signal: ended.signal, redirect: 'manual' as const }
      const response = await fetch(url, body === undefined ? init : { ...init, body })
      const text = await response.text()
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: text }
    }
    try {
      return await Promise.race([answered(), late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** By Node's own client with keep-alive connections, which costs the program a third of what `fetch` does. */
export const exchangeByNode: Exchange = async (sent) => {
  const { request: open } = await (sent.url.startsWith('https:') ? loadHttps() : loadHttp())
  return exchange(open, sent, sent.body === undefined ? null : Buffer.from(sent.body))
}

const loadHttp = loadedOnce(() => import('node:http'))
const loadHttps = loadedOnce(() => import('node:https'))

/** An import is resolved anew each time: where a loader has hooks, as in a program run by tsx, for the price of a post. */
function loadedOnce<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loading: Promise<Module> | undefined
  return () => {
    loading ??= load()
    return loading
  }
}

function exchange(open: typeof request, sent: HttpRequest, body: Buffer | null): Promise<HttpAnswer> {
  const { method, url, headers, timeoutMs } = sent
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { 'content-length': String(body.length) }
    const asked = open(url, { method, headers: { ...headers, ...length } })
    const timer = setTimeout(() => asked.destroy(new TimedOut(timeoutMs)), timeoutMs)
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    asked.on('error', (error: NodeJS.ErrnoException) => {
      // The service may close an idle connection just when it is used again.
      if (asked.reusedSocket && error.code === 'ECONNRESET') {
        clearTimeout(timer)
        resolve(exchange(open, sent, body))
      } else fail(error)
    })
    asked.on('response', (response) => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        answer += part
      })
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(timer)
        const { statusCode: status = 0, headers } = response
        resolve({ status, retryAfter: headers['retry-after'] ?? null, body: answer })
      })
    })
    if (body === null) asked.end()
    else asked.end(body)
  })
}
