import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Gives a function that ends connections as soon as nothing is answered on them: those between two requests, which Node
 * calls idle, and those on which no request has come, which it does not. Clients leave both open.
 */
export function trackConnections(server: Server): () => void {
  /** How many requests each connection has open. */
  const open = new Map<Socket, number>()
  let isClosing = false
  const set = (socket: Socket, requests: number): void => {
    open.set(socket, requests)
    if (isClosing && requests === 0) socket.destroySoon()
  }
  const count = (socket: Socket, more: number): void => {
    const requests = open.get(socket)
    if (requests !== undefined) set(socket, requests + more)
  }
  server.on('connection', (socket: Socket) => {
    set(socket, 0)
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', ({ socket }, reply) => {
    count(socket, 1)
    reply.once('close', () => count(socket, -1))
  })
  return () => {
    isClosing = true
    for (const socket of open.keys()) count(socket, 0)
  }
}
