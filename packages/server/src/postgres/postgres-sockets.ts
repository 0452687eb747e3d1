import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type DatabaseHost, hostsOf, needsPrimary } from '../base/database-address.js'
import { createHostProbe } from './host-probe.js'
import { createPrimaryWatch, type PrimaryWatch, type Watched } from './primary-watch.js'

/** The sockets of one pool or of several. They know what the driver does not report: whether PostgreSQL is there. */
export interface PostgresSockets {
  /** For the driver, which calls it for every connection. */
  readonly open: (to: PostgresAddress) => Socket
  /** The same where it must first be known which host takes writes; null for one host. */
  readonly openPrimary: (() => Promise<Socket>) | null
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

/** With a URL of several hosts, connections are made to the one that takes writes. */
export function createPostgresSockets(url: string | null = null, watch = watchPrimary): PostgresSockets {
  const sockets = new Set<Socket>()
  const listeners = new Set<(triedAtMs: number) => void>()
  /** Where each leads to, with several hosts. */
  const hostOf = new Map<Socket, DatabaseHost>()
  let turn = 0
  let isWatched = false
  /** With TLS the driver takes our listeners off, so what has ended must be looked for. */
  const connected = () => {
    for (const socket of sockets) if (socket.destroyed) sockets.delete(socket)
    return sockets
  }
  const failed = (triedAtMs: number) => {
    for (const tell of [...listeners]) tell(triedAtMs)
  }
  const open = ({ host, port, path }: PostgresAddress) => {
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
    socket.once('connect', () => setTimeout(() => socket.bytesWritten === 0 && socket.destroy(mute()), MUTE_MS).unref())
    socket.once('close', () => {
      if (socket.bytesRead === 0 && connected().size === 0) failed(triedAtMs)
    })
    // The driver checks the certificate of this name.
    return Object.assign(socket, { host: name })
  }
  const primary = watch(url, {
    inUse: () => connected().size > 0,
    bytesFrom: (host) => [...hostOf].reduce((sum, [socket, to]) => (to === host ? sum + socket.bytesRead : sum), 0),
    changed: (host) => {
      for (const [socket, to] of hostOf) if (to !== host) socket.destroy(replaced())
    },
  })
  return {
    open,
    openPrimary:
      primary &&
      (async () => {
        const triedAtMs = performance.now()
        try {
          const to = await primary.choose()
          const socket = open({ host: [to.host], port: [to.port], path: false })
          for (const old of hostOf.keys()) if (old.destroyed) hostOf.delete(old)
          hostOf.set(socket, to)
          return socket
        } catch (error) {
          failed(triedAtMs)
          return refusal(error as Error)
        }
      }),
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

/** Finds the host that takes writes, where the URL leaves that open. */
function watchPrimary(url: string | null, watched: Watched): PrimaryWatch | null {
  if (url === null || !needsPrimary(url)) return null
  return createPrimaryWatch({ hosts: hostsOf(url), probe: (host) => createHostProbe(url, host), watched })
}

/**
 * A connection that fails at the driver's first word. An exception would do for the statement, but the driver would never
 * use that place in its pool again.
 */
function refusal(why: Error): Socket {
  const socket = new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => done(why),
  })
  return Object.assign(socket, { bytesRead: 0, bytesWritten: 0 }) as unknown as Socket
}

const droppedUnheard = () => closed('the connection to PostgreSQL was dropped before it said a word')
const mute = () => closed('the driver sends nothing on its new connection to PostgreSQL')
const replaced = () => closed('this PostgreSQL does not take writes any more, or is not heard')
const swallowed = () => closed('nothing is heard on the connection to PostgreSQL any more')
const closed = (message: string) => Object.assign(new Error(message), { code: 'CONNECTION_CLOSED' })
