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
   * Keeps the next statement whose text is like this, or the answer to it once it was done, or the answer to the COMMIT of
   * its transaction, and all that follows on its connection. Resolves when that is so.
   */
  hold(text: RegExp, what: Held): Promise<void>
  /** Waits for no statement any more. What was kept stays so. */
  release(): void
  /** From now on the answer to the next COMMIT, or to the next statement outside a transaction, is never delivered. */
  loseNextAnswer(): void
  close(): Promise<void>
}

export type Held = 'request' | 'answer' | 'commit'

const EXECUTE = 'E'.charCodeAt(0)
const QUERY = 'Q'.charCodeAt(0)
const PARSE = 'P'.charCodeAt(0)
const BIND = 'B'.charCodeAt(0)

/** A proxy before PostgreSQL that knows enough of its protocol to count statements, and that can fail in bad moments. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let executed = 0
  let isCut = false
  let losing = false
  let held: { readonly text: RegExp; readonly what: Held; readonly done: () => void } | null = null
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
    let committing: (() => void) | null = null
    let isSilent = false
    const read = readStatements()
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
      const { texts, sent } = read(chunk)
      if (committing !== null && texts.some((text) => /^commit\b/i.test(text))) heldAnswer = committing
      const wanted = held
      if (wanted !== null && texts.some((text) => wanted.text.test(text))) {
        if (wanted.what === 'commit') committing = wanted.done
        if (wanted.what === 'answer') heldAnswer = wanted.done
        isHeld = wanted.what === 'request'
        if (isHeld) wanted.done()
        held = null
      }
      if (isHeld) return
      executed += sent
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

/**
 * Walks the frontend messages: first one without a type, then a type byte and a length each. Gives the texts of the
 * statements that begin in a chunk, also of those that were prepared before, and how many are executed.
 */
function readStatements(): (chunk: Buffer) => { readonly texts: readonly string[]; readonly sent: number } {
  const prepared = new Map<string, string>()
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    const texts: string[] = []
    let sent = 0
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const header = started ? 5 : 4
      if (rest.length < header) return { texts, sent }
      const length = rest.readUInt32BE(started ? 1 : 0) + (started ? 1 : 0)
      if (rest.length < length) return { texts, sent }
      const type = started ? rest[0] : null
      if (type === EXECUTE || type === QUERY) sent += 1
      if (type === QUERY || type === PARSE || type === BIND) {
        const end = rest.indexOf(0, header)
        const first = rest.toString('latin1', header, end)
        const second = rest.toString('latin1', end + 1, rest.indexOf(0, end + 1))
        if (type === PARSE) prepared.set(first, second)
        else texts.push(type === QUERY ? first : (prepared.get(second) ?? ''))
      }
      started = true
      rest = rest.subarray(length)
    }
  }
}
