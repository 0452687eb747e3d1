import type { Admitted } from './limits.js'

/** A request whose path, headers and origin were checked. */
export interface GatewayRequest {
  /** The agent that the path names. */
  readonly agent: string
  /** What follows `/{agent}/{route}`: `/v1/chat/completions`, or empty. No `..`, no escaped slash. */
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
  readonly method: string
  readonly headers: Headers
  /** The whole body. Throws a `GatewayProblem` when it is too large, too slow, or one too many. */
  body(): Promise<Uint8Array<ArrayBuffer>>
  /** What the body takes of memory, until the request is answered. */
  readonly held: Pick<Admitted, 'hold'>
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

/** What the gateway serves under `/{agent}/{name}`. */
export interface Route {
  readonly name: string
  /** Answers a request. A `GatewayProblem` that it throws becomes the answer. */
  handle(request: GatewayRequest): Promise<Response>
  /** The gateway is about to stop: what would go on by itself ends. */
  stopping?(): void
  /** The gateway stops: no request comes any more. */
  close?(): Promise<void>
}
