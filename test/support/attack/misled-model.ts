import { readResponse } from '@countersign/engine'
import type { Decision, JsonObject, JsonValue } from '@countersign/protocol'
import { createLocalSession, type LocalSession } from '../../../packages/sdk/src/authority/local/local-session.js'
import { executedReceipt, notExecuted, reportedReceipt } from '../../../packages/sdk/src/authority/receipts.js'
import type { PreparedContracts } from '../../../packages/sdk/src/contracts/contracts.js'

/** A call as a model writes it: the arguments are text, and may be no JSON at all. */
export interface WrittenCall {
  readonly name: string
  readonly text: string
  /** What becomes of it if it is allowed. `reported`: nobody ran it, and the conversation claims a result. */
  readonly fate?: 'run' | 'skipped' | 'failed' | 'reported'
  /** The provider runs it, before anybody is asked. */
  readonly byProvider?: boolean
}

/** A tool that ran, with its arguments as a careless tool reads them. */
export interface Ran {
  readonly name: string
  readonly args: Record<string, unknown>
  /** A person was asked and agreed. */
  readonly approved: boolean
}

export interface World {
  /** What each tool returns. */
  readonly tools: Readonly<Record<string, (args: Record<string, unknown>) => unknown>>
  /** What a person says who is asked. */
  readonly agrees?: (args: JsonObject) => boolean
}

/** A conversation with a model that has every tool at hand; what it proposes is judged, and what is allowed runs. */
export interface Conversation {
  /** One response with all of these calls in it. */
  turn(...calls: readonly WrittenCall[]): readonly Decision[]
  readonly ran: readonly Ran[]
}

export function converse({ plan }: PreparedContracts, world: World): Conversation {
  const session: LocalSession = createLocalSession({
    plan,
    nowMs: () => Date.parse('2026-01-01T00:00:00.000Z'),
    commitOnReport: () => false,
    watches: false,
    keepsHashes: true,
    identity: {
      sessionId: 'ses-misled',
      holderId: 'holder',
      agent: null,
      environment: null,
      unmatchedPolicy: 'block',
      captureLevel: 'redacted',
      principal: undefined,
      labels: [],
      asks: null,
      salt: 'salt',
    },
  })
  const ran: Ran[] = []
  const tools = Object.keys(world.tools).map((name) => ({ name, kind: 'function' as const }))
  let made = 0

  function turn(...calls: readonly WrittenCall[]): readonly Decision[] {
    made++
    const prepared = session.preflight({ tools, provider: 'openai', model: 'm', inputs: {} }, `prq_${made}`)
    if (prepared.outcome === 'blocked') return []
    const response = {
      tool_calls: calls.flatMap(({ name, text, byProvider }, at) =>
        byProvider ? [] : [{ id: `c${made}-${at}`, name, arguments: text }],
      ),
      provider_run: calls
        .filter(({ byProvider }) => byProvider)
        .map(({ name, text }) => ({ type: name, name, arguments: text })),
    }
    for (const { name, text, byProvider } of calls)
      if (byProvider) ran.push({ name, args: careless(text), approved: false })
    const read = readResponse(response)
    const ids = { proposalId: `prp_${made}`, pendingCallId: (index: number) => `pnd_${made}_${index}` }
    const { decisions } = session.propose({ prepared, response, read, gate: 'strip_blocked', flows: undefined }, ids)
    const asked = calls.filter(({ byProvider }) => !byProvider)
    session.receive(
      decisions.flatMap((decision) => {
        const args = read.calls.find(({ index }) => index === decision.index)?.arguments
        const written = asked[decision.index]
        if (decision.pending_call_id === null || args == null || written === undefined) return []
        return [outcome(decision, args, written)]
      }),
    )
    return decisions
  }

  function outcome(decision: Decision, args: JsonObject, { name, fate = 'run' }: WrittenCall) {
    const isAsked = decision.checkpoint_required
    const agrees = isAsked && (world.agrees?.(args) ?? false)
    const call = {
      callId: decision.call_id,
      toolName: name,
      takesText: false,
      arguments: args,
      decision,
      pendingCallId: decision.pending_call_id ?? '',
      argumentHash: decision.argument_hash ?? '',
      by: 'local' as const,
      ageMs: () => 0,
      approvals: decision.checkpoints.map(({ checkpoint_id }) => ({
        checkpoint_id,
        decision: agrees ? ('approve' as const) : ('deny' as const),
        decided_by: 'ann',
        argument_hash: decision.argument_hash ?? '',
      })),
      answeredBefore: 0,
      state: 'running' as const,
      refused: false,
    }
    if (isAsked && !agrees) return notExecuted(call, 'checkpoint_denied')
    if (fate === 'skipped') return reportedReceipt(call, 'not_executed')
    // As the SDK reports a call whose wrapper never ran it, although a result stands in the conversation.
    if (fate === 'reported') return reportedReceipt(call, 'unknown')
    ran.push({ name, args: args as Record<string, unknown>, approved: agrees })
    const result = world.tools[name]?.(args as Record<string, unknown>) as JsonValue
    const at = new Date(0)
    const evidence = {
      outcome: fate === 'failed' ? ('failed' as const) : ('succeeded' as const),
      startedAt: at,
      finishedAt: at,
    }
    return executedReceipt(call, { ...evidence, result }, { salt: session.salt, captureLevel: 'redacted' })
  }

  return { turn, ran }
}

/** As a tool reads arguments that nobody checked. */
function careless(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
