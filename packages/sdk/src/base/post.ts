import type { request } from 'node:http'

/** One POST and its whole answer. Throws when none came in time. */
export type Post = (url: string, sent: Posted) => Promise<PostAnswer>

export interface Posted {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
}

export interface PostAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

export function postByFetch(fetch: typeof globalThis.fetch): Post {
  return async (url, { headers, body, timeoutMs }) => {
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) })
    const answer = await response.text()
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: answer }
  }
}

/** By Node's own client with keep-alive connections, which costs the program a third of what `fetch` does. */
export const postByNode: Post = async (url, sent) => {
  const { request: open } = await (url.startsWith('https:') ? loadHttps() : loadHttp())
  return exchange(open, url, { ...sent, body: Buffer.from(sent.body) })
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

interface EncodedPost extends Omit<Posted, 'body'> {
  readonly body: Buffer
}

function exchange(open: typeof request, url: string, sent: EncodedPost): Promise<PostAnswer> {
  const { headers, body, timeoutMs } = sent
  return new Promise((resolve, reject) => {
    const asked = open(url, { method: 'POST', headers: { ...headers, 'content-length': String(body.length) } })
    const timer = setTimeout(() => asked.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs).unref()
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    asked.on('error', (error: NodeJS.ErrnoException) => {
      // The service may close an idle connection just when it is used again.
      if (asked.reusedSocket && error.code === 'ECONNRESET') {
        clearTimeout(timer)
        resolve(exchange(open, url, sent))
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
    asked.end(body)
  })
}
