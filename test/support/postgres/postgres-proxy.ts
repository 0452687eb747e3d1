import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface PostgresProxy {
  /** The same database, through the proxy. */
  url: string
  /** Statements that clients had executed so far. */
  executed(): number
  /** Does something as soon as so many more statements were sent, before the last of them reaches PostgreSQL. */
  after(statements: number, act: () => void): void
  /** Breaks every connection and refuses new ones, until `resume`. */
  cut(): void
  resume(): void
  /**
   * Keeps the next statement whose text is like this, or the answer to it once it was done, and all that follows on its
   * connection. Resolves when that is so.
   */
  hold(text: RegExp, what: 'request' | 'answer'): Promise<void>
  /** Waits for no statement any more. What was kept stays so. */
  release(): void
  /** From now on the answer to the next COMMIT, or to the next statement outside a transaction, is never delivered. */
  loseNextAnswer(): void
  close(): Promise<void>
}

const EXECUTE = 'E'.charCodeAt(0)
const QUERY = 'Q'.charCodeAt(0)

/** A proxy before PostgreSQL that knows enough of its protocol to count statements, and that can fail in bad moments. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let executed = 0
  let isCut = false
  let losing = false
  let held: { readonly text: RegExp; readonly what: 'request' | 'answer'; readonly done: () => void } | null = null
  let awaited: { readonly executed: number; readonly act: () => void } | null = null
  const server = createServer((client) => {
    if (isCut) {
      client.destroy()
      return
    }
    const upstream = connect({ host: target.hostname, port: Number(target.port || 5432) })
    let isDeaf = false
    let isHeld = false
    let heldAnswer: (() => void) | null = null
    let isSilent = false
    const count = countMessages((type) => {
      if (type === EXECUTE || type === QUERY) executed += 1
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (chunk) => {
      const before = executed
      if (held?.text.test(chunk.toString('latin1'))) {
        if (held.what === 'answer') heldAnswer = held.done
        else {
          isHeld = true
          held.done()
        }
        held = null
      }
      if (isHeld) return
      count(chunk)
      if (heldAnswer !== null && executed > before) isSilent = true
      if (awaited !== null && executed >= awaited.executed) {
        const { act } = awaited
        awaited = null
        act()
      }
      if (losing && executed > before) {
        losing = false
        isDeaf = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (isSilent) heldAnswer?.()
      else if (!isDeaf) client.write(chunk)
      // What was sent has been done by now; the connection breaks instead of telling.
      else client.destroy()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    executed: () => executed,
    after: (statements, act) => {
      awaited = { executed: executed + statements, act }
    },
    cut: () => {
      isCut = true
      breakAll()
    },
    resume: () => {
      isCut = false
    },
    hold: (text, what) =>
      new Promise((done) => {
        held = { text, what, done }
      }),
    release: () => {
      held = null
    },
    loseNextAnswer: () => {
      losing = true
    },
    close: async () => {
      breakAll()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Walks the frontend messages: first one without a type, then a type byte and a length each. */
function countMessages(found: (type: number) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const header = started ? 5 : 4
      if (rest.length < header) return
      const length = rest.readUInt32BE(started ? 1 : 0) + (started ? 1 : 0)
      if (rest.length < length) return
      if (started) found(rest[0] ?? 0)
      started = true
      rest = rest.subarray(length)
    }
  }
}
