import type { OpenCall } from '../authority/open-calls.js'
import type { Execution } from '../authority/receipts.js'
import { startTool } from '../authority/running-tools.js'
import { NotExecutedError } from '../base/errors.js'
import type { ToolContext } from '../options/replay-options.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { CalledTool } from './match-call.js'

/** How a run of a tool ended, and what it threw, if it did. */
export interface Ran {
  readonly evidence: Execution
  readonly thrown?: unknown
}

/** Runs the executor of an allowed call with the arguments that were judged, within the tool's time. */
export async function runTool(
  { run, args, signal }: CalledTool,
  call: OpenCall,
  { calls, authority, killed }: SessionContext,
): Promise<Ran> {
  const startedAt = new Date()
  const timeoutMs = authority().plan.contracts.get(call.toolName)?.definition.timeouts?.total_ms
  const limit = createTimeLimit(killed)
  const tool = startTool(calls)
  try {
    // The tool gets the value that was judged, not an object that the program could still change: a custom tool its text.
    const judged = call.arguments
    const given = call.takesText && args === judged.input ? args : structuredClone(judged)
    const context: ToolContext = {
      callId: call.callId,
      idempotencyKey: call.decision.idempotency_key ?? call.pendingCallId,
      get signal() {
        return limit.signal()
      },
    }
    const running = tool.run(async () => run(given, context))
    const work = signal === undefined ? running : untilGivenUp(running, signal)
    const result = await (timeoutMs === undefined ? work : Promise.race([work, limit.expires(timeoutMs)]))
    return { evidence: { outcome: 'succeeded', startedAt, finishedAt: new Date(), result } }
  } catch (thrown) {
    const outcome = outcomeOf(thrown)
    return { evidence: { outcome, startedAt, finishedAt: new Date(), errorCode: codeOf(thrown) }, thrown }
  } finally {
    tool.end()
    limit.clear()
  }
}

/** The end of a tool's time. A kill aborts only, since the tool may still end by itself. */
function createTimeLimit(killSignal: AbortSignal) {
  let controller: AbortController | null = null
  let timer: NodeJS.Timeout | undefined
  const onKill = (): void => controller?.abort(killSignal.reason)
  /** Most tools never look at their signal, and making one costs as much as judging the call. */
  const made = (): AbortController => {
    if (controller !== null) return controller
    controller = new AbortController()
    if (killSignal.aborted) onKill()
    else killSignal.addEventListener('abort', onKill, { once: true })
    return controller
  }
  return {
    signal: () => made().signal,
    /** Aborts and rejects when the time is up. */
    expires(timeoutMs: number): Promise<never> {
      const expired = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          const error = new DOMException(
            `the tool did not finish within ${timeoutMs} ms; its outcome is unknown`,
            'TimeoutError',
          )
          made().abort(error)
          reject(error)
        }, timeoutMs)
      })
      // There may be nothing left to handle the rejection.
      expired.catch(() => {})
      return expired
    },
    clear() {
      clearTimeout(timer)
      if (controller !== null) killSignal.removeEventListener('abort', onKill)
    },
  }
}

/** So long a tool may still say how it ended after its call was given up. */
const GIVEN_UP_GRACE_MS = 250

/** A framework goes on without a tool that it gave up, and the next turn must not wait for that tool for ever. */
function untilGivenUp(running: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const giveUp = (): void => {
      const error = new DOMException('the framework gave the call up; its outcome is unknown', 'AbortError')
      timer = setTimeout(() => reject(error), GIVEN_UP_GRACE_MS)
    }
    const ended = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    running.then(resolve, reject).finally(ended)
  })
}

const INTERRUPTIONS = new Set([
  'AbortError',
  'TimeoutError',
  'ETIMEDOUT',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
])

const outcomeOf = (thrown: unknown): Execution['outcome'] =>
  thrown instanceof NotExecutedError ? 'not_executed' : isInterruption(thrown) ? 'unknown' : 'failed'

/** A tool whose answer was lost may have done its work: that is unknown, not failed. */
function isInterruption(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if (INTERRUPTIONS.has(error.name) || INTERRUPTIONS.has(String(Reflect.get(error, 'code')))) return true
  }
  return false
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'THROWN'
  const code: unknown = Reflect.get(thrown, 'code')
  return typeof code === 'string' && code !== '' ? code : thrown.name
}
