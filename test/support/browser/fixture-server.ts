import { ERRORS, type ErrorCode, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { fastify } from 'fastify'
import { openDashboard } from '../../../packages/server/src/http/dashboard.js'
import type { Fixtures } from '../../browser/stories/fixtures.js'

export interface FixtureServer {
  readonly url: string
  /** What is asked from now on. */
  use(fixtures: Fixtures): void
  close(): Promise<void>
}

/** The built dashboard, served as the real server serves it, over made-up answers. */
export async function startFixtureServer(folder: string): Promise<FixtureServer> {
  let fixtures: Fixtures = {}
  const app = fastify({ forceCloseConnections: true })
  const sendPage = openDashboard(app, folder)
  app.setNotFoundHandler((_, reply) => sendPage(reply))
  app.all('/api/*', async ({ method, url, body }, reply) => {
    const { pathname: path, search } = new URL(url, 'http://localhost')
    const { status, value } = answer(fixtures, { method, path, search }, body ?? {})
    return reply.code(status).type('application/json').send(JSON.stringify(value))
  })
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    use: (next) => {
      fixtures = next
    },
    close: () => app.close(),
  }
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly search: string
}
interface Reply {
  readonly status: number
  readonly value: unknown
}

/** A refusal with its own code and detail, where a status alone does not say enough. */
export class Refusal extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, detail: string) {
    super(detail)
    this.code = code
  }
}

type AnyFixture = (asked: { params: unknown; query: unknown; body: unknown }) => unknown

function answer(fixtures: Fixtures, { method, path, search }: Asked, body: unknown): Reply {
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const params = route.method === method ? matchPath(route.path, path) : null
    const fixture = fixtures[name] as AnyFixture | undefined
    if (params === null || fixture === undefined) continue
    const query = route.query?.parse(Object.fromEntries(new URLSearchParams(search))) ?? {}
    try {
      const reply = fixture({ params, query, body: route.body?.parse(body) })
      if (typeof reply === 'number') return problem(reply)
      return { status: route.status ?? 200, value: route.reply.parse(reply) }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal
      const { status, title } = ERRORS[refusal.code]
      return { status, value: { type: 'about:blank', status, code: refusal.code, title, detail: refusal.message } }
    }
  }
  return problem(404)
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_TOKEN',
  401: 'UNAUTHENTICATED',
  403: 'ROLE_NEEDED',
  404: 'NOT_FOUND',
  503: 'UNAVAILABLE',
}

function problem(status: number): Reply {
  const code = CODES[status] ?? 'INTERNAL'
  return { status, value: { type: 'about:blank', status, code, title: ERRORS[code].title } }
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const names = [...pattern.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  const found = new RegExp(`^${pattern.replace(/:\w+/g, '([^/]+)')}$`).exec(path)
  if (found === null) return null
  return Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')]))
}
