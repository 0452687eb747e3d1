import { capturesReply, fixFor, problemSchema, ROUTES } from '@countersign/protocol'
import { messageOf } from '../base/diagnostics.js'
import type { Exchange, HttpAnswer } from '../base/exchange.js'

/** Sends one batch of captures, each as JSON. Never throws: what went wrong is part of the answer. */
export type SendCaptures = (batch: readonly string[]) => Promise<SendOutcome>

export type SendOutcome =
  /** `problem` says what the server refused of the batch; null when nothing. */
  | { kind: 'delivered'; problem: string | null }
  | { kind: 'throttled'; retryAfterMs: number }
  /** Something in the batch cannot be taken. */
  | { kind: 'refused'; problem: string }
  | { kind: 'failed'; problem: string; retry: boolean }

export interface CaptureEndpoint {
  endpoint: string
  apiKey: string
  timeoutMs: number
  exchange: Exchange
}

export function captureSender({ endpoint, apiKey, timeoutMs, exchange }: CaptureEndpoint): SendCaptures {
  const url = `${endpoint}${ROUTES.ingestCaptures.path}`
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  return async (batch) => {
    try {
      const body = `{"captures":[${batch.join(',')}]}`
      return outcomeOf(await exchange({ method: 'POST', url, headers, body, timeoutMs }))
    } catch (error) {
      const problem = `captures could not be sent to ${endpoint}: ${messageOf(error)}`
      return { kind: 'failed', problem, retry: true }
    }
  }
}

const RETRY_AFTER_DEFAULT_MS = 10_000

function outcomeOf({ status, retryAfter, body }: HttpAnswer): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', problem: rejectedIn(body) }
  if (status === 429) {
    const seconds = Number(retryAfter)
    return { kind: 'throttled', retryAfterMs: seconds > 0 ? seconds * 1_000 : RETRY_AFTER_DEFAULT_MS }
  }
  const fix = fixFor(status, codeIn(body))
  const problem = `the server rejected captures with status ${status}${fix === null ? '' : `: ${fix}`}`
  if (status === 400 || status === 413 || status === 422) return { kind: 'refused', problem }
  // What is wrong with a request stays wrong; what is wrong with the service may pass.
  return { kind: 'failed', problem, retry: status >= 500 || status === 408 }
}

/** The code of a problem document; undefined when the body is none, as from a proxy. */
function codeIn(body: string): unknown {
  try {
    return problemSchema.safeParse(JSON.parse(body)).data?.code
  } catch {
    return undefined
  }
}

function rejectedIn(body: string): string | null {
  try {
    const reply = capturesReply.parse(JSON.parse(body))
    const [first] = reply.rejected
    return first === undefined ? null : `${reply.rejected.length} captures were refused: ${first.message}`
  } catch {
    return 'the server responded to captures with an unexpected body'
  }
}
