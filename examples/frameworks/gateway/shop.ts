import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** An MCP server at a URL, as any other: it knows nothing of Countersign. */
export async function startShop(refunds: number[]) {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    const order = { order_id: z.string() }
    server.registerTool('find_order', { inputSchema: z.object(order) }, async ({ order_id }) => ({
      content: [{ type: 'text', text: JSON.stringify({ order_id, paid: 40 }) }],
    }))
    const refund = z.object({ ...order, amount: z.number() })
    server.registerTool('issue_refund', { inputSchema: refund }, async ({ amount }) => {
      refunds.push(amount)
      return { content: [{ type: 'text', text: JSON.stringify({ refunded: amount }) }] }
    })
    return server
  })
  const http = createServer(async (request, reply) => {
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk)
    const answer = await handler.fetch(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? 'POST',
        headers: request.headers as Record<string, string>,
        ...(body.length > 0 && { body: Buffer.concat(body) }),
      }),
    )
    reply.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const chunk of answer.body ?? []) reply.write(chunk)
    reply.end()
  })
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async close() {
      http.closeAllConnections()
      http.close()
      await handler.close()
    },
  }
}
