import { GatewayProblem } from '../base/problems.js'

export interface UpstreamLimits {
  /** How long an upstream may send nothing. */
  readonly idleMs: number
  /** Of an answer that does not stream, and of a line of one that does. */
  readonly maxBytes: number
}

/** A `fetch` for upstreams: it follows no redirect, and gives up on one that hangs or sends without end. */
export function boundedFetch(fetch: typeof globalThis.fetch, limits: UpstreamLimits): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const idle = new AbortController()
    const watch = watchIdle(limits.idleMs, idle)
    const signal = init.signal ? AbortSignal.any([init.signal, idle.signal]) : idle.signal
    try {
      const response = await fetch(input, { ...init, signal, redirect: 'manual' })
      if (response.status >= 300 && response.status < 400) throw redirected(response.status)
      const body = response.body === null ? null : boundedBody(response, watch, limits)
      if (body === null) watch.stop()
      const { status, statusText, headers } = response
      return new Response(body, { status, statusText, headers })
    } catch (error) {
      watch.stop()
      if (idle.signal.aborted) throw idle.signal.reason
      throw error
    }
  }
}

interface IdleWatch {
  /** Something came. */
  seen(): void
  stop(): void
}

function watchIdle(idleMs: number, idle: AbortController): IdleWatch {
  const problem = () =>
    new GatewayProblem(
      'upstream_unreachable',
      `the upstream sent nothing for ${idleMs / 1000} s: ask again, or raise --upstream-seconds`,
    )
  const timer = setTimeout(() => idle.abort(problem()), idleMs)
  return { seen: () => timer.refresh(), stop: () => clearTimeout(timer) }
}

function boundedBody(
  response: Response,
  watch: IdleWatch,
  { maxBytes }: UpstreamLimits,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream')
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader()
  let bytes = 0
  /** Of a line that has not ended. */
  let lineBytes = 0
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          watch.seen()
          if (done) {
            watch.stop()
            controller.close()
            return
          }
          bytes += value.length
          lineBytes = lineBytesAfter(value, lineBytes)
          if ((isStream ? lineBytes : bytes) > maxBytes) throw tooLarge(maxBytes)
          controller.enqueue(value)
        } catch (error) {
          watch.stop()
          await reader.cancel().catch(() => {})
          controller.error(error)
        }
      },
      async cancel(reason) {
        watch.stop()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Nothing of a line can be judged before it has ended, so that it is kept. */
function lineBytesAfter(chunk: Uint8Array, before: number): number {
  const newline = chunk.lastIndexOf(0x0a)
  const end = newline === -1 ? chunk.lastIndexOf(0x0d) : newline
  return end === -1 ? before + chunk.length : chunk.length - end - 1
}

const tooLarge = (maxBytes: number): GatewayProblem =>
  new GatewayProblem(
    'upstream_invalid',
    `the answer of the upstream, or a line of its stream, is larger than ${maxBytes / 1024 / 1024} MB: raise --max-body-mb`,
  )

/** A redirect would carry the provider's key to another address. */
const redirected = (status: number): GatewayProblem =>
  new GatewayProblem(
    'upstream_invalid',
    `the upstream answered with a redirect (${status}): set its final URL in --upstream`,
  )
