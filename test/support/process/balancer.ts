import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Balancer {
  readonly origin: string
  close(): Promise<void>
}

/** Gives each connection to the next of several instances; one that refuses it is passed over. It checks nothing else. */
export async function startBalancer(origins: () => readonly string[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let turn = 0
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
  }
  const join = (near: Socket, [origin, ...others]: readonly string[]): void => {
    if (origin === undefined) return void near.destroy()
    const { port, hostname } = new URL(origin)
    const far = connect(Number(port), hostname)
    const passOver = () => join(near, others)
    far.once('error', passOver)
    far.once('connect', () => {
      far.off('error', passOver)
      keep(far)
      // An end of one side reaches the other one after everything that was said before it.
      near.pipe(far).pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', (failed) => failed && near.destroy())
    })
  }
  const server = createServer((near) => {
    keep(near)
    const all = origins()
    const first = turn++ % Math.max(1, all.length)
    join(near, [...all.slice(first), ...all.slice(0, first)])
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = new Promise((done) => server.close(done))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
