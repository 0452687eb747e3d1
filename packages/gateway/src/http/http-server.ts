import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayProblem, problemResponse } from '../base/problems.js'
import { readHeaders, refuseForeignPage } from './check-request.js'
import type { Limits } from './limits.js'
import { readBody } from './read-body.js'
import { readTarget, type Target } from './read-target.js'
import type { Route } from './route.js'
import { sendResponse } from './send-response.js'

export interface HttpOptions {
  readonly routes: readonly Route[]
  /** The name or address to listen on. */
  readonly host: string
  /** The only agent to serve; null for any. */
  readonly agent: string | null
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  readonly limits: Limits
  readonly maxConnections: number
  /** Gets one line for each failure that is no answer of a route. It never holds a header or a body. */
  readonly log: (line: string) => void
}

/** Every request in order: read the target, check it, find the route, answer. */
export function createHttpServer(options: HttpOptions): Server {
  const routes = new Map(options.routes.map((route) => [route.name, route]))
  const server = createServer({ requireHostHeader: true, keepAliveTimeout: 65_000 }, (message, reply) => {
    void answer(message, reply, { ...options, routes })
  })
  server.requestTimeout = 0
  server.headersTimeout = options.bodyTimeoutMs
  server.on('upgrade', refuseUpgrade)
  server.on('clientError', (_error, socket) => refuseRaw(socket, 'malformed', MALFORMED))
  boundConnections(server, options.maxConnections)
  return server
}

/** While one is refused it counts too: beyond these a connection is closed without a word. */
const MAX_REFUSALS = 100

function boundConnections(server: Server, most: number): void {
  const [serve] = server.listeners('connection') as [(socket: Socket) => void]
  let open = 0
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
    })
    if (open <= most) serve.call(server, socket)
    else refuseConnection(socket)
  })
  server.maxConnections = most + MAX_REFUSALS
}

const REFUSED_MS = 1_000

/** Whatever is asked: the answer is there before the question, and the connection ends. */
function refuseConnection(socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.once('close', () => clearTimeout(cut)).on('error', () => {})
  refuseRaw(socket.resume(), 'busy', TOO_MANY)
}

interface Parts extends Omit<HttpOptions, 'routes'> {
  readonly routes: ReadonlyMap<string, Route>
}

async function answer(message: IncomingMessage, reply: ServerResponse, parts: Parts): Promise<void> {
  const leaving = new AbortController()
  reply.on('close', () => leaving.abort(new Error('the client left')))
  let response: Response
  try {
    response = await handle(message, leaving.signal, parts)
  } catch (error) {
    // Nobody reads what is said to a client that left, which is no failure either.
    response = problemResponse(problemOf(error, leaving.signal.aborted ? () => {} : parts.log))
  }
  await sendResponse(response, reply, leaving.signal)
}

async function handle(message: IncomingMessage, signal: AbortSignal, parts: Parts): Promise<Response> {
  if (message.url === '/healthz') return Response.json({ status: 'ok' })
  const { routes, agent: served } = parts
  const headers = readHeaders(message)
  refuseForeignPage(headers, parts.host)
  const target = readTarget(message.url ?? '')
  const route = routes.get(target.route)
  if (route === undefined) throw unknownRoute(target, routes)
  if (served !== null && target.agent !== served) {
    throw new GatewayProblem('agent_refused', `this gateway serves the agent ${served} alone: check the base URL`)
  }
  const { agent, path, query } = target
  const limits = { maxBytes: parts.maxBodyBytes, timeoutMs: parts.bodyTimeoutMs }
  const held = parts.limits.admit()
  signal.addEventListener('abort', held.leave)
  return route.handle({
    agent,
    path,
    query,
    method: message.method ?? 'GET',
    headers,
    body: () => readBody(message, held, limits),
    held,
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
const TOO_MANY = 'the gateway has as many connections as it may (--max-connections): try again soon'

function refuseUpgrade(_message: IncomingMessage, socket: Duplex): void {
  refuseRaw(socket, 'upgrade_refused', UPGRADE)
}

const STATUS = {
  malformed: '400 Bad Request',
  upgrade_refused: '400 Bad Request',
  busy: '503 Service Unavailable',
} as const

function refuseRaw(socket: Duplex, code: keyof typeof STATUS, text: string): void {
  if (!socket.writable) return
  const body = JSON.stringify({
    type: 'error',
    error: { type: 'countersign_gateway', code: `countersign_${code}`, message: text },
  })
  const retry = code === 'busy' ? 'Retry-After: 1\r\nx-should-retry: true' : 'x-should-retry: false'
  socket.end(
    `HTTP/1.1 ${STATUS[code]}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `${retry}\r\nConnection: close\r\n\r\n${body}`,
  )
}
