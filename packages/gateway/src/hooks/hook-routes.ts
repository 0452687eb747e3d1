import { GatewayProblem } from '../base/problems.js'
import type { GatewaySettings } from '../base/settings.js'
import type { GatewayRequest, Route } from '../http/route.js'
import { readJsonBody } from '../wire/messages.js'
import { createSessionPool, type PooledSession } from '../wire/session-pool.js'
import { answerHooks, type HookAnswerer, type HookCall } from './claude-code.js'

export interface HookParts {
  readonly log: (line: string) => void
  readonly fetch: typeof globalThis.fetch
  readonly apiKey: string
}

/** Hooks of coding agents, under `/{agent}/hooks/{product}`. */
export function createHookRoute(settings: GatewaySettings, { log, fetch, apiKey }: HookParts): Route {
  const pool = createSessionPool({ settings, apiKey, fetch, upstream: fetch, log, onAnswer: () => {} })
  const answerers = new WeakMap<PooledSession, HookAnswerer>()
  const answererOf = (pooled: PooledSession): HookAnswerer => {
    const known = answerers.get(pooled)
    if (known !== undefined) return known
    const made = answerHooks(pooled.session)
    answerers.set(pooled, made)
    return made
  }
  return {
    name: 'hooks',
    async handle(request) {
      if (request.path !== '/claude-code' || request.method !== 'POST') throw unknownHook(request)
      const call = readCall((await readJsonBody(request)).value)
      const sessionId = `claude-${call.session_id}`
      const answer = await answererOf(pool.get(request.agent, sessionId))(call)
      return Response.json(answer, { headers: { 'x-countersign-session': sessionId } })
    },
    close: () => pool.close(),
  }
}

function readCall(value: Readonly<Record<string, unknown>>): HookCall {
  const { session_id, hook_event_name } = value
  const isRead =
    typeof hook_event_name === 'string' &&
    typeof session_id === 'string' &&
    /^[A-Za-z0-9_.:-]{1,100}$/.test(session_id) &&
    (!/ToolUse/.test(hook_event_name) || (isName(value.tool_name) && isName(value.tool_use_id)))
  if (isRead) return { ...value, session_id, hook_event_name }
  throw new GatewayProblem(
    'body_invalid',
    'a hook has session_id, hook_event_name and, about a call, tool_name and tool_use_id, as Claude Code sends them',
  )
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.length <= 256

const unknownHook = ({ method, path }: GatewayRequest): GatewayProblem =>
  new GatewayProblem('not_found', `${method} ${path} is no hook: use POST /AGENT/hooks/claude-code`)
