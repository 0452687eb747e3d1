import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** Standard fetch that the app answers without a socket, as if the request came from this address. */
export function appFetch(app: RequestListener, remoteAddress = '127.0.0.1'): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const incoming = await arrivedFrom(request, remoteAddress)
    return new Promise((done, fail) => app(incoming, answering(request.method, done, fail)))
  }
}

async function arrivedFrom(request: Request, remoteAddress: string): Promise<IncomingMessage> {
  const { pathname, search } = new URL(request.url)
  const body = new Readable({ read: () => {} })
  const bytes = Buffer.from(await request.arrayBuffer())
  if (bytes.length > 0) body.push(bytes)
  body.push(null)
  const isTold = ['content-length', 'transfer-encoding'].some((name) => request.headers.has(name))
  const length = isTold || bytes.length === 0 ? [] : ['content-length', String(bytes.length)]
  const rawHeaders = [...[...request.headers].flat(), ...length]
  const head = { method: request.method, url: `${pathname}${search}`, rawHeaders }
  return Object.assign(body, { ...head, complete: true, socket: { remoteAddress } }) as unknown as IncomingMessage
}

function answering(method: string, done: (response: Response) => void, fail: (error: Error) => void): ServerResponse {
  const headers = new Headers()
  let status = 0
  let sent: string | Uint8Array<ArrayBuffer> = ''
  const outgoing = {
    writeHead: (given: number, fields: readonly string[]) => {
      status = given
      for (let at = 0; at < fields.length; at += 2) headers.append(fields[at] ?? '', fields[at + 1] ?? '')
    },
    write: (body: string | Uint8Array<ArrayBuffer>) => {
      sent = body
    },
    end: () => {
      const isEmpty = method === 'HEAD' || status === 304
      done(new Response(isEmpty ? null : sent, { status, headers }))
    },
    destroy: () => fail(new Error('the app sent no answer')),
  }
  return outgoing as unknown as ServerResponse
}
