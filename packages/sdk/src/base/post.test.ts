import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { postByFetch, postByNode } from './post.js'

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(answer: Parameters<typeof createServer>[1]): Promise<string> {
  server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/captures`
}

const sent = { headers: { authorization: 'Bearer k', 'content-type': 'application/json' }, body: '{"é":1}' }

describe.each([
  ['fetch', postByFetch(fetch)],
  ['the client of Node', postByNode],
])('a post by %s', (_name, post) => {
  test('sends headers and body, and gives the whole answer', async () => {
    const url = await serve(async (request, reply) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part)
      const { method, url: path, headers } = request
      reply.writeHead(429, { 'retry-after': '7' })
      reply.write(`${method} ${path} ${headers.authorization} ${headers['content-type']} `)
      reply.end(Buffer.concat(parts))
    })
    const body = 'POST /captures Bearer k application/json {"é":1}'
    expect(await post(url, { ...sent, timeoutMs: 5_000 })).toEqual({ status: 429, retryAfter: '7', body })
  })

  test.each([
    ['does not come', () => {}],
    ['does not end', (_request: unknown, reply: { write(text: string): void }) => reply.write('{')],
  ])('an answer that %s fails when the time is up', async (_what, answer) => {
    const url = await serve(answer)
    await expect(post(url, { ...sent, timeoutMs: 50 })).rejects.toThrow()
  })

  test('a service that is away fails', async () => {
    const url = await serve(() => {})
    server?.close()
    await once(server as Server, 'close')
    await expect(post(url, { ...sent, timeoutMs: 5_000 })).rejects.toThrow()
  })
})

test('an idle connection that the service closes when it is used again is opened anew', async () => {
  let requests = 0
  const url = await serve((request, reply) => {
    requests += 1
    if (requests === 2) request.socket.resetAndDestroy()
    else reply.end('ok')
  })
  const post = () => postByNode(url, { ...sent, timeoutMs: 5_000 })
  expect([(await post()).body, (await post()).body]).toEqual(['ok', 'ok'])
  expect(requests).toBe(3)
})
