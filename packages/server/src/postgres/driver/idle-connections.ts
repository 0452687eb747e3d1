import type { Socket } from 'node:net'
import type { Sql } from '../sql.js'

/** The sockets of one pool, while they stand. */
export interface PoolSockets {
  readonly add: (socket: Socket) => Socket
  readonly connected: () => readonly Socket[]
}

export function createPoolSockets(): PoolSockets {
  const sockets = new Set<Socket>()
  return {
    add: (socket) => {
      sockets.add(socket)
      return socket
    },
    connected: () => {
      for (const socket of sockets) if (socket.destroyed) sockets.delete(socket)
      return [...sockets].filter(({ bytesRead }) => bytesRead > 0)
    },
  }
}

/**
 * Uses all idle connections of a pool at once. The driver takes the next one by counting on in a list, which it shortens
 * only when none is left in it, and which it searches from its start for every statement: with two idle connections and
 * work for one the list would grow by an entry a statement, for as long as the process lives.
 */
export async function useAllAtOnce(pool: Sql, sockets: PoolSockets): Promise<void> {
  await Promise.allSettled(sockets.connected().map(() => pool.unsafe('select 1')))
}

const EVERY_MS = 2_000
/** About a thousand statements: below that the list is short enough. */
const WORTH_BYTES = 1_000_000

/** Keeps the list short while the pool is in use. Returns how to stop that. */
export function keepIdleListShort(pool: Sql, sockets: PoolSockets): () => void {
  let before = 0
  const look = () => {
    const connected = sockets.connected()
    const written = connected.reduce((bytes, socket) => bytes + socket.bytesWritten, 0)
    if (connected.length < 2 || Math.abs(written - before) < WORTH_BYTES) return
    before = written
    void useAllAtOnce(pool, sockets)
  }
  const timer = setInterval(look, EVERY_MS).unref()
  return () => clearInterval(timer)
}
