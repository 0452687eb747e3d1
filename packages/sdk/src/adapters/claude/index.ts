import { equalValues } from '@countersign/engine'
import { messageOf } from '../../base/diagnostics.js'
import { ReplayUnavailableError } from '../../base/errors.js'
import { startAge } from '../../base/start-age.js'
import { jsonOf } from '../../base/written-json.js'
import type { CallBatches, ShownCall } from '../../session/call-batches.js'
import type { GovernedSession } from '../governed-session.js'
import { canonicalName } from './canonical-name.js'
import { noteAsked, wasHandled } from './claude-server.js'
import { textOf } from './tool-result.js'

export { type ClaudeServerOptions, claudeServer, type ServerTool, type ToolServer } from './claude-server.js'

export interface ClaudeOptions {
  /**
   * The model of the agent, for contracts and patterns that name it.
   * @defaultValue `'claude'`
   */
  readonly model?: string
  /**
   * Who answers the runtime's permission prompts, for the record.
   * @defaultValue `'user'`
   */
  readonly approver?: string
  /**
   * The name under which contracts know a tool.
   * @defaultValue the runtime's name; `mcp__server__tool` becomes `server__tool`
   */
  readonly toolName?: (runtimeName: string) => string
  /**
   * How long a hook waits for people before it denies the call: below the hook's time limit in the runtime, which is a
   * minute where nothing else is set.
   * @defaultValue `30`
   */
  readonly waitSeconds?: number
}

/** What the runtime tells a hook, as far as it is used here. */
interface HookInput {
  readonly hook_event_name: string
  readonly tool_name?: string
  readonly tool_input?: unknown
  readonly tool_use_id?: string
  readonly tool_response?: unknown
  /** Of the query. */
  readonly session_id?: string
  readonly prompt_id?: string
  /** Of the sub-agent, where one made the call. */
  readonly agent_id?: string
  /** All calls of an answer, when they are over. */
  readonly tool_calls?: readonly { readonly tool_use_id: string }[]
}

type Hook = (
  input: object,
  toolUseId: string | undefined,
  /** Aborted when the runtime waits no more. */
  options?: { readonly signal?: AbortSignal },
) => Promise<object>

/** As the runtime takes it. Without `onFailure` a hook that fails lets the call through. */
interface Matcher {
  readonly hooks: Hook[]
  readonly onFailure: 'block'
}

/** A call as a hook shows it. */
interface HookedCall extends ShownCall {
  readonly query: string
  /** Empty where the agent of the query made it. */
  readonly subAgent: string
  /** The prompt of the query that led to it. */
  readonly prompt: string
}

/** Nothing may be heard any more of a call that a person refused. */
const WAITS = { gatherMs: 10, patienceMs: 30_000 }

/**
 * Governs an agent of the Claude Agent SDK: `query({ prompt, options: { hooks: claudeHooks(session) } })`. Each call is
 * judged before the runtime runs it; a blocked one is denied, and the model is told why. The runtime runs the tools
 * itself, so that receipts are its report, but for tools of a `claudeServer`.
 */
