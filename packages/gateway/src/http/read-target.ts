import { GatewayProblem } from '../base/problems.js'

/** Where a request goes: `/{agent}/{route}{path}{query}`. */
export interface Target {
  readonly agent: string
  readonly route: string
  readonly path: string
  readonly query: string
}

const MAX_AGENT_LENGTH = 128
/** Escapes that a server behind may undo: a dot, a slash, a backslash, a percent sign, control characters. */
const MEANS_MORE = /%(?:2e|2f|5c|25|[01][0-9a-f]|7f)/i
const PATH = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)+\/?$/
const QUERY = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?[\]-]|%[0-9A-Fa-f]{2})*$/

/** Reads the target of a request. Whatever could be read in two ways is refused: upstreams may normalise otherwise. */
export function readTarget(url: string): Target {
  const at = url.indexOf('?')
  const whole = at === -1 ? url : url.slice(0, at)
  const query = at === -1 ? '' : url.slice(at)
  const [, agent = '', route = '', ...rest] = whole.split('/')
  if (!PATH.test(whole) || !QUERY.test(query.slice(1)) || hasTricks(whole, rest)) throw invalid()
  const named = decoded(agent)
  if (named.length > MAX_AGENT_LENGTH) throw invalid()
  const path = rest.join('/').replace(/\/$/, '')
  return { agent: named, route, path: path === '' ? '' : `/${path}`, query }
}

function hasTricks(path: string, rest: readonly string[]): boolean {
  return MEANS_MORE.test(path) || path.split('/').some((part) => part === '.' || part === '..') || rest.includes('..')
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalid()
  }
}

const invalid = (): GatewayProblem =>
  new GatewayProblem(
    'path_invalid',
    'the path must be /AGENT/openai/v1/…, /AGENT/anthropic/v1/…, with plain segments: no "..", no empty segment, ' +
      'no escaped slash or dot',
  )
