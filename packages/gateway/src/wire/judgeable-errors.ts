import { holdsCallShape, readResponse } from '@countersign/engine'
import { GatewayProblem, problemResponse } from '../base/problems.js'

/**
 * A `fetch` whose errors hold no tool calls. An error of the provider passes as it came, and a client that does not look
 * at the status would run the calls in it.
 */
export function judgeableErrors(upstream: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await upstream(input, init)
    if (response.ok || response.body === null) return response
    if (/event-stream/i.test(response.headers.get('content-type') ?? '')) {
      await response.body.cancel()
      return withoutBody(response)
    }
    const text = await response.text()
    const { status, statusText, headers } = response
    return holdsCalls(text) ? withoutBody(response) : new Response(text, { status, statusText, headers })
  }
}

function holdsCalls(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return holdsCallShape(value) || readResponse(value).calls.length > 0
  } catch {
    // What is no JSON is no answer of a model.
    return false
  }
}

/** The status and the headers stay: clients decide by them whether they try again. */
function withoutBody({ status, headers: given }: Response): Response {
  const problem = new GatewayProblem(
    'upstream_invalid',
    `the upstream answered with status ${status} and tool calls, or a stream, in place of an error: nothing of it was let through`,
  )
  const headers = new Headers(given)
  headers.set('content-type', 'application/json')
  return new Response(problemResponse(problem).body, { status, headers })
}
