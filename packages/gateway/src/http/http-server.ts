import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayProblem, problemResponse } from '../base/problems.js'
import { readHeaders, refuseForeignOrigin } from './check-request.js'
import { readBody } from './read-body.js'
import { readTarget, type Target } from './read-target.js'
import type { Route } from './route.js'
import { sendResponse } from './send-response.js'

export interface HttpOptions {
  readonly routes: readonly Route[]
  /** The only agent to serve; null for any. */
  readonly agent: string | null
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  /** Gets one line for each failure that is no answer of a route. It never holds a header or a body. */
  readonly log: (line: string) => void
}

/** Every request in order: read the target, check it, find the route, answer. */
export function createHttpServer(options: HttpOptions): Server {
  const routes = new Map(options.routes.map((route) => [route.name, route]))
  const server = createServer({ requireHostHeader: true, keepAliveTimeout: 65_000 }, (message, reply) => {
    void answer(message, reply, routes, options)
  })
  server.requestTimeout = 0
  server.headersTimeout = options.bodyTimeoutMs
  server.on('upgrade', refuseUpgrade)
  server.on('clientError', (_error, socket) => refuseRaw(socket, 400, MALFORMED))
  return server
}

async function answer(
  message: IncomingMessage,
  reply: ServerResponse,
  routes: ReadonlyMap<string, Route>,
  options: HttpOptions,
): Promise<void> {
  const leaving = new AbortController()
  reply.on('close', () => leaving.abort(new Error('the client left')))
  let response: Response
  try {
    response = await handle(message, leaving.signal, routes, options)
  } catch (error) {
    response = problemResponse(problemOf(error, options.log))
  }
  await sendResponse(response, reply, leaving.signal)
}

async function handle(
  message: IncomingMessage,
  signal: AbortSignal,
  routes: ReadonlyMap<string, Route>,
  options: HttpOptions,
): Promise<Response> {
  if (message.url === '/healthz') return Response.json({ status: 'ok' })
  const headers = readHeaders(message)
  refuseForeignOrigin(headers)
  const target = readTarget(message.url ?? '')
  const route = routes.get(target.route)
  if (route === undefined) throw unknownRoute(target, routes)
  if (options.agent !== null && target.agent !== options.agent) {
    throw new GatewayProblem(
      'agent_refused',
      `this gateway serves the agent ${options.agent} alone: check the base URL`,
    )
  }
  const { agent, path, query } = target
  const limits = { maxBytes: options.maxBodyBytes, timeoutMs: options.bodyTimeoutMs }
  return route.handle({
    agent,
    path,
    query,
    method: message.method ?? 'GET',
    headers,
    body: () => readBody(message, limits),
    signal,
  })
}

function problemOf(error: unknown, log: (line: string) => void): GatewayProblem {
  if (error instanceof GatewayProblem) return error
  // The message of an unforeseen error may hold anything, so that only its kind and place are told.
  const id = randomUUID()
  const place = error instanceof Error ? (/\n\s+at ([^\n]*)/.exec(error.stack ?? '')?.[1] ?? '') : ''
  log(`internal error ${id}: ${error instanceof Error ? error.name : typeof error} ${place}`)
  return new GatewayProblem('internal', `the gateway failed; nothing was let through. Its log says more under ${id}`)
}

function unknownRoute({ agent, route }: Target, routes: ReadonlyMap<string, Route>): GatewayProblem {
  const known = [...routes.keys()].map((name) => `/${agent}/${name}`).join(', ')
  return new GatewayProblem('not_found', `the gateway has no route /${agent}/${route}: use ${known}`)
}

const UPGRADE =
  'WebSocket connections are not governed: tool calls in them would pass unseen. Use chat/completions, responses or ' +
  'messages over HTTP'
const MALFORMED = 'the request is not valid HTTP'

function refuseUpgrade(_message: IncomingMessage, socket: Duplex): void {
  refuseRaw(socket, 400, UPGRADE, 'upgrade_refused')
}

function refuseRaw(socket: Duplex, status: number, text: string, code = 'malformed'): void {
  if (!socket.writable) return
  const body = JSON.stringify({
    type: 'error',
    error: { type: 'countersign_gateway', code: `countersign_${code}`, message: text },
  })
  socket.end(
    `HTTP/1.1 ${status} Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-should-retry: false\r\nConnection: close\r\n\r\n${body}`,
  )
}
