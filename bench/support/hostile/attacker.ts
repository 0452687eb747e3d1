import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { pathOf, ROUTES, type RouteName } from '@countersign/protocol'

/** A hostile tenant on the free quota, or a stranger without a key. */
export interface Attacker {
  readonly url: string
  readonly key: string
  /** Sends a request and reads the reply; status 0 where none came. */
  post(route: RouteName, body: unknown, params?: Record<string, string>): Promise<Answer>
  send(method: string, path: string, body?: string | Buffer): Promise<Answer>
  /** A bare connection, closed when the attack ends. */
  socket(): Promise<Socket | null>
  close(): void
}

export interface Answer {
  readonly status: number
  readonly body: string
}

const GIVE_UP_MS = 40_000

export function openAttacker(url: string, key: string): Attacker {
  const { hostname, port } = new URL(url)
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
  const sockets: Socket[] = []
  const send = (method: string, path: string, body?: string | Buffer) =>
    new Promise<Answer>((done) => {
      const lost = () => done({ status: 0, body: '' })
      const headers = {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const sent = request({ agent, hostname, port, method, path, headers, timeout: GIVE_UP_MS }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => done({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
        response.on('error', lost)
      })
      sent.on('error', lost).on('timeout', () => sent.destroy())
      sent.end(body)
    })
  return {
    url,
    key,
    send,
    post: (route, body, params = {}) =>
      send('POST', pathOf(ROUTES[route], params as never), typeof body === 'string' ? body : JSON.stringify(body)),
    socket: () =>
      new Promise((done) => {
        const socket = connect({ host: hostname, port: Number(port) }, () => done(socket))
        socket.on('error', () => done(null))
        sockets.push(socket)
      }),
    close: () => {
      for (const socket of sockets) socket.destroy()
      agent.destroy()
    },
  }
}

/** Creates a session with the plan. Returns its id and fence, or null where it was refused. */
export async function createSession(
  attacker: Attacker,
  compiled: { compiled_session: unknown; compiled_hash?: string },
  given: object = {},
): Promise<{ session_id: string; fence: number } | null> {
  const session_id = randomUUID()
  const answer = await attacker.post('createSession', { session_id, holder_id: 'h', ...compiled, ...given })
  return answer.status === 201 ? { session_id, fence: JSON.parse(answer.body).fence } : null
}
