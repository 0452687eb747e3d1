import { disguisesOf, parseStrictJson, repeatedKey } from '@countersign/engine'
import { isObject } from '../base/is-object.js'
import { principalToken } from '../base/principal-header.js'
import { GatewayProblem } from '../base/problems.js'
import type { SessionParts } from '../base/session-options.js'
import type { GatewaySettings } from '../base/settings.js'
import { readJsonText } from '../http/read-json-text.js'
import type { GatewayRequest, Route } from '../http/route.js'
import { createSessionPool, type PooledSession } from '../wire/session-pool.js'
import { answerHooks, type HookAnswerer, type HookCall } from './claude-code.js'

/** Hooks of coding agents, under `/{agent}/hooks/{product}`. */
export function createHookRoute(settings: GatewaySettings, parts: SessionParts): Route {
  // Hooks tell of calls; no model is asked here.
  const upstream = () => Promise.reject(new Error('hooks ask no model'))
  const pool = createSessionPool({ ...parts, settings, upstream, onAnswer: () => {} })
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
      const call = readCall(await readJsonText(request))
      const sessionId = `claude-${call.session_id}`
      const pooled = pool.get(request.agent, sessionId, principalToken(request.headers))
      const answer = await answererOf(pooled)(call, request.signal)
      return Response.json(answer, { headers: { 'x-countersign-session': sessionId } })
    },
    close: () => pool.close(),
  }
}

/** What another reader of the body could take for another call is refused: hooks see the input, and do not run it. */
function readCall(text: string): HookCall {
  const value = parsed(text)
  if (!isObject(value)) throw new GatewayProblem('body_invalid', 'the body must be a JSON object in UTF-8')
  const disguised = Object.keys(value).find(isDisguised)
  if (disguised !== undefined)
    throw new GatewayProblem('body_invalid', `a hook has no member ${JSON.stringify(disguised.slice(0, 64))}`)
  const { session_id, hook_event_name } = value
  const isRead =
    typeof hook_event_name === 'string' &&
    typeof session_id === 'string' &&
    /^[A-Za-z0-9_.:-]{1,100}$/.test(session_id) &&
    (!/ToolUse/.test(hook_event_name) || (isName(value.tool_name) && isName(value.tool_use_id))) &&
    (value.tool_input === undefined || isObject(value.tool_input)) &&
    (hook_event_name !== 'PostToolBatch' || isBatch(value.tool_calls))
  if (!isRead) throw new GatewayProblem('body_invalid', AS_CLAUDE_CODE)
  const doubt = doubtIn(text, hook_event_name)
  if (doubt !== null) throw new GatewayProblem('body_invalid', `the body of a hook is refused: ${doubt}`)
  return { ...value, session_id, hook_event_name }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** What a tool gave may be of any kind: its outcome must not get lost. */
function doubtIn(text: string, event: string): string | null {
  if (event === 'PreToolUse') {
    const strict = parseStrictJson(text)
    return strict.ok ? null : strict.problem
  }
  const twice = repeatedKey(text)
  return twice === null ? null : `it contains the duplicate member ${twice.slice(0, 64)}`
}

const AS_CLAUDE_CODE =
  'a hook has session_id, hook_event_name and, about a call, tool_name, tool_use_id and an object tool_input, or the list ' +
  'tool_calls, as Claude Code sends them'

const isBatch = (value: unknown): boolean =>
  Array.isArray(value) && value.every((call) => isObject(call) && isName(call.tool_use_id))

const isDisguised = disguisesOf([
  'session_id',
  'hook_event_name',
  'tool_name',
  'tool_use_id',
  'tool_input',
  'tool_response',
  'tool_calls',
  'agent_id',
  'agent_type',
  'prompt_id',
])

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.length <= 256

const unknownHook = ({ method, path }: GatewayRequest): GatewayProblem =>
  new GatewayProblem('not_found', `${method} ${path} is no hook: use POST /AGENT/hooks/claude-code`)
