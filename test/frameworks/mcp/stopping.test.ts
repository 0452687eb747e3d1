import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport as SessionTransport } from '@modelcontextprotocol/server'
import { afterAll, expect } from 'vitest'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { createShop } from './shop.mjs'

buildOnce()
const { runtime } = await withRuntime()
const service = await runtime.instances[0].listen()

/** An official server of 2025, with sessions, over a socket. */
const transports = new Map<string, SessionTransport>()
async function transportFor(id: string | undefined): Promise<SessionTransport> {
  const known = transports.get(id ?? '')
  if (known !== undefined) return known
  const transport = new SessionTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (made) => void transports.set(made, transport),
  })
  await createShop(() => {}).connect(transport)
  return transport
}
let delayMs = 0
let delayed = 0
const shop = createServer(async (message, reply) => {
  if (delayMs > 0 && delayed++ >= 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
  const { method = 'GET', headers } = message
  const hasBody = method === 'POST'
  const request = new Request(`http://shop${message.url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    ...(hasBody && { body: Readable.toWeb(message) as ReadableStream, duplex: 'half' }),
  })
  const transport = await transportFor(headers['mcp-session-id'] as string | undefined)
  const response = await transport.handleRequest(request)
  reply.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) reply.end()
  else Readable.fromWeb(response.body as never).pipe(reply)
})
await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
afterAll(() => {
  shop.closeAllConnections()
  shop.close()
})

async function startGateway() {
  const { port } = shop.address() as AddressInfo
  const gateway = countersign(
    ['gateway', '--port', '0', '--mode', 'observe', '--mcp', `till=http://127.0.0.1:${port}/`],
    {
      COUNTERSIGN_API_KEY: runtime.key,
      COUNTERSIGN_API_URL: service,
    },
  )
  const [, url] = await gateway.says(/running at (\S+)/)
  const headers = { authorization: `Bearer ${runtime.key}` }
  const host = new Client({ name: 'host', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/coder/mcp/till`), { requestInit: { headers } })
  await host.connect(transport as never)
  return { ...gateway, host }
}

/** What is left behind would keep it for `upstreamSeconds`, or for as long as a connection may be idle. */
const SOON_MS = 20_000

const within = <T>(work: Promise<T>): Promise<T | 'still there'> =>
  Promise.race([work, new Promise<'still there'>((late) => setTimeout(() => late('still there'), SOON_MS))])

for (const leaves of [true, false]) {
  proves('gateway.stops', `after an MCP host that ${leaves ? 'has left' : 'still listens for news'}`, async () => {
    const { child, host, ended } = await startGateway()
    expect(await host.callTool({ name: 'look' })).toMatchObject({ content: [{ text: '{"order":7}' }] })
    if (leaves) await host.close()
    child.kill('SIGTERM')
    const code = await within(ended)
    child.kill('SIGKILL')
    expect(code).toBe(0)
    await host.close()
  })
}

proves('gateway.stops', 'a call in flight is answered, and its connection keeps nothing alive', async () => {
  const { child, host, ended, says } = await startGateway()
  delayMs = 2_000
  const call = host.callTool({ name: 'look' })
  await expect.poll(() => delayed).toBeGreaterThan(0)
  child.kill('SIGTERM')
  await says(/finishing the requests in flight/)
  expect(await call).toMatchObject({ content: [{ text: '{"order":7}' }] })
  const code = await within(ended)
  child.kill('SIGKILL')
  expect(code).toBe(0)
  await host.close()
})