export function claudeHooks(session: GovernedSession, options: ClaudeOptions = {}) {
  const { model = 'claude', approver = 'user', toolName = canonicalName, waitSeconds = 30 } = options
  const batches = session.batches<HookedCall>({ provider: 'anthropic', model, runs: 'own', ...WAITS })
  const agents = new Set<string>()

  /**
   * A sub-agent that waited for the call which started it would wait for ever. The runtime says nothing of a call that
   * was interrupted: it is over when the agent makes one for a later prompt.
   */
  const passBy = ({ query, subAgent, agent, prompt }: HookedCall): void => {
    const isNewAgent = subAgent !== '' && !agents.has(agent)
    if (isNewAgent) agents.add(agent)
    batches.passBy((one) => one.query === query && (isNewAgent || (subAgent === '' && one.prompt !== prompt)))
  }

  const before: Hook = async (input, toolUseId, options) => {
    const { tool_name = '', tool_input, tool_use_id, session_id, agent_id, prompt_id } = input as HookInput
    const call: HookedCall = {
      id: tool_use_id ?? toolUseId ?? '',
      name: toolName(tool_name),
      arguments: tool_input ?? {},
      agent: JSON.stringify([session_id, agent_id]),
      query: session_id ?? '',
      subAgent: agent_id ?? '',
      prompt: prompt_id ?? '',
      signal: options?.signal,
    }
    passBy(call)
    return decisionOn(session, waitingFor(session, batches.judge, waitSeconds), call)
  }

  const after: Hook = async (input, toolUseId) => {
    const { hook_event_name, tool_input, tool_use_id, tool_response } = input as HookInput
    const callId = tool_use_id ?? toolUseId ?? ''
    const isToldHere = !wasHandled(session, callId) && batches.isOpen(callId)
    const verdict = isToldHere ? session.verdictOf(callId) : null
    // The runtime has asked a person: it runs no call that was not approved.
    if (verdict?.verdict === 'ask') await session.answer(verdict.id, { decision: 'approve', decided_by: approver })
    const allowed = isToldHere ? session.verdictOf(callId) : null
    if (allowed?.verdict === 'allow') {
      // Another hook, or the person who was asked, may have changed what runs: then the judged call did not.
      const isOther = tool_input !== undefined && !equalValues(allowed.arguments, jsonOf(tool_input) ?? null)
      const outcome = isOther ? 'unknown' : hook_event_name === 'PostToolUse' ? 'succeeded' : 'failed'
      await session.settle(callId, { outcome, ...(tool_response !== undefined && { result: textOf(tool_response) }) })
    }
    batches.ended(callId)
    return {}
  }

  /** All calls of an answer are over; those of which nothing was heard did not run. */
  const afterBatch: Hook = async (input) => {
    for (const { tool_use_id: callId } of (input as HookInput).tool_calls ?? []) {
      if (!batches.isOpen(callId)) continue
      const verdict = wasHandled(session, callId) ? null : session.verdictOf(callId)
      // One that waits for a person may have been refused by a rule: the next turn settles it as not run.
      if (verdict?.verdict === 'allow') await session.settle(callId, { outcome: 'not_executed' })
      batches.ended(callId)
    }
    return {}
  }

  const matcher = (hook: Hook): Matcher[] => [{ hooks: [hook], onFailure: 'block' }]
  return {
    PreToolUse: matcher(before),
    PostToolUse: matcher(after),
    PostToolUseFailure: matcher(after),
    PostToolBatch: matcher(afterBatch),
  }
}

const AGAIN = 'Once a person has answered, make the same call again.'

type Judge = CallBatches<HookedCall>['judge']

/** Judges a call once more where people have decided about it in time. */
function waitingFor(session: GovernedSession, judge: Judge, seconds: number): Judge {
  return async (call) => {
    const verdict = await judge(call)
    if (seconds <= 0 || verdict.verdict !== 'ask' || verdict.asks !== 'people') return verdict
    const age = startAge()
    for (let leftS = seconds; leftS > 0 && call.signal?.aborted !== true; leftS = seconds - age() / 1_000) {
      const all = await session.questions({ wait: leftS })
      if (all.every(({ questionId, state }) => questionId !== verdict.id || state !== 'waiting')) return judge(call)
    }
    return verdict
  }
}

type Decision = 'deny' | 'ask'

async function decisionOn(session: GovernedSession, judge: Judge, call: HookedCall): Promise<object> {
  try {
    const verdict = await judge(call)
    if (verdict.verdict === 'block') return output('deny', verdict.result)
    // The runtime's own prompt would ask its local user: people answer elsewhere, and the model tries again.
    if (verdict.verdict === 'ask' && verdict.asks === 'people') return output('deny', `${verdict.result} ${AGAIN}`)
    if (verdict.verdict === 'ask') {
      noteAsked(session, call.id)
      return output('ask', verdict.questions.map(({ reason }) => reason).join('; '))
    }
    // Whatever else the runtime asks about a call still holds.
    return {}
  } catch (error) {
    const why = error instanceof ReplayUnavailableError ? error.remedy : messageOf(error)
    return output('deny', `${call.name} did not run: ${why}`)
  }
}

const output = (permissionDecision: Decision, permissionDecisionReason: string) => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason },
})
