import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { type HttpRequest, readRequest } from '../../../packages/server/src/context/http-request.js'
import type { Reply } from '../../../packages/server/src/http/error-reply.js'
import { openDashboard } from '../../../packages/server/src/http/serve-dashboard.js'
import type { Fixtures } from '../../browser/stories/fixtures.js'

export interface FixtureServer {
  readonly url: string
  /** What is asked from now on. */
  use(fixtures: Fixtures): void
  close(): Promise<void>
}

/** The built dashboard, served as the real server serves it, over made-up answers. */
export async function startFixtureServer(folder: string): Promise<FixtureServer> {
  const dashboard = openDashboard(folder)
  let fixtures: Fixtures = {}
  const server = createServer(async (incoming, outgoing) => {
    const request = readRequest(incoming)
    const page = request.method === 'GET' ? dashboard(request) : null
    const { status, headers, body } = page ?? answer(fixtures, request, await bodyOf(incoming))
    outgoing.writeHead(status, headers).end(body)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use: (next) => {
      fixtures = next
    },
    close: () => new Promise((done) => server.close(() => done()).closeAllConnections()),
  }
}

type AnyFixture = (asked: { params: unknown; query: unknown; body: unknown }) => unknown

function answer(fixtures: Fixtures, { method, path, query: search }: HttpRequest, body: unknown): Reply {
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const params = route.method === method ? matchPath(route.path, path ?? '') : null
    const fixture = fixtures[name] as AnyFixture | undefined
    if (params === null || fixture === undefined) continue
    const query = route.query?.parse(Object.fromEntries(new URLSearchParams(search))) ?? {}
    const reply = fixture({ params, query, body: route.body?.parse(body) })
    if (typeof reply === 'number') return problem(reply)
    return json(route.status ?? 200, route.reply.parse(reply))
  }
  return problem(404)
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_TOKEN',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  503: 'UNAVAILABLE',
}

function problem(status: number): Reply {
  const code = CODES[status] ?? 'INTERNAL'
  return json(status, { type: 'about:blank', status, code, title: ERRORS[code].title })
}

const json = (status: number, value: unknown): Reply => ({
  status,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
})

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const names = [...pattern.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  const found = new RegExp(`^${pattern.replace(/:\w+/g, '([^/]+)')}$`).exec(path)
  if (found === null) return null
  return Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')]))
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown)
}
