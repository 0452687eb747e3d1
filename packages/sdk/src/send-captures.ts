import { capturesReply, ROUTES } from '@countersign/protocol'
import { messageOf } from './diagnostics.js'

/** Sends one batch of captures, each as JSON. Never throws: what went wrong is part of the answer. */
export type SendCaptures = (batch: readonly string[]) => Promise<SendOutcome>

export type SendOutcome =
  /** `problem` says what the server refused of the batch; null when nothing. */
  | { kind: 'delivered'; problem: string | null }
  | { kind: 'throttled'; retryAfterMs: number }
  | { kind: 'failed'; problem: string; retry: boolean }

export interface CaptureEndpoint {
  endpoint: string
  apiKey: string
  timeoutMs: number
  fetch: typeof fetch
}

export function captureSender({ endpoint, apiKey, timeoutMs, fetch }: CaptureEndpoint): SendCaptures {
  return async (batch) => {
    try {
      const response = await fetch(`${endpoint}${ROUTES.ingestCaptures.path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: `{"captures":[${batch.join(',')}]}`,
        signal: AbortSignal.timeout(timeoutMs),
      })
      const body = await response.text()
      return outcomeOf(response, body)
    } catch (error) {
      const problem = `captures could not be sent to ${endpoint}: ${messageOf(error)}`
      return { kind: 'failed', problem, retry: true }
    }
  }
}

const RETRY_AFTER_DEFAULT_MS = 10_000

function outcomeOf(response: Response, body: string): SendOutcome {
  if (response.ok) return { kind: 'delivered', problem: rejectedIn(body) }
  if (response.status === 429) {
    const seconds = Number(response.headers.get('retry-after'))
    return { kind: 'throttled', retryAfterMs: seconds > 0 ? seconds * 1_000 : RETRY_AFTER_DEFAULT_MS }
  }
  const problem = `the service refused captures with status ${response.status}`
  // What is wrong with a request stays wrong; what is wrong with the service may pass.
  return { kind: 'failed', problem, retry: response.status >= 500 || response.status === 408 }
}

function rejectedIn(body: string): string | null {
  try {
    const reply = capturesReply.parse(JSON.parse(body))
    const [first] = reply.rejected
    return first === undefined ? null : `${reply.rejected.length} captures were refused: ${first.message}`
  } catch {
    return 'the service answered captures with something that is no reply to them'
  }
}
