import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { TestGateway } from '../../support/gateway/gateway.js'
import type { Case } from '../story.js'

/** An MCP server with the tools of the cases, without a socket. */
export interface Shop {
  readonly url: string
  readonly fetch: typeof fetch
  close(): Promise<void>
}

export function openShop({ failing = [], silent = [] }: Pick<Case, 'failing' | 'silent'>, ran: string[]): Shop {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    for (const name of ['look', 'pay', 'wipe']) {
      server.registerTool(name, { inputSchema: z.looseObject({}) }, async (args) => {
        ran.push(`${name} ${JSON.stringify(args)}`)
        if (failing.includes(name)) return { isError: true, content: [{ type: 'text', text: `${name} is broken` }] }
        return { content: silent.includes(name) ? [] : [{ type: 'text', text: JSON.stringify({ done: name }) }] }
      })
    }
    return server
  })
  return {
    url: 'http://shop.test/mcp',
    fetch: (input, init) => handler.fetch(new Request(input, init)),
    close: () => handler.close(),
  }
}

export interface ShopHost {
  /** The text of the result, which is what the model is told. */
  call(name: string, args: object): Promise<string>
  close(): Promise<void>
}

/** A host of the official client, in a session. */
export async function connectHost(
  gateway: TestGateway,
  by: { readonly agent: string; readonly key: string; readonly sessionId: string },
): Promise<ShopHost> {
  const headers = { authorization: `Bearer ${by.key}`, 'x-countersign-session': by.sessionId }
  const address = new URL(`${gateway.url}/${by.agent}/mcp/shop`)
  const client = new Client({ name: 'agent', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }))
  return {
    async call(name, args) {
      const { content } = await client.callTool({ name, arguments: { ...args } })
      return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    },
    close: () => client.close(),
  }
}
