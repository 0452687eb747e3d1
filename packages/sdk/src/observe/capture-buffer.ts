import { LIMITS } from '@countersign/protocol'
import type { CircuitBreaker } from '../base/circuit-breaker.js'
import type { Report } from '../base/diagnostics.js'
import { flushBeforeExit } from '../base/flush-before-exit.js'
import type { SendCaptures } from './send-captures.js'

/** Holds captures until they are sent: in batches, on a timer, never more than `maxBuffer`. */
export interface CaptureBuffer {
  /** Takes one more, as JSON that is written only if there is room for it. */
  add(write: () => string): void
  /** Sends what is there. Resolves when it has been tried; never rejects. */
  flush(): Promise<void>
  /** Sends what is there and takes no more. */
  close(): Promise<void>
  /** `failing`: what was sent last did not arrive. */
  counts(): { buffered: number; sent: number; dropped: number; failures: number; failing: boolean; stopped: boolean }
}

export interface CaptureBufferOptions {
  send: SendCaptures
  maxBuffer: number
  flushMs: number
  breaker: CircuitBreaker
  report: Report
  /** Adds what is still on its way here, so that a flush sends it, too. */
  pull?: () => void
  now?: () => number
}

export function createCaptureBuffer(options: CaptureBufferOptions): CaptureBuffer {
  const { send, maxBuffer, flushMs, breaker, report, pull = () => {}, now = Date.now } = options
  /** As JSON: each is written once, and its size is known. */
  let waiting: string[] = []
  let sending: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let closed = false
  let notBefore = 0
  let isLossReported = false
  let unreported = 0
  const counts = { sent: 0, dropped: 0, failures: 0, failing: false }

  const drop = (count: number): void => {
    counts.dropped += count
    // The first loss is reported at once, the rest with the next flush: a full buffer must not flood the callback.
    if (isLossReported) unreported += count
    else reportLoss(count)
    isLossReported = true
  }
  const reportLoss = (dropped: number): void => report({ type: 'buffer_overflow', dropped })

  const add = (write: () => string): void => {
    if (closed || !breaker.allows()) return
    if (waiting.length >= maxBuffer) {
      drop(1)
      return
    }
    waiting.push(write())
    if (waiting.length >= maxBuffer) void flush()
    else schedule(flushMs)
  }

  const schedule = (delayMs: number): void => {
    if (timer !== null || closed) return
    timer = setTimeout(() => {
      timer = null
      void flush()
    }, delayMs)
    // Captures must not keep a program running that has nothing else to do; `beforeExit` sends them.
    timer.unref()
  }

  const flush = (): Promise<void> => {
    pull()
    sending ??= sendAll().finally(() => {
      sending = null
      if (waiting.length > 0) schedule(Math.max(flushMs, notBefore - now()))
    })
    return sending
  }

  const sendAll = async (): Promise<void> => {
    if (unreported > 0) reportLoss(unreported)
    unreported = 0
    isLossReported = false
    while (waiting.length > 0 && breaker.allows() && now() >= notBefore) {
      const batch = takeBatch(waiting)
      waiting = waiting.slice(batch.length)
      if (!(await sendBatch(batch))) return
    }
  }

  /** False when there is no use in going on now. */
  const sendBatch = async (batch: string[]): Promise<boolean> => {
    const outcome = await send(batch)
    switch (outcome.kind) {
      case 'delivered':
        breaker.succeeded()
        counts.sent += batch.length
        counts.failing = false
        if (outcome.problem !== null) report({ type: 'capture_error', detail: outcome.problem })
        return true
      case 'throttled':
        notBefore = now() + outcome.retryAfterMs
        putBack(batch)
        return false
      case 'refused':
        // One capture that cannot be taken must not cost the others.
        if (batch.length > 1) return sendHalves(batch)
        counts.dropped += 1
        return failed(outcome.problem)
      case 'failed':
        if (outcome.retry) putBack(batch)
        else counts.dropped += batch.length
        failed(outcome.problem)
        return false
    }
  }

  const sendHalves = async (batch: string[]): Promise<boolean> => {
    const half = Math.ceil(batch.length / 2)
    if (await sendBatch(batch.slice(0, half))) return sendBatch(batch.slice(half))
    putBack(batch.slice(half))
    return false
  }

  /** False when it was one too many. */
  const failed = (detail: string): boolean => {
    counts.failures += 1
    counts.failing = true
    report({ type: 'capture_error', detail })
    if (!breaker.failed()) return true
    report({
      type: 'capture_error',
      detail: `${LIMITS.breakerFailures} failures in a row: capturing pauses for ${LIMITS.breakerMinutes} minutes`,
    })
    return false
  }

  /** The server knows captures by their id, so sending one again does no harm. */
  const putBack = (batch: string[]): void => {
    const room = maxBuffer - waiting.length
    if (batch.length > room) drop(batch.length - room)
    waiting = [...batch.slice(0, room), ...waiting]
  }

  const stopWatching = flushBeforeExit(flush)
  return {
    add,
    flush,
    close: async () => {
      pull()
      closed = true
      if (timer !== null) clearTimeout(timer)
      timer = null
      stopWatching()
      await flush()
    },
    counts: () => ({ buffered: waiting.length, ...counts, stopped: !breaker.allows() }),
  }
}

/** Room for the rest of the body. */
const BATCH_BYTES = LIMITS.bodyBytes - 64 * 1024

/** As many as one request takes: at least one, so that a capture that is too large is refused and does not stay for ever. */
function takeBatch(waiting: readonly string[]): string[] {
  if (waiting.length <= LIMITS.capturesPerBatch && surelyFit(waiting)) return [...waiting]
  let bytes = 0
  const end = waiting.findIndex((item, index) => {
    bytes += Buffer.byteLength(item) + 1
    return index > 0 && (bytes > BATCH_BYTES || index >= LIMITS.capturesPerBatch)
  })
  return end === -1 ? [...waiting] : waiting.slice(0, end)
}

/** A UTF-16 unit takes at most three bytes, so small captures need no count. */
function surelyFit(waiting: readonly string[]): boolean {
  let units = 0
  for (const item of waiting) units += item.length + 1
  return units * 3 <= BATCH_BYTES
}
