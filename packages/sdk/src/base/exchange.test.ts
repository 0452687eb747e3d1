import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { exchangeByFetch, exchangeByNode, type HttpRequest } from './exchange.js'

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

const request = (url: string, timeoutMs = 5_000): HttpRequest => ({
  ...{ method: 'POST', url, timeoutMs, body: '{"é":1}' },
  headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
})

describe.each([
  ['fetch', exchangeByFetch(fetch)],
  ['the client of Node', exchangeByNode],
])('an exchange by %s', (_name, exchange) => {
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
    expect(await exchange(request(url))).toEqual({ status: 429, retryAfter: '7', body })
  })

  test.each([
    ['does not come', () => {}],
    ['does not end', (_request: unknown, reply: { write(text: string): void }) => reply.write('{')],
  ])('an answer that %s fails when the time is up', async (_what, answer) => {
    const url = await serve(answer)
    await expect(exchange(request(url, 50))).rejects.toThrow('no answer within 50 ms')
  })

  test('a redirect is not followed', async () => {
    const seen: string[] = []
    const url = await serve((request, reply) => {
      seen.push(request.url ?? '')
      reply.writeHead(307, { location: '/elsewhere' }).end()
    })
    expect((await exchange({ ...request(url), method: 'GET', body: undefined })).status).toBe(307)
    expect(seen).toEqual(['/captures'])
  })

  test('an answer that came leaves no timer behind', async () => {
    const url = await serve((_request, reply) => reply.end('ok'))
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    await exchange(request(url, 60_000))
    expect(timers()).toBeLessThanOrEqual(before)
  })

  test('a service that is away fails', async () => {
    const url = await serve(() => {})
    server?.close()
    await once(server as Server, 'close')
    await expect(exchange(request(url))).rejects.toThrow()
  })
})

test('an idle connection that the service closes when it is used again is opened anew', async () => {
  let requests = 0
  const url = await serve((request, reply) => {
    requests += 1
    if (requests === 2) request.socket.resetAndDestroy()
    else reply.end('ok')
  })
  const exchange = () => exchangeByNode(request(url))
  expect([(await exchange()).body, (await exchange()).body]).toEqual(['ok', 'ok'])
  expect(requests).toBe(3)
})
