import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Metrics } from '../base/metrics.js'
import { type ConnectionParts, createConnections } from './connections.js'
import { errorReply } from './error-reply.js'
import { countPieces, stopParsing } from './parser-hooks.js'

/** How long each part of a connection's life may take, in milliseconds. A body has its own limit, and so has a reply. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
}

/** Node's HTTP server with bounds for everything that a stranger can hold open. */
export function createHttpServer(app: RequestListener, parts: ConnectionParts): Server {
  const connections = createConnections(parts)
  const begin: RequestListener = (incoming, outgoing) => {
    connections.begin(incoming, outgoing)
    app(incoming, outgoing)
  }
  const serveRight = withRightHead(oneAtATime(begin, parts.metrics), parts.metrics)
  // What Node refuses by itself passes none of our bounds: a stranger's read of 64 kB had 2,500 requests without a host.
  const server = createServer({ ...TIMEOUTS, requireHostHeader: false }, serveRight)
  server.on('checkExpectation', serveRight)
  // Node drops what comes after them without a word: more than are refused, so that a request is served whole or not.
  server.maxHeadersCount = 2 * LIMITS.headerLines
  const [serve] = server.listeners('connection') as [(socket: Socket) => void]
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    if (connections.admit(socket)) serve.call(server, socket)
  })
  // Those that are being refused count as well: beyond them a connection is closed without a word.
  server.maxConnections = parts.config.maxConnections + MAX_REFUSALS
  return server
}

const MAX_REFUSALS = 200

/** Refuses a request whose head is wrong, and ends its connection: what follows on it is not read. */
function withRightHead(serve: RequestListener, metrics: Metrics): RequestListener {
  return (incoming, outgoing) => {
    const problem = problemOfHead(incoming)
    if (problem === null) {
      serve(incoming, outgoing)
      return
    }
    metrics.count('countersign_connections_dropped_total', { reason: problem.reason })
    stopParsing(incoming.socket)
    const { status, body, headers } = errorReply(new ApiError('INVALID_REQUEST', { detail: problem.detail }))
    outgoing.writeHead(status, { ...headers, connection: 'close' }).end(body)
  }
}

function problemOfHead({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): { reason: string; detail: string } | null {
  // A name and a value for each. Each takes time wherever a header is looked for.
  if (rawHeaders.length > 2 * LIMITS.headerLines)
    return { reason: 'header_lines', detail: `more than ${LIMITS.headerLines} header lines` }
  if (headers.host === undefined && httpVersion === '1.1')
    return { reason: 'no_host', detail: 'the header host is missing' }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return { reason: 'expectation', detail: 'the header expect may be 100-continue only' }
  return null
}

/**
 * Requests on one connection that wait for the reply to another. Clients that pipeline are rare, and need few. Node reads
 * them for all connections before anything else goes on: those of 440 connections, nine each, took 0.3 seconds.
 */
const MAX_PIPELINED = 2

/**
 * Begins the requests of one connection one after another. Node begins every request that it has read, so that a client
 * which asks often and never reads would be served in full, and others could not even connect meanwhile.
 */
function oneAtATime(app: RequestListener, metrics: Metrics): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (incoming, outgoing) => {
    countPieces(incoming)
    // A reply has no socket while the one before it has it.
    if (outgoing.socket !== null) {
      app(incoming, outgoing)
      return
    }
    const { socket } = incoming
    const before = waiting.get(socket) ?? 0
    if (before >= MAX_PIPELINED) {
      if (!socket.destroyed) metrics.count('countersign_connections_dropped_total', { reason: 'pipelined' })
      stopParsing(socket)
      socket.destroy()
      return
    }
    waiting.set(socket, before + 1)
    outgoing.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      app(incoming, outgoing)
    })
  }
}
