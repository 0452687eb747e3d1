import { findSession, ReplayUnavailableError, readModelRequest } from '@countersign/sdk'
import { principalToken } from '../base/principal-header.js'
import { GatewayProblem } from '../base/problems.js'
import { isEnforced, type SessionParts } from '../base/session-options.js'
import { PROVIDERS } from '../base/setting-values.js'
import type { GatewaySettings } from '../base/settings.js'
import type { GatewayRequest, Route } from '../http/route.js'
import { judgeableErrors } from './judgeable-errors.js'
import { outgoingHeaders, readJsonBody, withSession } from './messages.js'
import { createSessionPool, type SessionPool } from './session-pool.js'
import { boundedFetch } from './upstream.js'
import { createSessionFinder, type SessionFinder } from './which-session.js'

export interface WireParts extends SessionParts {
  /** Sends requests to upstreams. */
  readonly upstream: typeof globalThis.fetch
}

interface Wires {
  readonly upstream: typeof globalThis.fetch
  readonly finder: SessionFinder
  readonly pool: SessionPool
}

export interface WireRoutes {
  readonly routes: readonly Route[]
  /** The sessions of this process, whichever way their calls come. */
  readonly pool: SessionPool
}

/** The wires of the model providers, each under its name. Their sessions are the same. */
export function createWireRoutes(settings: GatewaySettings, parts: WireParts): WireRoutes {
  const { apiKey, fetch } = parts
  const { apiUrl: runtimeUrl, environment, upstreams } = settings
  const limits = { idleMs: settings.upstreamSeconds * 1_000, maxBytes: settings.maxBodyMb * 1024 * 1024 }
  const upstream = boundedFetch(parts.upstream, limits)
  const finder = createSessionFinder({
    // Only sessions that the server governs are known there.
    lookUp: async (agent, ids) =>
      isEnforced(settings) ? findSession({ apiKey, runtimeUrl, agent, environment, ids, fetch }) : null,
  })
  const judged = isEnforced(settings) ? judgeableErrors(upstream) : upstream
  const pool = createSessionPool({ ...parts, settings, upstream: judged, onAnswer: finder.learn })
  const wires: Wires = { upstream, finder, pool }
  const routes = PROVIDERS.map(
    (name): Route => ({ name, handle: (request) => handle(request, upstreams[name], wires) }),
  )
  return { routes, pool }
}

async function handle(request: GatewayRequest, base: string, wires: Wires): Promise<Response> {
  const { method, path, query } = request
  const url = `${base}${path}${query}`
  switch (readModelRequest(method, url).as) {
    case 'governed':
      return governed(request, url, wires)
    case 'harmless':
      return passed(request, url, wires)
    case 'refused':
      throw new GatewayProblem(
        'not_governed',
        `${method} ${path} is not governed: it could reach a model without its tool calls being judged. Use ` +
          'chat/completions, responses or messages; send anything else to the provider itself',
      )
  }
}

/** A call of a model: a turn of the session that it belongs to. */
async function governed(request: GatewayRequest, url: string, { finder, pool }: Wires): Promise<Response> {
  const { agent, headers, signal } = request
  const { text: body, value } = await readJsonBody(request)
  const view = readModelRequest('POST', url, value)
  const sessionId = await sessionOf(finder, { agent, headers, url, body, ids: 'ids' in view ? view.ids : [] })
  const { fetch } = pool.get(agent, sessionId, principalToken(headers))
  const response = await fetch(url, { method: 'POST', headers: outgoingHeaders(headers), body, signal }).catch(
    (error: unknown) => {
      throw upstreamProblem(error)
    },
  )
  return withSession(response, sessionId)
}

async function sessionOf(finder: SessionFinder, by: Parameters<SessionFinder['find']>[0]): Promise<string> {
  try {
    return await finder.find(by)
  } catch (error) {
    if (error instanceof GatewayProblem) throw error
    // A key that is refused is refused again.
    if (error instanceof ReplayUnavailableError && !error.mayRetry) {
      throw new GatewayProblem('not_governed', error.message, { cause: error })
    }
    throw new GatewayProblem(
      'service_unavailable',
      'the Countersign server could not be asked which session this conversation belongs to, so that nothing is let ' +
        'through: check that it runs and that COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are right',
      { cause: error },
    )
  }
}

/** What cannot bring a tool call goes to the upstream as it is. */
async function passed(request: GatewayRequest, url: string, { upstream }: Wires): Promise<Response> {
  const { method, headers, signal } = request
  const body = method === 'GET' || method === 'HEAD' ? null : await request.body()
  const response = await upstream(url, { method, headers: outgoingHeaders(headers), body, signal }).catch(
    (error: unknown) => {
      throw upstreamProblem(error)
    },
  )
  return withSession(response, null)
}

/** Only the kind of a failure is told: what the system says of it may name addresses. */
function upstreamProblem(error: unknown): GatewayProblem {
  if (error instanceof GatewayProblem) return error
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof GatewayProblem) return cause
  if (error instanceof SyntaxError) {
    return new GatewayProblem('upstream_invalid', 'the answer of the upstream is not JSON, so that it cannot be judged')
  }
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  const kind = typeof code === 'string' ? ` (${code})` : ''
  return new GatewayProblem(
    'upstream_unreachable',
    `the upstream did not answer${kind}: ask again, or check --upstream`,
  )
}
