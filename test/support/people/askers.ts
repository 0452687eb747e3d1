import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { Contract } from '@countersign/protocol'
import { plainHost, plainMcpServer } from '../gateway/mcp-server.js'
import { countersign } from '../process/command-line.js'
import { startSdkProcess } from '../process/sdk-process.js'

/** A program in a process of its own that has a call which asks people. */
export interface Asker {
  /** Proposes the call: people are asked. */
  ask(): Promise<unknown>
  /** Has the call run, if people have approved it. */
  goOn(questionId: string): Promise<unknown>
  /** As `kill -9` does. */
  kill(): Promise<void>
  /** Ends after everything was reported. */
  close(): Promise<void>
}

/** The tool that all of them run: it goes on whatever becomes of them. */
export interface SlowTool {
  readonly url: string
  /** The sessions that it has run in, one for each run. */
  readonly ran: string[]
  /** Runs wait from now on: `reached` resolves when one has begun, `open` lets all of them end. */
  hold(): { readonly reached: Promise<void>; open(): void }
  close(): void
}

export async function startSlowTool(): Promise<SlowTool> {
  const ran: string[] = []
  let [reach, opened] = [() => {}, Promise.resolve()]
  const run = async (session: string) => {
    ran.push(session)
    reach()
    await opened
  }
  const shop = plainMcpServer(['pay'])
  shop.answer = async () => {
    const [last = ''] = shop.ran.slice(-1)
    await run((JSON.parse(last.slice('pay '.length)) as { of: string }).of)
    return null
  }
  const server = createServer(async (request, response) => {
    const body = await json(request).catch(() => ({}))
    if (request.url !== '/mcp') {
      await run((body as { session: string }).session)
      return void response.end('{}')
    }
    const { method = 'GET' } = request
    const reply = await shop.fetch('http://shop.test/mcp', { method, body: JSON.stringify(body) })
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(await reply.text())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ran,
    hold() {
      let open = (): void => {}
      opened = new Promise((done) => (open = done))
      return { reached: new Promise((done) => (reach = done)), open }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

interface Place {
  readonly key: string
  readonly apiUrl: string
  readonly tool: SlowTool
}

const checkpoint = { reason: 'every payment', ask: {} }

/** A program with the SDK. */
export async function startSdkAsker(id: string, { key, apiUrl, tool }: Place): Promise<Asker> {
  const process = await startSdkProcess()
  await process.open(id, {
    contracts: [{ tool: 'pay', side_effect: 'write', checkpoint }],
    toolUrl: tool.url,
    apiKey: key,
    runtimeUrl: apiUrl,
    takeover: true,
    timeoutMs: 60_000,
  })
  return {
    async ask() {
      await process.prepare(id)
      return process.propose(id, 'c1')
    },
    goOn: (questionId) => process.resume(id, questionId),
    kill: () => process.kill(),
    async close() {
      await process.close(id)
      await process.kill()
    },
  }
}

export const GATEWAY_CONTRACT: Contract = { tool: 'shop__pay', side_effect: 'write', checkpoint }

/** The gateway with a host that calls the tool over MCP, and calls it again. */
export async function startGatewayAsker(id: string, { key, apiUrl, tool }: Place): Promise<Asker> {
  const config = join(mkdtempSync(join(tmpdir(), 'countersign-gateway-')), 'gateway.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { shop: `${tool.url}/mcp` } }))
  const gateway = countersign(['gateway', '--port', '0', '--config', config], {
    COUNTERSIGN_API_KEY: key,
    COUNTERSIGN_API_URL: apiUrl,
  })
  const [, url = ''] = await gateway.says(/is running at (http\S+)/)
  const call = plainHost({ url }, { agent: 'shopper', key })
  const end = async (signal: NodeJS.Signals) => {
    gateway.child.kill(signal)
    await gateway.ended
  }
  return {
    ask: () => call('pay', { of: id }, id),
    goOn: () => call('pay', { of: id }, id),
    kill: () => end('SIGKILL'),
    close: () => end('SIGTERM'),
  }
}
