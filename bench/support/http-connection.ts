import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  body: string
}

export interface HttpConnection {
  post(path: string, body: string): Promise<Answer>
  close(): void
}

/** A minimal keep-alive connection, so that a benchmark measures the server and not its client. */
export async function openConnection(url: string, key: string): Promise<HttpConnection> {
  const { hostname, port, host } = new URL(url)
  let received = Buffer.alloc(0)
  let waiting: { done: (answer: Answer) => void; fail: (error: Error) => void } | null = null
  /** The server has said that it closes the connection. */
  let isLast = false
  const open = async (): Promise<Socket> => {
    const socket = await new Promise<Socket>((done, fail) => {
      const opening = connect({ host: hostname, port: Number(port), noDelay: true }, () => done(opening))
      opening.once('error', fail)
    })
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const end = received.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = received.toString('latin1', 0, end)
      const length = Number(/\r\ncontent-length: ?(\d+)/i.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(length)) throw new Error(`an answer without content-length:\n${head}`)
      if (received.length < end + 4 + length) return
      const body = received.toString('utf8', end + 4, end + 4 + length)
      received = received.subarray(end + 4 + length)
      isLast = /\r\nconnection: close/i.test(head)
      const settled = waiting
      waiting = null
      settled?.done({ status: Number(head.slice(9, 12)), body })
    })
    const failed = (error?: Error) => waiting?.fail(error ?? new Error('the server closed the connection'))
    socket.on('error', failed).on('close', () => failed())
    return socket
  }
  let socket = await open()
  const fixed = `Host: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  return {
    post: async (path, body) => {
      if (isLast) {
        socket.removeAllListeners('close').destroy()
        isLast = false
        socket = await open()
      }
      return new Promise<Answer>((done, fail) => {
        waiting = { done, fail }
        socket.write(`POST ${path} HTTP/1.1\r\n${fixed}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      })
    },
    close: () => socket.destroy(),
  }
}
