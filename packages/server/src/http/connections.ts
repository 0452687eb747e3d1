import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey, plainAddress, siteOf } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import type { Config } from '../base/config.js'
import type { Log } from '../base/log.js'
import type { Metrics } from '../base/metrics.js'
import { createHolders } from '../base/work/holders.js'
import { clientAddressBehind, trustedNetworks } from './client-address.js'
import { errorReply } from './error-reply.js'
import { stopParsing } from './parser-hooks.js'

export interface ConnectionParts {
  readonly config: Pick<Config, 'maxConnections' | 'maxConnectionsPerAddress' | 'trustedProxies'>
  readonly log: Log
  readonly metrics: Metrics
}

/** Which connections are open, and which of them has to go when there is no room for another. */
export interface Connections {
  /** Whether a new connection is served. Otherwise it is told why, and closed. */
  admit(socket: Socket): boolean
  /** A request is under way on its connection. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void
}

type Refusal = 'too_many' | 'too_many_of_address'

const REFUSALS: Readonly<Record<Refusal, string>> = {
  too_many: 'this instance has as many connections as it may (COUNTERSIGN_MAX_CONNECTIONS); try again soon',
  too_many_of_address:
    'this address has as many connections as it may (COUNTERSIGN_MAX_CONNECTIONS_PER_ADDRESS); close some of them',
}

interface Connection {
  readonly socket: Socket
  readonly isProxy: boolean
  /** Shares the limit for one address. */
  readonly network: string
  readonly site: string
  underWay: IncomingMessage | null
}

export function createConnections({ config, log, metrics }: ConnectionParts): Connections {
  const isProxy = trustedNetworks(config.trustedProxies)
  const clientAddress = clientAddressBehind(config.trustedProxies)
  const open = new Map<Socket, Connection>()
  const perNetwork = new Map<string, number>()
  /** Those that wait for their client, by its site: for a head, or for the rest of a body. */
  const waiting = createHolders<Connection>()
  let saidAtMs = Number.NEGATIVE_INFINITY

  const say = (reason: string, socket: Socket) => {
    metrics.count('countersign_connections_dropped_total', { reason })
    if (performance.now() - saidAtMs <= SAY_AGAIN_MS) return
    saidAtMs = performance.now()
    log.warn({ reason, address: socket.remoteAddress, connections: open.size }, 'connections are refused')
  }

  const forget = (connection: Connection) => {
    if (!open.delete(connection.socket)) return
    waiting.remove(connection)
    const left = (perNetwork.get(connection.network) ?? 0) - 1
    if (left > 0) perNetwork.set(connection.network, left)
    else perNetwork.delete(connection.network)
  }

  /** Closes a connection of whoever has most that wait, so that nobody keeps the others out. */
  const displaceFor = (own: number): boolean => {
    for (let largest = waiting.ofLargest(); largest !== null; largest = waiting.ofLargest()) {
      const { oldest, held } = largest
      if (held <= own + 1) return false
      if (oldest.underWay?.complete) {
        // Its body came meanwhile.
        waiting.remove(oldest)
        continue
      }
      say('displaced', oldest.socket)
      forget(oldest)
      stopParsing(oldest.socket)
      oldest.socket.destroy()
      return true
    }
    return false
  }

  const problemOf = ({ network, isProxy }: Connection): Refusal | null => {
    // Behind a proxy all clients come from its address, and nobody knows yet which one this is.
    const own = isProxy ? 0 : (perNetwork.get(network) ?? 0)
    if (own >= config.maxConnectionsPerAddress) return 'too_many_of_address'
    return open.size >= config.maxConnections && !displaceFor(own) ? 'too_many' : null
  }

  return {
    admit: (socket) => {
      const address = plainAddress(socket.remoteAddress ?? '')
      const [network, site] = [addressKey(address), siteOf(address)]
      const connection = { socket, isProxy: isProxy(address), network, site, underWay: null }
      const reason = problemOf(connection)
      if (reason !== null) {
        say(reason, socket)
        answerBusy(socket, reason)
        return false
      }
      open.set(socket, connection)
      perNetwork.set(network, (perNetwork.get(network) ?? 0) + 1)
      waiting.add(connection, site)
      socket.once('close', () => forget(connection))
      return true
    },
    begin: (incoming, outgoing) => {
      const connection = open.get(incoming.socket)
      if (connection === undefined) return
      connection.underWay = incoming
      if (!hasBody(incoming)) waiting.remove(connection)
      else waiting.add(connection, connection.isProxy ? siteOf(clientAddress(incoming)) : connection.site)
      outgoing.once('close', () => {
        // The next request may have begun already.
        if (connection.underWay !== incoming) return
        connection.underWay = null
        if (open.has(connection.socket)) waiting.add(connection, connection.site)
      })
    },
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const SAY_AGAIN_MS = 60_000
const REFUSED_MS = 1_000

/** Whatever is asked: the answer is there before the question, and the connection ends. */
function answerBusy(socket: Socket, reason: Refusal): void {
  const { body } = errorReply(new ApiError('BUSY', { detail: REFUSALS[reason] }))
  const head = [
    'HTTP/1.1 503 Service Unavailable',
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'retry-after: 1',
    'connection: close',
  ]
  socket.on('error', () => {})
  socket.setTimeout(REFUSED_MS, () => socket.destroy())
  const cut = setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.once('close', () => clearTimeout(cut))
  socket.resume().end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
