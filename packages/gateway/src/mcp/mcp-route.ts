import { createHash, timingSafeEqual } from 'node:crypto'
import type { McpServers } from '../base/mcp-servers.js'
import { GatewayProblem } from '../base/problems.js'
import type { GatewayRequest, Route } from '../http/route.js'
import { answerMessage } from './http-exchange.js'
import { createHttpUpstream, type HttpUpstream, type HttpUpstreamOptions } from './http-upstream.js'
import { createMcpSessions, type McpSessionsOptions } from './mcp-sessions.js'
import { passStream } from './pass-stream.js'
import { passedAnswer } from './passed-answer.js'

export interface McpRouteOptions extends McpSessionsOptions, HttpUpstreamOptions {
  readonly servers: McpServers
  /** The API key of the tenant, which hosts present. */
  readonly apiKey: string
}

/** MCP over Streamable HTTP: `/{agent}/mcp/{server}`. */
export function createMcpRoute(options: McpRouteOptions): Route {
  const sessions = createMcpSessions(options)
  const upstreams = new Map<string, HttpUpstream>()
  for (const [name, server] of options.servers) upstreams.set(name, createHttpUpstream(server, options))
  const stop = new AbortController()
  return {
    name: 'mcp',
    // A host leaves its stream for news open as long as it lives.
    stopping: () => stop.abort(new Error('the gateway stops')),
    async handle(request) {
      authorize(request.headers, options.apiKey)
      const server = request.path.slice(1)
      const upstream = upstreams.get(server)
      if (upstream === undefined) throw unknownServer(request, server, [...upstreams.keys()])
      const { agent, headers, method, signal } = request
      const clues = { agent, server, headers }
      if (method === 'POST') return answerMessage(request, upstream, sessions.find(clues))
      const answer = await upstream.send({
        method: checkedMethod(method),
        headers: withoutResume(headers),
        body: null,
        signal: AbortSignal.any([signal, stop.signal]),
      })
      // A server that keeps its sessions refuses.
      if (method === 'DELETE' && answer.status < 300) sessions.end(clues)
      if (method === 'GET' && answer.isStream) return passStream(answer, sessions.find(clues))
      return passedAnswer(answer, { id: null, server: null, change: null })
    },
  }
}

/** Hashes are compared, so that the time tells nothing of the key. */
function authorize(headers: Headers, apiKey: string): void {
  const given = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  if (timingSafeEqual(hashOf(given), hashOf(apiKey))) return
  throw new GatewayProblem(
    'unauthorized',
    'MCP needs the API key of Countersign: send it as Authorization: Bearer KEY. The key of the server stays in the gateway',
  )
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

function checkedMethod(method: string): string {
  if (method === 'GET' || method === 'DELETE') return method
  throw new GatewayProblem('method_refused', 'method not allowed: MCP over HTTP uses POST, GET or DELETE')
}

/** A resumed stream would repeat lists as the server wrote them. */
function withoutResume(given: Headers): Headers {
  const headers = new Headers(given)
  headers.delete('last-event-id')
  return headers
}

function unknownServer({ agent }: GatewayRequest, server: string, known: readonly string[]): GatewayProblem {
  const all = known.map((name) => `/${agent}/mcp/${name}`).join(', ')
  const what = all === '' ? 'no MCP server is set: see --mcp' : `use ${all}`
  return new GatewayProblem('not_found', `the gateway has no MCP server ${JSON.stringify(server)}: ${what}`)
}
