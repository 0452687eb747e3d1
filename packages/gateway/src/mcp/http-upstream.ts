import type { McpServer } from '../base/mcp-servers.js'
import { GatewayProblem } from '../base/problems.js'

/** What of a host's request a server may see. Its credentials are for the gateway. */
const TO_SERVER =
  /^(?:accept|content-type|mcp-(?:protocol-version|session-id|method|name|param-.+)|traceparent|tracestate|baggage)$/
/** What of a server's answer a host needs. */
const TO_HOST = /^(?:content-type|mcp-session-id|mcp-protocol-version|allow|retry-after|cache-control)$/

/** Sends requests to one server, with the gateway's own credentials. */
export interface HttpUpstream {
  send(request: UpstreamRequest): Promise<UpstreamAnswer>
}

export interface UpstreamRequest {
  readonly method: string
  /** Those of the host's request. */
  readonly headers: Headers
  readonly body: string | null
  readonly signal: AbortSignal
}

export interface UpstreamAnswer {
  readonly status: number
  /** For the host. */
  readonly headers: Headers
  readonly isStream: boolean
  /** As it comes. Ends with an error when the server sends nothing for too long. */
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  /** Discards the rest of the body, so that the other side does not wait. */
  drop(): void
}

export interface HttpUpstreamOptions {
  readonly fetch: typeof globalThis.fetch
  /** How long a server may send nothing. */
  readonly idleMs: number
  readonly maxBytes: number
}

export function createHttpUpstream({ url, headers: own }: McpServer, options: HttpUpstreamOptions): HttpUpstream {
  return {
    async send({ method, headers, body, signal }) {
      const watch = createWatch(options.idleMs, signal)
      let response: Response
      try {
        response = await options.fetch(url, {
          method,
          headers: headersFor(headers, own),
          body,
          signal: watch.signal,
          redirect: 'error',
        })
      } catch (error) {
        watch.stop()
        throw watch.reason() ?? new GatewayProblem('upstream_unreachable', UNREACHABLE, { cause: error })
      }
      const reader = response.body?.getReader()
      const drop = (): void => {
        watch.stop()
        void reader?.cancel().catch(() => {})
      }
      const content = watched(reader, watch, drop)
      return {
        status: response.status,
        headers: new Headers([...response.headers].filter(([name]) => TO_HOST.test(name))),
        isStream: /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? ''),
        body: content,
        text: () => wholeText(content, options.maxBytes),
        drop,
      }
    },
  }
}

/** The tool may have done its work: an answer that cannot be read is lost, not a failure of the tool. */
export const LOST_ANSWER: ErrorOptions = { cause: Object.assign(new Error('the answer is lost'), { code: 'EPIPE' }) }

const UNREACHABLE = 'the MCP server did not answer: see that it runs at the URL in the settings of the gateway'

function headersFor(given: Headers, own: McpServer['headers']): Headers {
  const headers = new Headers([...given].filter(([name]) => TO_SERVER.test(name)))
  for (const [name, value] of Object.entries(own)) headers.set(name, value)
  return headers
}

interface Watch {
  readonly signal: AbortSignal
  /** The server has sent something. */
  alive(): void
  stop(): void
  /** Why the request was given up; null where it was not. */
  reason(): Error | null
}

function createWatch(idleMs: number, leaving: AbortSignal): Watch {
  const controller = new AbortController()
  const late = Object.assign(new Error(`the MCP server sent nothing for ${idleMs / 1_000} s`), { code: 'ETIMEDOUT' })
  const timer = setTimeout(() => controller.abort(late), idleMs)
  const leave = (): void => controller.abort(leaving.reason)
  if (leaving.aborted) leave()
  else leaving.addEventListener('abort', leave, { once: true })
  return {
    signal: controller.signal,
    alive: () => void timer.refresh(),
    stop() {
      clearTimeout(timer)
      leaving.removeEventListener('abort', leave)
    },
    reason: () => (controller.signal.aborted ? controller.signal.reason : null),
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array> | undefined

async function* watched(reader: Reader, watch: Watch, drop: () => void): AsyncGenerator<Uint8Array> {
  const given = new Promise<never>((_, reject) => {
    watch.signal.addEventListener('abort', () => reject(watch.signal.reason), { once: true })
  })
  given.catch(() => {})
  try {
    while (reader !== undefined) {
      const { done, value } = await Promise.race([reader.read(), given])
      if (done) return
      watch.alive()
      yield value
    }
  } catch (error) {
    // The tool may have done its work.
    throw (
      watch.reason() ?? Object.assign(new Error('the MCP server broke off', { cause: error }), { code: 'ECONNRESET' })
    )
  } finally {
    drop()
  }
}

async function wholeText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      throw new GatewayProblem(
        'upstream_invalid',
        `the answer of the MCP server has more than ${maxBytes / 1_048_576} MB`,
        LOST_ANSWER,
      )
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
