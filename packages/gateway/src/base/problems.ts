/** What the gateway refuses by itself, before or instead of an upstream. */
export const PROBLEMS = {
  path_invalid: { status: 400, title: 'the path cannot be read safely' },
  header_repeated: { status: 400, title: 'duplicate security-relevant header' },
  body_invalid: { status: 400, title: 'the body is not what this route reads' },
  body_depth: { status: 400, title: 'the body is nested more deeply than the gateway reads' },
  session_invalid: { status: 400, title: 'the session header is not the id of a session' },
  principal_invalid: { status: 400, title: 'the header with the principal token cannot be a token' },
  unauthorized: { status: 401, title: 'the API key or token of Countersign is missing or another' },
  origin_refused: { status: 403, title: 'a web page may not use the gateway' },
  agent_refused: { status: 403, title: 'this gateway does not serve the agent' },
  principal_differs: { status: 403, title: 'the session acts for another principal' },
  not_governed: { status: 403, title: 'the request cannot be governed' },
  not_found: { status: 404, title: 'the gateway has no such route' },
  method_refused: { status: 405, title: 'the route does not take this method' },
  body_slow: { status: 408, title: 'the body came too slowly' },
  body_too_large: { status: 413, title: 'the body is larger than the gateway reads' },
  body_values: { status: 413, title: 'the body has more values or names than the gateway reads' },
  content_type: { status: 415, title: 'the body must be JSON' },
  upgrade_refused: { status: 400, title: 'connections cannot be upgraded' },
  upstream_unreachable: { status: 502, title: 'the upstream did not answer' },
  upstream_invalid: { status: 502, title: 'the answer of the upstream cannot be judged' },
  service_unavailable: { status: 503, title: 'the Countersign server cannot be asked, so nothing is let through' },
  busy: { status: 503, title: 'too many requests, bodies or connections at once' },
  internal: { status: 500, title: 'the gateway failed' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** A refusal of the gateway's own. The message says what happened, why, and what to do; it holds no secret. */
export class GatewayProblem extends Error {
  override readonly name = 'GatewayProblem'
  readonly code: ProblemCode

  constructor(code: ProblemCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  get status(): number {
    return PROBLEMS[this.code].status
  }
}

/**
 * A refusal in the shape that clients of OpenAI, Anthropic and MCP all read: an object `error` with a message. Official
 * clients retry 408, 409, 429 and 5xx unless `x-should-retry` says otherwise; a refusal is the same next time.
 */
export function problemResponse(problem: GatewayProblem, headers: Record<string, string> = {}): Response {
  const { code, message, status } = problem
  const body = { type: 'error', error: { type: 'countersign_gateway', code: `countersign_${code}`, message } }
  const mayHelp = code === 'upstream_unreachable' || code === 'service_unavailable' || code === 'busy'
  const seconds = code === 'busy' ? '1' : code === 'service_unavailable' ? '2' : null
  const after: Record<string, string> = seconds === null ? {} : { 'retry-after': seconds }
  return Response.json(body, { status, headers: { ...headers, ...after, 'x-should-retry': String(mayHelp) } })
}
