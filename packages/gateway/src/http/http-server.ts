import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../base/log.js'
import type { Metrics } from '../base/metrics.js'
import { GatewayProblem, problemResponse } from '../base/problems.js'
import { SESSION_HEADER } from '../base/session-header.js'
import { readHeaders, refuseForeignPage } from './check-request.js'
import type { Limits } from './limits.js'
import type { OwnPages } from './own-pages.js'
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
  readonly pages: OwnPages
  readonly log: Log
  readonly metrics: Metrics
}

/** Every request in order: read the target, check it, find the route, answer. */
export function createHttpServer(options: HttpOptions): Server {
  const routes = new Map(options.routes.map((route) => [route.name, route]))
  for (const route of routes.keys())
    for (const status of ['200', '500', '502', '503']) options.metrics.requests.inc({ route, status }, 0)
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
  const { log, metrics } = parts
  const startedMs = performance.now()
  const asked: Asked = { request_id: `req_${randomUUID()}`, method: message.method ?? 'GET', route: 'unknown' }
  const leaving = new AbortController()
  reply.on('close', () => leaving.abort(new Error('the client left')))
  let response: Response
  try {
    response = await handle(message, leaving.signal, { ...parts, asked })
  } catch (error) {
    const problem = error instanceof GatewayProblem ? error : internal(asked)
    // A client that left is no failure.
    if (problem.code === 'internal' && !leaving.signal.aborted)
      log.error({ ...asked, ...placeOf(error) }, 'internal error')
    response = problemResponse(problem)
  }
  const { status, headers } = response
  await sendResponse(response, reply, leaving.signal)
  const ms = performance.now() - startedMs
  metrics.requests.inc({ route: asked.route, status: String(status) })
  metrics.durations.observe({ route: asked.route }, ms / 1_000)
  const session = headers.get(SESSION_HEADER)
  log.info({ ...asked, ...(session !== null && { session_id: session }), status, ms: Math.round(ms) }, 'answered')
}

/** What the log says of a request, as far as it is known. */
interface Asked {
  readonly request_id: string
  readonly method: string
  route: string
  agent?: string
}

async function handle(
  message: IncomingMessage,
  signal: AbortSignal,
  parts: Parts & { asked: Asked },
): Promise<Response> {
  const { routes, agent: served, asked } = parts
  const page = parts.pages.get(message.url ?? '')
  if (page !== undefined) {
    asked.route = message.url ?? ''
    return page(message.headers.authorization)
  }
  const headers = readHeaders(message)
  refuseForeignPage(headers, parts.host)
  const target = readTarget(message.url ?? '')
  const route = routes.get(target.route)
  if (route === undefined) throw unknownRoute(target, routes)
  if (served !== null && target.agent !== served) {
    throw new GatewayProblem('agent_refused', `this gateway serves the agent ${served} alone: check the base URL`)
  }
  const { agent, path, query } = target
  asked.route = route.name
  asked.agent = agent
  const limits = { maxBytes: parts.maxBodyBytes, timeoutMs: parts.bodyTimeoutMs }
  const held = parts.limits.admit()
  signal.addEventListener('abort', held.leave)
  return route.handle({
    agent,
    path,
    query,
    method: asked.method,
    headers,
    body: () => readBody(message, held, limits),
    held,
    signal,
  })
}

const internal = ({ request_id }: Asked): GatewayProblem =>
  new GatewayProblem('internal', `the gateway failed; nothing was let through. Its log says more under ${request_id}`)

/** The message of an unforeseen error may hold anything, so that only its kind and place are told. */
function placeOf(error: unknown): { readonly error: string; readonly place: string } {
  if (!(error instanceof Error)) return { error: typeof error, place: '' }
  return { error: error.name, place: /\n\s+at ([^\n]*)/.exec(error.stack ?? '')?.[1] ?? '' }
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
