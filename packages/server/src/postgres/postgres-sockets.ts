import { connect, type Socket } from 'node:net'

/** The sockets of one pool or of several. They know what the driver does not report: whether PostgreSQL is there. */
export interface PostgresSockets {
  /** For the driver, which calls it for every connection. */
  readonly open: (to: PostgresAddress) => Socket
  /** PostgreSQL has spoken on a connection that still stands. */
  readonly isHeard: () => boolean
  /** Calls back when PostgreSQL did not speak on the last connection that was tried. Returns how to stop that. */
  readonly onFailure: (failed: (triedAtMs: number) => void) => () => void
  /**
   * Breaks the connections on which nothing is heard for so long from now on. Where a network swallows everything nobody
   * else would for a quarter of an hour, and no statement would reach the PostgreSQL that took over.
   */
  readonly breakSilent: (ms: number) => void
}

/** As the driver has read it from the URL. */
export interface PostgresAddress {
  readonly host: readonly string[]
  readonly port: readonly number[]
  /** Of a Unix socket, in place of host and port. */
  readonly path: string | false
}

/** The driver writes as soon as it has a socket. */
const MUTE_MS = 200

export function createPostgresSockets(): PostgresSockets {
  const sockets = new Set<Socket>()
  const listeners = new Set<(triedAtMs: number) => void>()
  let turn = 0
  let isWatched = false
  /** With TLS the driver takes our listeners off, so what has ended must be looked for. */
  const connected = () => {
    for (const socket of sockets) if (socket.destroyed) sockets.delete(socket)
    return sockets
  }
  return {
    open: ({ host, port, path }) => {
      const at = turn++ % host.length
      const name = host[at] ?? 'localhost'
      // The driver writes before the connection is made; the socket buffers that.
      const socket = path === false ? connect(port[at] ?? 5432, name) : connect(path)
      const triedAtMs = performance.now()
      connected().add(socket)
      // A proxy whose PostgreSQL is gone takes connections and drops them. For the driver that is no error: it would try
      // again without end, and its statement would wait as long.
      socket.once('end', () => {
        if (socket.bytesRead === 0) socket.destroy(droppedUnheard())
      })
      // What the driver had not sent when a connection broke stops it from sending anything on the next. It recovers by
      // itself after some attempts, so they should be short.
      socket.once('connect', () =>
        setTimeout(() => socket.bytesWritten === 0 && socket.destroy(mute()), MUTE_MS).unref(),
      )
      socket.once('close', () => {
        if (socket.bytesRead > 0 || connected().size > 0) return
        for (const failed of [...listeners]) failed(triedAtMs)
      })
      // The driver checks the certificate of this name.
      return Object.assign(socket, { host: name })
    },
    isHeard: () => [...connected()].some(({ bytesRead }) => bytesRead > 0),
    breakSilent: (ms) => {
      if (isWatched) return
      isWatched = true
      const readBefore = new Map([...connected()].map((socket) => [socket, socket.bytesRead]))
      const look = () => {
        isWatched = false
        for (const [socket, bytes] of readBefore) if (socket.bytesRead === bytes) socket.destroy(swallowed())
      }
      setTimeout(look, ms).unref()
    },
    onFailure: (failed) => {
      listeners.add(failed)
      return () => listeners.delete(failed)
    },
  }
}

const droppedUnheard = () => closed('the connection to PostgreSQL was dropped before it said a word')
const mute = () => closed('the driver sends nothing on its new connection to PostgreSQL')
const swallowed = () => closed('nothing is heard on the connection to PostgreSQL any more')
const closed = (message: string) => Object.assign(new Error(message), { code: 'CONNECTION_CLOSED' })
