import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Stands between a program and a server, and holds requests or replies back. */
export interface ReplyGate {
  readonly url: string
  /**
   * The next such request waits, or the reply to it: `reached` resolves once it has come, or the server has answered;
   * `open` lets it go.
   */
  hold(request: RegExp, what?: 'request' | 'reply'): { readonly reached: Promise<void>; open(): void }
  close(): void
}

export async function startReplyGate(origin: string): Promise<ReplyGate> {
  const held: { request: RegExp; what: 'request' | 'reply'; reach(): void; opened: Promise<void> }[] = []
  const server = createServer(async (request, response) => {
    const method = request.method ?? 'GET'
    const { authorization = '' } = request.headers
    const body = method === 'GET' ? {} : { body: await text(request) }
    const headers = { authorization, 'content-type': 'application/json' }
    const at = held.findIndex((one) => one.request.test(`${method} ${request.url}`))
    const [stop] = at < 0 ? [] : held.splice(at, 1)
    const wait = async (what: 'request' | 'reply') => {
      if (stop?.what !== what) return
      stop.reach()
      await stop.opened
    }
    await wait('request')
    // Who sent it is gone, and nothing passes it on.
    if (response.destroyed) return
    const reply = await fetch(`${origin}${request.url}`, { method, headers, ...body }).catch(() => null)
    // The server is not there, and the gate is not either.
    if (reply === null) return void response.destroy()
    const replied = await reply.text()
    await wait('reply')
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' }).end(replied)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(request, what = 'reply') {
      let [reach, open] = [() => {}, () => {}]
      const reached = new Promise<void>((done) => (reach = done))
      const opened = new Promise<void>((done) => (open = done))
      held.push({ request, what, reach, opened })
      return { reached, open }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
