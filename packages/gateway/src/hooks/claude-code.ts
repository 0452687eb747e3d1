import type { Session } from '@countersign/sdk'
import { claudeHooks } from '@countersign/sdk/claude'
import { GatewayProblem } from '../base/problems.js'

/** What Claude Code posts to an HTTP hook, as far as it is used here. */
export interface HookCall {
  readonly session_id: string
  readonly hook_event_name: string
  readonly [field: string]: unknown
}

/** Answers the hooks of one Claude Code session. */
export type HookAnswerer = (call: HookCall, signal: AbortSignal) => Promise<object>

const EVENTS = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'SubagentStart'] as const

/**
 * Judges each call before Claude Code runs it, and takes its word for what became of it: receipts are reported. A
 * sub-agent leaves a label, which contracts can ask for.
 */
export function answerHooks(session: Session): HookAnswerer {
  const hooks = claudeHooks(session)
  return async (call, signal) => {
    const event = EVENTS.find((name) => name === call.hook_event_name)
    if (event === undefined) throw unknownEvent(call.hook_event_name)
    if (event === 'SubagentStart') {
      session.addLabel(subagentLabel(call.agent_type))
      await session.flush()
      return {}
    }
    const [hook] = hooks[event][0]?.hooks ?? []
    return hook === undefined ? {} : hook(call, undefined, { signal })
  }
}

/** Labels have letters, digits, hyphens and underscores. */
function subagentLabel(type: unknown): string {
  const name = typeof type === 'string' ? type.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 100) : ''
  return `subagent-${name || 'unnamed'}`
}

const unknownEvent = (name: string): GatewayProblem =>
  new GatewayProblem(
    'body_invalid',
    `the hook ${JSON.stringify(String(name).slice(0, 64))} is not one of ${EVENTS.join(', ')}: remove it from the settings`,
  )
