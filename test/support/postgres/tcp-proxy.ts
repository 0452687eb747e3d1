import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  /** The address of the target, through the proxy. */
  url: string
  /** Drops every connection and takes no new ones, as if the target were gone. */
  cut(): Promise<void>
  /** Drops every connection, even one that PostgreSQL does not list yet, and takes new ones. */
  drop(): Promise<void>
  /** Takes connections again, at the same address. */
  heal(): Promise<void>
  /** Passes nothing on any more over the connections that there are, and breaks none. New ones work. */
  swallow(): void
  close(): Promise<void>
}

/** Stands between a program and PostgreSQL, so that a test can take the database away and give it back. */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  const pairs = new Set<[Socket, Socket]>()
  const swallow = () => {
    for (const [near, far] of pairs) {
      near.unpipe(far).resume()
      far.unpipe(near).resume()
    }
  }
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
  }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    keep(near)
    keep(far)
    near.pipe(far).pipe(near)
    pairs.add([near, far])
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  const listen = (port: number) => new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  const drop = async () => {
    const closed = [...sockets].map((socket) => new Promise((done) => socket.once('close', done)))
    for (const socket of sockets) socket.destroy()
    await Promise.all(closed)
  }
  const cut = async () => {
    const closed = new Promise((done) => server.close(done))
    await drop()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const url = new URL(targetUrl)
  url.port = String(port)
  return {
    url: url.href,
    cut,
    drop,
    heal: () => listen(port),
    swallow,
    close: async () => void (server.listening && (await cut())),
  }
}
