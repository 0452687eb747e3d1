import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Stands between a program and a server, and holds replies back. */
export interface ReplyGate {
  readonly url: string
  /** The reply to the next such request waits: `reached` resolves once the server has answered, `open` lets it go. */
  hold(request: RegExp): { readonly reached: Promise<void>; open(): void }
  close(): void
}

export async function startReplyGate(origin: string): Promise<ReplyGate> {
  const held: { request: RegExp; reach(): void; opened: Promise<void> }[] = []
  const server = createServer(async (request, response) => {
    const method = request.method ?? 'GET'
    const { authorization = '' } = request.headers
    const body = method === 'GET' ? {} : { body: await text(request) }
    const headers = { authorization, 'content-type': 'application/json' }
    const reply = await fetch(`${origin}${request.url}`, { method, headers, ...body })
    const replied = await reply.text()
    const at = held.findIndex((one) => one.request.test(`${method} ${request.url}`))
    for (const one of at < 0 ? [] : held.splice(at, 1)) {
      one.reach()
      await one.opened
    }
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' }).end(replied)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(request) {
      let [reach, open] = [() => {}, () => {}]
      const reached = new Promise<void>((done) => (reach = done))
      const opened = new Promise<void>((done) => (open = done))
      held.push({ request, reach, opened })
      return { reached, open }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
