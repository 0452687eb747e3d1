import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@countersign/protocol'

/** An MCP server that speaks plain JSON-RPC, without a socket, for tests that need no library. */
export interface PlainMcpServer {
  readonly url: string
  readonly fetch: typeof fetch
  /** Calls that ran, as `tool {"arguments"}`. */
  readonly ran: string[]
  /** The id of the latest request. */
  asked: string | number
  /** The definitions that it lists; they may be changed. */
  tools: JsonObject[]
  /** What a server that is told to end a session answers. */
  deleted: number
  /** Answers `tools/call` in place of the usual result. */
  answer: ((name: string, signal: AbortSignal) => Response | Promise<Response | null> | null) | null
}

export function plainMcpServer(names: readonly string[], url = 'http://shop.test/mcp'): PlainMcpServer {
  const server: PlainMcpServer = {
    url,
    ran: [],
    asked: '',
    deleted: 200,
    answer: null,
    tools: names.map((name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object' } })),
    async fetch(input, init) {
      const request = new Request(input, init)
      if (request.method === 'DELETE') return new Response(null, { status: server.deleted })
      const { id, method, params } = await request.json()
      server.asked = id
      const reply = (result: object) => Response.json({ jsonrpc: '2.0', id, result })
      if (method === 'tools/list') return reply({ tools: server.tools })
      if (method !== 'tools/call') return reply({})
      server.ran.push(`${params.name} ${JSON.stringify(params.arguments)}`)
      const other = await server.answer?.(params.name, request.signal)
      return other ?? reply({ content: [{ type: 'text', text: JSON.stringify({ done: params.name }) }] })
    },
  }
  return server
}

interface HostedBy {
  readonly agent: string
  readonly key: string
  readonly server?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A host that calls tools through a gateway, with nothing but HTTP. */
export const plainHost =
  (gateway: { readonly url: string }, by: HostedBy) =>
  async (name: string, args: object, sessionId: string | null): Promise<string> => {
    const response = await fetch(`${gateway.url}/${by.agent}/mcp/${by.server ?? 'shop'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${by.key}`,
        ...(sessionId !== null && { 'x-countersign-session': sessionId }),
        ...by.headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: randomUUID(),
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })
    // A stream ends with the answer.
    const text = (await response.text()).trim()
    const { result, error } = JSON.parse(text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6))
    return result?.content?.[0]?.text ?? error?.message ?? ''
  }
