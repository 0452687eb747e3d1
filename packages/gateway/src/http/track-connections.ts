import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Gives a function that ends the connections on which nothing is answered: those between two requests, which Node calls
 * idle, and those on which no request has come, which it does not.
 */
export function trackConnections(server: Server): () => void {
  /** How many requests each connection has open. */
  const open = new Map<Socket, number>()
  const count = (socket: Socket, more: number): void => {
    const requests = open.get(socket)
    if (requests !== undefined) open.set(socket, requests + more)
  }
  server.on('connection', (socket: Socket) => {
    open.set(socket, 0)
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', ({ socket }, reply) => {
    count(socket, 1)
    reply.once('close', () => count(socket, -1))
  })
  return () => {
    for (const [socket, requests] of open) if (requests === 0) socket.destroy()
  }
}
